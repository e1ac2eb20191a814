CREATE TABLE fn (id int PRIMARY KEY, t text, j jsonb, tags text[], b bytea)
--
INSERT INTO fn VALUES (1, 'abcdef', '{"b": 1, "a": [1, 2.50, "z"]}', '{x,y}', '\x00ff5c41'), (2, 'äöü', '[]', '{}', ''), (3, '', '[1]', NULL, '\x'), (4, NULL, 'null', '{a,NULL,c}', NULL), (5, 'x', '"a"', '{q}', 'abc'), (6, 'yy', '10', '{r,s,t}', '\x616263646566'), (7, 'z', '9.5', NULL, NULL), (8, 'z', 'true', NULL, NULL), (9, 'z', 'false', NULL, NULL), (10, 'z', '{}', NULL, NULL), (11, 'z', '[null]', NULL, NULL), (12, 'z', '{"a": 1}', NULL, NULL), (13, 'z', '{"b": 0}', NULL, NULL), (14, 'z', '{"aa": 0, "b": 3}', NULL, NULL), (15, 'z', '[[1], 2]', NULL, NULL), (16, 'z', '[{"a": 1}, 2]', NULL, NULL), (17, 'z', '["a\tb", "\u0001"]', NULL, NULL), (18, 'z', '-10', NULL, NULL), (19, 'z', '-9.75', NULL, NULL), (20, 'z', '"a\"b"', NULL, NULL), (21, 'z', '0.001', NULL, NULL), (22, 'z', '"ab"', NULL, NULL), (23, 'z', '[1, 2, 3]', NULL, NULL), (24, 'z', NULL, NULL, NULL), (25, 'z', '9.500', NULL, NULL), (26, 'z', '{"a": {"b": 1}, "c": 2}', NULL, NULL), (27, 'z', '{"a": {"b": 2}, "c": 1}', NULL, NULL), (28, 'z', '["a", 2]', NULL, NULL)
--
SELECT id FROM fn ORDER BY j, id
--
SELECT id FROM fn ORDER BY j DESC NULLS LAST, id DESC
--
SELECT j, count(*) FROM fn WHERE id <> 25 GROUP BY j ORDER BY 2 DESC, 1
--
-- refused
SELECT j, count(*) FROM fn GROUP BY j ORDER BY 2 DESC, 1
--
-- refused
SELECT power(2, 2.0)
--
-- refused
SELECT 2.5 ^ 2
--
-- refused
SELECT sqrt(0.25)
--
SELECT DISTINCT j -> 'a' FROM fn ORDER BY 1
--
SELECT array_agg(id ORDER BY j, id) FROM fn
--
SELECT id, row_number() OVER (ORDER BY j, id) FROM fn ORDER BY id
--
SELECT overlay('abcdef' PLACING 'xx' FROM 2 FOR 3), overlay('abcdef' PLACING 'xx' FROM 2), overlay('äöü' PLACING '-' FROM 3), overlay('abc' PLACING 'Z' FROM 9), overlay('abcdef' PLACING 'q' FROM 3 FOR 0), overlay('abcdef' PLACING 'q' FROM 4 FOR -2), overlay('abcdef' PLACING '' FROM 1 FOR 2)
--
SELECT overlay('abc' PLACING 'x' FROM 0)
--
SELECT id, overlay(t PLACING 'ß' FROM 2 FOR 1) FROM fn ORDER BY id
--
SELECT id, encode(b, 'base64'), encode(b, 'hex'), encode(b, 'escape'), encode(b, 'BASE64') FROM fn ORDER BY id
--
SELECT encode(repeat('a', 57)::bytea, 'base64'), encode(repeat('a', 58)::bytea, 'base64'), encode(repeat('ab', 80)::bytea, 'base64')
--
SELECT decode('616263', 'hex'), decode('61 62', 'hex'), decode('YWJj', 'base64'), decode('YWI=', 'base64'), decode('YQ==', 'base64'), decode('', 'base64')
--
SELECT decode('6', 'hex')
--
SELECT decode('6x', 'hex')
--
SELECT encode(sha256('abc'), 'hex'), sha256(''), sha256(repeat('a', 55)::bytea), sha256(repeat('a', 56)::bytea), sha256(repeat('a', 64)::bytea), sha256(repeat('xyz', 100)::bytea)
--
SELECT make_time(8, 15, 23.5), make_timestamp(2024, 2, 29, 23, 59, 59.999999), make_timestamp(2024, 1, 2, 24, 0, 0), make_time(0, 0, 60)
--
SELECT make_timestamp(2023, 2, 29, 0, 0, 0)
--
SELECT make_time(24, 0, 1)
--
SELECT make_time(1, 60, 1)
--
SELECT date_bin('15 minutes', TIMESTAMP '2024-01-01 10:37', TIMESTAMP '2000-01-01'), date_bin('1 day 2 hours', TIMESTAMP '2024-01-01 10:37:11.5', TIMESTAMP '2023-12-30 05:00'), date_bin('7 days', TIMESTAMP '2024-01-01 10:37', TIMESTAMP '2024-02-01')
--
SELECT date_bin('1 month', TIMESTAMP '2024-01-01', TIMESTAMP '2000-01-01')
--
SELECT date_bin('0 days', TIMESTAMP '2024-01-01', TIMESTAMP '2000-01-01')
--
SELECT justify_interval(INTERVAL '35 days 25 hours'), justify_interval(INTERVAL '1 mon -1 hour'), justify_interval(INTERVAL '-1 mon 1 day'), justify_interval(INTERVAL '-35 days 100 hours'), justify_interval(INTERVAL '2 days -50 hours'), justify_interval(INTERVAL '1 mon -40 days 3 hours')
--
SELECT sqrt(16.0), sqrt(2.0), sqrt(0.0), sqrt(12345.678), sqrt(99999999.9), sqrt(1.000000000000000000001), sqrt(10000::numeric), sqrt(123456789012345678.5), sqrt(3::numeric), sqrt(4), sqrt(2)
--
SELECT sqrt(-1.0)
--
SELECT power(2, 10), 2 ^ 3, 2::bigint ^ 5, power(3::smallint, 2), (-2) ^ 3, power(2.0::float8, 3)
--
SELECT jsonb_insert('{"a": [1]}', '{a,0}', '9'), jsonb_insert('{"a": [1]}', '{a,0}', '9', true), jsonb_insert('[1,2,3]', '{-1}', '9'), jsonb_insert('[1,2,3]', '{-1}', '9', true), jsonb_insert('[1,2,3]', '{7}', '9'), jsonb_insert('[1,2,3]', '{-7}', '9'), jsonb_insert('[]', '{0}', '9'), jsonb_insert('{}', '{k}', '{"x": 1}'), jsonb_insert('{"a": 1}', '{b,c}', '1'), jsonb_insert('{"a": {"b": 1}}', '{a,c}', 'null'), jsonb_insert('[[1], 2]', '{0,1}', '5'), jsonb_insert('[1]', '{}', '5')
--
SELECT jsonb_insert('{"a": 1}', '{a}', '2')
--
SELECT jsonb_insert('1', '{a}', '2')
--
SELECT jsonb_insert('[1]', '{a}', '2')
--
SELECT jsonb_pretty('{"a": 1, "b": [1, {"c": []}, "x"], "d": {}}'), jsonb_pretty('[]'), jsonb_pretty('3')
--
SELECT id, jsonb_pretty(j), j['a'], j[0], j['a'][1], j[-1] FROM fn ORDER BY id
--
SELECT j['a']['x'], j[NULL] FROM fn WHERE id = 1
--
SELECT d::date FROM generate_series(TIMESTAMP '2024-01-01', '2024-01-03', '1 day') d ORDER BY 1
--
SELECT id, t, n FROM (SELECT id, tags FROM fn) f, unnest(tags) WITH ORDINALITY AS u(t, n) ORDER BY 1, 3
--
SELECT * FROM unnest(ARRAY[1, 2], ARRAY['a', 'b', 'c'], '{}'::int[]) AS u(n, s, z) ORDER BY s
--
SELECT * FROM unnest(ARRAY[1, 2], NULL::text[]) WITH ORDINALITY ORDER BY 3
--
SELECT u.ordinality, u.u FROM unnest('{b,a}'::text[]) WITH ORDINALITY u ORDER BY 1
--
SELECT * FROM generate_series(5, 7) WITH ORDINALITY AS g(v, k) ORDER BY k DESC
--
SELECT * FROM jsonb_each('{"x": 1, "y": null}') WITH ORDINALITY ORDER BY ordinality
--
SELECT * FROM jsonb_array_elements_text('["a", null, 3]') WITH ORDINALITY AS e(v, n) ORDER BY n
--
SELECT * FROM jsonb_to_record('{"a": 1, "b": "x", "c": null}') AS r(a int, b text, c date, d numeric(5, 2))
--
SELECT * FROM jsonb_to_recordset('[{"a": 1, "b": "2024-01-02", "c": 1.239, "e": [1, 2]}, {"a": "7", "d": true, "e": "t"}, {}]') AS r(a int, b date, c numeric(5, 2), d boolean, e text) ORDER BY a NULLS LAST
--
SELECT * FROM jsonb_to_recordset('{"a": 1}') AS r(a int)
--
SELECT * FROM jsonb_to_recordset('[1]') AS r(a int)
--
SELECT * FROM jsonb_to_record('[1]') AS r(a int)
--
SELECT * FROM jsonb_to_recordset('[{"a": "x"}]') AS r(a int)
--
SELECT count(*) FROM jsonb_to_recordset(NULL) AS r(a int)
--
SELECT f.id, r.a FROM fn f, LATERAL jsonb_to_recordset(CASE WHEN jsonb_typeof(f.j) = 'array' AND f.id = 16 THEN f.j - 1 ELSE '[]' END) AS r(a int) ORDER BY 1
--
CREATE TABLE bulk (n int, s text)
--
INSERT INTO bulk SELECT * FROM unnest('{1,2}'::int[], '{a,b}'::text[])
--
SELECT * FROM bulk ORDER BY n
--
UPDATE bulk SET s = u.s FROM unnest(ARRAY[1, 2], ARRAY['p', 'q']) AS u(n, s) WHERE u.n = bulk.n
--
SELECT * FROM bulk ORDER BY n
--
CREATE TABLE ident (id int GENERATED ALWAYS AS IDENTITY, n int)
--
INSERT INTO ident (id, n) OVERRIDING SYSTEM VALUE VALUES (7, 5) RETURNING *
--
SELECT id FROM ident
--
CREATE VIEW vr AS SELECT id, t FROM fn
--
CREATE OR REPLACE VIEW vr AS SELECT id, t, id + 1 AS more FROM fn WHERE id < 3
--
SELECT * FROM vr ORDER BY id
--
CREATE OR REPLACE VIEW vr AS SELECT id FROM fn
--
CREATE OR REPLACE VIEW vr AS SELECT id, t AS u, id + 1 AS more FROM fn
--
CREATE OR REPLACE VIEW vr AS SELECT t AS id, t, id + 1 AS more FROM fn
--
SELECT count(*) FROM vr
--
SELECT id, percent_rank() OVER (ORDER BY t), cume_dist() OVER (ORDER BY t), percent_rank() OVER (PARTITION BY t ORDER BY id DESC), cume_dist() OVER (PARTITION BY t ORDER BY id), percent_rank() OVER (), cume_dist() OVER () FROM fn ORDER BY id
--
SELECT t, count(*), cume_dist() OVER (ORDER BY count(*)), percent_rank() OVER (ORDER BY count(*)) FROM fn GROUP BY t ORDER BY t
