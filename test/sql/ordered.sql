CREATE TABLE od (id int PRIMARY KEY, g int, v text)
--
INSERT INTO od VALUES (3, 1, 'c'), (1, 2, 'a'), (2, 1, 'b'), (5, 2, 'a'), (4, NULL, 'd')
--
SELECT json_agg(v) FROM (SELECT v FROM od ORDER BY id DESC) s
--
SELECT json_agg(s) FROM (SELECT * FROM od ORDER BY id) s
--
SELECT string_agg(v, ',') FROM (SELECT v, id FROM od ORDER BY id DESC) s WHERE id > 1
--
SELECT array_agg(id), array_agg(v), count(*), min(v) FROM (SELECT id, v FROM od ORDER BY v DESC, id) s
--
SELECT json_object_agg(id, v) FROM (SELECT id, v FROM od ORDER BY id) s
--
SELECT jsonb_object_agg(g, v) FROM (SELECT g, v FROM od WHERE g = 1 ORDER BY id) s
--
SELECT array_agg(v) FROM (SELECT v FROM od ORDER BY v) s
--
-- refused
SELECT array_agg(id) FROM (SELECT id FROM od ORDER BY g) s
--
-- refused
SELECT g, array_agg(id) FROM (SELECT id, g FROM od ORDER BY id) s GROUP BY g
--
-- refused
SELECT array_agg(s.id) FROM (SELECT id, g FROM od ORDER BY id) s JOIN od o ON o.id = s.g
--
-- refused
SELECT array_agg(id), string_agg(v, ',' ORDER BY v) FROM (SELECT id, v FROM od ORDER BY id) s
--
SELECT array_agg(id) FROM (SELECT id FROM od ORDER BY id LIMIT 3) s
--
SELECT array_agg(id) FROM (SELECT id FROM od ORDER BY id OFFSET 2) s
--
SELECT json_agg(x.j) FROM (SELECT json_build_object('id', t.id) AS j FROM (SELECT id FROM od ORDER BY v, id DESC) t) x
--
WITH s AS (SELECT id FROM od ORDER BY id DESC) SELECT array_agg(id) FROM s
--
WITH s AS MATERIALIZED (SELECT id FROM od ORDER BY id DESC) SELECT (SELECT array_agg(id) FROM s), (SELECT string_agg(id::text, '') FROM s)
--
SELECT array_agg(id) FROM (SELECT id FROM od UNION ALL SELECT 9 ORDER BY id DESC) s
--
SELECT ARRAY(SELECT id FROM (SELECT id FROM od ORDER BY v, id) s)
--
SELECT id FROM (SELECT id FROM od ORDER BY v, id) s LIMIT 2
--
SELECT id FROM (SELECT id FROM od ORDER BY v DESC, id) s OFFSET 1 LIMIT 3
--
-- refused
SELECT sum(id) FROM (SELECT id FROM (SELECT id FROM od ORDER BY v) s LIMIT 1) t
--
SELECT sum(id) FROM (SELECT id FROM (SELECT id FROM od ORDER BY v) s LIMIT 2) t
--
SELECT o.g, c.list FROM (SELECT DISTINCT g FROM od WHERE g IS NOT NULL) o LEFT JOIN LATERAL (SELECT coalesce(jsonb_agg(x.j), '[]') AS list FROM (SELECT jsonb_build_object('i', t.id) AS j FROM (SELECT id FROM od WHERE od.g = o.g ORDER BY id DESC) t) x) c ON true ORDER BY 1
--
SELECT a.id, b.v FROM od a LEFT JOIN od b ON b.id = a.g ORDER BY a.id FOR UPDATE OF a
--
SELECT a.id, b.v FROM od a LEFT JOIN od b ON b.id = a.g ORDER BY a.id FOR UPDATE
--
SELECT a.id, b.v FROM od b RIGHT JOIN od a ON b.id = a.g ORDER BY a.id FOR NO KEY UPDATE OF a
--
SELECT a.id FROM od a LEFT JOIN od b ON b.id = a.g JOIN od c ON c.id = a.id ORDER BY a.id FOR SHARE OF a, c
--
SELECT a.id FROM od a LEFT JOIN od b ON b.id = a.g FOR UPDATE OF b
--
SELECT a.id FROM od a FULL JOIN od b ON b.id = a.id FOR UPDATE OF b
