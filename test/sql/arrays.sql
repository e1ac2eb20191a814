CREATE TABLE ar (id int PRIMARY KEY, x int[], t text[], n numeric[], UNIQUE (x))
--
INSERT INTO ar VALUES (1, '{1,2,3}', '{a,"b c",NULL,"nu\"ll",""}', '{1.0,2.50}'), (2, '{}', '{}', NULL), (3, ARRAY[3, NULL, 1], ARRAY['x', 'null', 'y,z'], ARRAY[1, 2.0]), (4, NULL, NULL, '{}'), (5, ' { 7 , 8 } ', '{ a b , "c" }', '{1e2}')
--
SELECT * FROM ar ORDER BY id
--
SELECT id FROM ar ORDER BY x, id
--
INSERT INTO ar VALUES (6, '{1,2,3}', NULL, NULL)
--
SELECT id, x[1], x[2], x[0], x[99], t[3], x[2:3], x[1:1], n[1] FROM ar ORDER BY id
--
SELECT id, array_length(x, 1), array_upper(x, 1), cardinality(t), array_length(x, 2), array_lower(x, 1) FROM ar ORDER BY id
--
SELECT id, 2 = ANY(x), 2 <> ALL(x), 'a' = ANY(t), 3 > ANY(x), NULL = ANY(x), 1.00 = ANY(n) FROM ar ORDER BY id
--
SELECT id, x @> ARRAY[1], x <@ ARRAY[1,2,3,4], x && ARRAY[8,9], t @> ARRAY['a'], x @> '{}', '{3}' <@ x FROM ar ORDER BY id
--
SELECT id, x || 4, 0 || x, x || ARRAY[5,6], t || 'c'::text, x || NULL::int, x || NULL::int[], array_append(x, 4), array_prepend(0, x), array_cat(x, x) FROM ar ORDER BY id
--
SELECT id, array_position(x, 3), array_remove(x, 3), array_replace(x, 3, 30), array_to_string(x, ','), array_to_string(t, '-', '*'), array_remove(t, NULL) FROM ar ORDER BY id
--
SELECT array_agg(id ORDER BY id), array_agg(id ORDER BY id DESC), array_agg(x[1] ORDER BY id), array_agg(t[1] ORDER BY id) FROM ar
--
SELECT x, count(*) FROM ar GROUP BY x ORDER BY x
--
SELECT DISTINCT x = '{1,2,3}', x < '{1,3}', x > ARRAY[1] FROM ar
--
SELECT ARRAY[1,2] = '{1,2}', ARRAY[1,2] < ARRAY[1,2,0], ARRAY[1,NULL] = ARRAY[1,NULL], ARRAY['b'] > ARRAY['a','z'], '{1.0}'::numeric[] = '{1.00}', ARRAY[1, 2.5], ARRAY[]::int[], ARRAY[1,2]::text[], '{1,2}'::int[]::bigint[], ARRAY['1','2']::int[], ARRAY[true,false,NULL], ARRAY[date '2024-01-02'], '{2024-01-02}'::date[]
--
SELECT ARRAY[1,2]::text, '{1,2}'::text::int[], ARRAY['a b','c"d','e\f','NULL',''], ARRAY[interval '1 day 02:00'], ARRAY[timestamp '2024-01-02 03:04:05']
--
SELECT '{1,2'::int[]
--
SELECT '{1,x}'::int[]
--
SELECT '1,2'::int[]
--
SELECT '{1,}'::int[]
--
-- refused
SELECT '{{1},{2}}'::int[]
--
-- refused
SELECT '[2:3]={1,2}'::int[]
--
SELECT ARRAY[]
--
UPDATE ar SET x = array_append(x, 9), t = t || 'q'::text WHERE id IN (1, 2) RETURNING x, t
--
SELECT id FROM ar WHERE 9 = ANY(x) AND t @> '{q}' ORDER BY id
--
SELECT coalesce(x, '{}') FROM ar ORDER BY id
--
SELECT id FROM ar WHERE id = ANY(ARRAY[1,3]) AND x IS NOT NULL ORDER BY id
--
SELECT v FROM unnest('{3,1,NULL,2}'::int[]) v ORDER BY v
--
SELECT id, u FROM ar, unnest(ar.x) u ORDER BY id, u
--
SELECT count(*), max(u) FROM unnest(ARRAY['a', 'b']) AS q(u)
--
SELECT * FROM generate_series(timestamp '2024-01-31', timestamp '2024-06-01', interval '1 month') g
--
SELECT g::date FROM generate_series(timestamp '2024-01-03', timestamp '2024-01-01', interval '-12 hours') g
--
SELECT * FROM generate_series(timestamp '2024-01-03', timestamp '2024-01-05', interval '0') g
--
SELECT value FROM jsonb_array_elements('[1, "a", null, {"b": 2}]')
--
SELECT e.id, v FROM (VALUES (1, '["x", 2, null]'::jsonb), (2, '[]')) e(id, j), jsonb_array_elements_text(e.j) v
--
SELECT * FROM jsonb_array_elements('{}')
--
SELECT id FROM ar WHERE id = ANY(ARRAY['1', '3']::int[]) AND 3::bigint = ANY(x) ORDER BY id
--
SELECT 'a' = ANY(ARRAY[1, 2]::text[]), '2' = ANY(ARRAY[1, 2]::text[])
--
SELECT id, x[(1.0::float8 / id * 1e10)::int] FROM ar WHERE x IS NULL ORDER BY id
--
SELECT (NULL::int[])[(id * 1e12)::float8::int], (NULL::int[])[1:(id * 1e12)::float8::int] FROM ar ORDER BY id
--
SELECT id, x[(id * 1e12)::float8::int] FROM ar ORDER BY id
