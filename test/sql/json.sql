CREATE TABLE js (id int PRIMARY KEY, j jsonb, k json, UNIQUE (j))
--
INSERT INTO js VALUES (1, '{"b": 1, "a": {"x": [1, 2.50, "z"]}, "b": 2}', '{"b": 1, "a": {"x": [1, 2.50, "z"]}, "b": 2}'), (2, '[1, "two", null, true, {"k": []}]', ' [1, "two", null] '), (3, '"text \u00e4 \n \" \\ \u0001"', '"text \u00e4 \n \" "'), (4, '1e3', '1e3'), (5, 'null', 'null'), (6, NULL, NULL), (7, '{}', '{}'), (8, '-0.50', '-0.0')
--
SELECT * FROM js ORDER BY id
--
INSERT INTO js VALUES (9, '1000.00', NULL)
--
SELECT id, j->'a', j->>'a', j->'b', j->>'b', j->0, j->>1, j->-1, j->>2, k->'a', k->>'b', k->0, k->>1 FROM js ORDER BY id
--
SELECT id, j#>'{a,x,1}', j#>>'{a,x,2}', j#>'{4,k}', k#>>'{a,x,0}', j#>'{}' FROM js ORDER BY id
--
SELECT id, j @> '{"b": 2}', j <@ '[1, 2]', j ? 'b', j ? 'two', j @> '[1]', j @> '1', j ?| '{q,b}', j ?& '{a,b}' FROM js ORDER BY id
--
SELECT '{"a":{"b":[1,2,{"c":3}]}}'::jsonb @> '{"a":{"b":[{"c":3}]}}', '[1,[2]]'::jsonb @> '[2]', '[[1]]'::jsonb @> '1', '[1]'::jsonb @> '1', '1'::jsonb @> '[1]', '{"a":1}'::jsonb @> '{}', '1.0'::jsonb = '1.00'::jsonb, '{"a":1,"b":2}'::jsonb = '{"b":2.0,"a":1}'
--
SELECT id, j || '{"z": 1}', j || '[9]' FROM js WHERE id <> 6 ORDER BY id
--
SELECT '{"a":1,"b":2}'::jsonb - 'a', '["a","b","a"]'::jsonb - 'a', '[1,2,3]'::jsonb - 1, '[1,2,3]'::jsonb - -1, '{"a":1,"b":2,"c":3}'::jsonb - '{a,c}'::text[]
--
SELECT '1'::jsonb - 'a'
--
SELECT '{"a":1}'::jsonb - 1
--
SELECT jsonb_set('{"a": 1}', '{a}', '2'), jsonb_set('{"a": 1}', '{b}', '2'), jsonb_set('{"a": 1}', '{b}', '2', false), jsonb_set('{"a": [1,2]}', '{a,1}', '"x"'), jsonb_set('[1,2]', '{5}', '3'), jsonb_set('[1,2]', '{-5}', '3'), jsonb_set('{"a": {"b": 1}}', '{a,c}', 'null'), jsonb_set('{"a": 1}', '{x,y}', '1'), jsonb_set('{"a":1}', '{}', '2')
--
SELECT jsonb_set('1', '{a}', '2')
--
SELECT jsonb_set('[1]', '{a}', '2')
--
SELECT jsonb_build_object('a', 1, 'b', 'text'::text, 'c', true, 'd', NULL, 'e', 1.50, 'f', '{1,2}'::int[], 'g', timestamp '2024-01-02 03:04:05', 'h', '{"q": 1}'::jsonb), json_build_object('a', 1, 'b', '[1]'::json), jsonb_build_array(1, 'a'::text, NULL), json_build_array(1, 2.0)
--
SELECT jsonb_build_object('a')
--
SELECT to_jsonb('a"b'::text), to_json(1), to_jsonb(ARRAY['x', NULL]), to_jsonb(date '2024-01-02'), jsonb_typeof('[]'), jsonb_typeof('1'), jsonb_array_length('[1,2]')
--
SELECT jsonb_array_length('{}')
--
SELECT '{bad'::jsonb
--
SELECT '{"a":1,}'::json
--
SELECT '01'::jsonb
--
SELECT 'nul'::json
--
SELECT '"\ud83d\ude00"'::jsonb, '[1 , 2 ,{ "b":1,"aa":2 , "a":3}]'::jsonb, ' {"a" :1 } '::json, '1.10'::jsonb, '12345678901234567890.1234567890'::jsonb, '1E-7'::jsonb
--
SELECT ('{"a": "12"}'::jsonb->>'a')::int + 1, ('{"a": 12.7}'::jsonb->'a')::int, ('true'::jsonb)::boolean, ('5'::jsonb)::numeric
--
SELECT ('"x"'::jsonb)::int
--
SELECT json_agg(id ORDER BY id), jsonb_agg(id ORDER BY id DESC), json_agg(j->>'b' ORDER BY id) FROM js
--
SELECT j, count(*) FROM js WHERE id < 6 GROUP BY j
--
SELECT count(DISTINCT j), count(j) FROM js
--
SELECT id FROM js WHERE j->>'b' = '2' OR j->'a'->'x'->>0 = '7'
--
SELECT j = '{}' FROM js ORDER BY id
--
UPDATE js SET j = j || '{"n": 1}' WHERE id = 7 RETURNING j
--
UPDATE js SET j = jsonb_set(j, '{n}', to_jsonb((j->>'n')::int + 1)) WHERE id = 7 RETURNING j
--
SELECT j FROM js ORDER BY j
--
-- refused
SELECT DISTINCT k FROM js
--
SELECT '{"a": 1}'::json::jsonb, '{"b":1,"a":2}'::jsonb::json, '{"a":1}'::jsonb::text, '{"a": "x"}'::json->>'a', '"a"'::text::jsonb
