CREATE TABLE r (id int PRIMARY KEY, g text, n int, d numeric(8,3), tags text[], j jsonb)
--
INSERT INTO r VALUES (1, 'a', 5, 1.5, '{x,y}', '{"k": [1, "two", null], "o": {"p": 1, "q": null}}'), (2, 'b', 7, 2.25, '{}', '{"k": []}'), (3, 'a', NULL, 0.125, NULL, NULL), (4, 'c', 7, -3, '{y,NULL,z}', '{"k": [true]}'), (5, NULL, 2, 1.5, '{x}', '{}')
--
SELECT array_agg(DISTINCT g) FROM r
--
SELECT array_agg(DISTINCT n ORDER BY n DESC) FROM r
--
SELECT string_agg(DISTINCT g, '+') FROM r
--
SELECT string_agg(DISTINCT g, '+' ORDER BY g DESC) FROM r
--
SELECT jsonb_agg(DISTINCT n), json_agg(DISTINCT g) FROM r
--
SELECT g, array_agg(DISTINCT n ORDER BY n NULLS FIRST) FROM r GROUP BY g ORDER BY g
--
-- refused
SELECT string_agg(DISTINCT g, g) FROM r
--
SELECT json_object_agg(id, n ORDER BY id) FROM r
--
SELECT jsonb_object_agg(id, g) FROM r
--
SELECT jsonb_object_agg(g, n) FROM r
--
SELECT jsonb_object_agg(n, g ORDER BY id) FROM r WHERE n IS NOT NULL
--
-- refused
SELECT jsonb_object_agg(n, g) FROM r WHERE n IS NOT NULL
--
SELECT json_object_agg(g, j) FROM r WHERE id = 1
--
SELECT json_object_agg(g, r) FROM r WHERE id = 99
--
SELECT stddev(n), stddev_samp(n), stddev_pop(n), variance(n), var_samp(n), var_pop(n) FROM r
--
SELECT stddev(d), stddev_samp(d), stddev_pop(d), variance(d), var_samp(d), var_pop(d) FROM r
--
SELECT g, stddev(d), variance(n), stddev_pop(n) FROM r GROUP BY g ORDER BY g
--
SELECT stddev(v), variance(v), stddev_pop(v) FROM (VALUES (1000000007), (1000000009), (1000000021)) AS x(v)
--
SELECT stddev(v), variance(v) FROM (VALUES (0.00001), (0.00002), (0.000025)) AS x(v)
--
SELECT stddev(v), variance(v) FROM (VALUES (12345678901234567890.5), (2), (3.25)) AS x(v)
--
SELECT stddev(DISTINCT n), stddev(v) FILTER (WHERE v > 1) FROM r, (VALUES (1), (2), (4)) AS x(v)
--
SELECT stddev(3::smallint), variance(7::bigint), var_pop(7::bigint)
--
-- refused
SELECT stddev(1.5::float8)
--
SELECT bit_and(id), bit_or(id), bit_and(n), bit_or(n) FROM r
--
SELECT g, count(*), rank() OVER (ORDER BY count(*) DESC), sum(count(*)) OVER () FROM r GROUP BY g ORDER BY g
--
SELECT g, sum(n), sum(sum(n)) OVER (ORDER BY g), row_number() OVER (ORDER BY g DESC) FROM r GROUP BY g HAVING count(*) > 0 ORDER BY g
--
SELECT g, n, count(*), first_value(count(*)) OVER (PARTITION BY g ORDER BY n) FROM r GROUP BY g, n ORDER BY g, n
--
SELECT count(*), count(*) OVER (), sum(count(*)) OVER () FROM r
--
SELECT g || '!', lag(max(n), 1, 0) OVER (ORDER BY g) FROM r GROUP BY g || '!', g ORDER BY 1
--
SELECT count(*) OVER (), sum(n) FROM r WHERE false
--
SELECT g, sum(n) OVER (ORDER BY g) FROM r GROUP BY g
--
SELECT g FROM r GROUP BY g HAVING rank() OVER (ORDER BY g) = 1
--
SELECT DISTINCT rank() OVER (ORDER BY count(*)) FROM r GROUP BY g ORDER BY 1
--
SELECT g FROM r GROUP BY g ORDER BY rank() OVER (ORDER BY count(*) DESC, g) LIMIT 2
--
SELECT generate_series(1, 3)
--
SELECT id, generate_series(1, n) FROM r ORDER BY 1, 2
--
SELECT generate_series(1, 3) * 2 AS k ORDER BY k DESC
--
SELECT DISTINCT generate_series(1, n) FROM r ORDER BY 1
--
SELECT id, unnest(tags) FROM r ORDER BY 1, 2
--
-- refused
SELECT unnest(tags) AS t, count(*) FROM r GROUP BY 1
--
SELECT t, count(*) FROM (SELECT unnest(tags) AS t FROM r) x GROUP BY t ORDER BY t
--
SELECT id, unnest(tags) || '?' FROM r WHERE id < 3 ORDER BY 2
--
SELECT id, jsonb_array_elements(j -> 'k') FROM r WHERE id = 1
--
SELECT id, jsonb_array_elements(j -> 'k') ->> 0 FROM r WHERE id = 1
--
SELECT id, jsonb_array_elements_text(j -> 'k') FROM r WHERE j ? 'k' ORDER BY 1, 2
--
SELECT jsonb_array_elements(j) FROM r WHERE id = 1
--
SELECT jsonb_object_keys(j) FROM r WHERE id = 1 ORDER BY 1
--
SELECT r.id, k FROM r, jsonb_object_keys(j) k ORDER BY 1, 2
--
SELECT jsonb_object_keys('[1]')
--
SELECT r.id, e.key, e.value FROM r, jsonb_each(j) e ORDER BY 1, 2
--
SELECT * FROM jsonb_each_text('{"a": 1, "b": null, "c": "x", "d": [1]}') ORDER BY key
--
SELECT key FROM jsonb_each('3')
--
-- refused
SELECT jsonb_each(j) FROM r
--
-- refused
SELECT unnest(tags), generate_series(1, 2) FROM r
--
-- refused
SELECT CASE WHEN id > 1 THEN unnest(tags) END FROM r
--
-- refused
SELECT count(*), generate_series(1, 2) FROM r
--
SELECT unnest(ARRAY[1, 2]) UNION SELECT 7 ORDER BY 1
--
SELECT (SELECT max(v) FROM (SELECT unnest(tags) AS v) x) FROM r ORDER BY id
--
SELECT id FROM r WHERE 'x' IN (SELECT unnest(tags)) ORDER BY id
--
INSERT INTO r (id, n) SELECT g, 3 FROM (SELECT generate_series(10, 12) AS g) x RETURNING id
--
INSERT INTO r (id) SELECT generate_series(20, 21)
--
SELECT count(*) FROM r
--
SELECT regexp_split_to_table('a, b,c', ', *')
--
SELECT regexp_split_to_array('one  two three', ' +'), regexp_split_to_array('xAxbX', 'x', 'i'), regexp_split_to_array('', ',')
--
SELECT * FROM regexp_split_to_table('aXbxc', 'x', 'i') AS p ORDER BY p
--
-- refused
SELECT regexp_split_to_array('abc', '')
--
SELECT * FROM string_to_table('a,b,,c', ',') AS s ORDER BY s
--
SELECT md5(''), md5('a'), md5('The quick brown fox jumps over the lazy dog'), md5(repeat('x', 55)), md5(repeat('x', 56)), md5(repeat('äö', 100)), md5(NULL)
--
SELECT chr(65), chr(228), chr(8364), chr(128512), ascii('x'), ascii('ä'), chr(NULL)
--
SELECT chr(0)
--
SELECT chr(55296)
--
SELECT chr(-1)
--
SELECT to_hex(255), to_hex(-1), to_hex(-1::bigint), to_hex(0)
--
SELECT gcd(12, 18), gcd(0, 0), gcd(-4, 6), lcm(4, 6), lcm(0, 3), lcm(-4, 6), gcd(5000000000, 15::bigint)
--
SELECT gcd((-2147483648)::int, 0)
--
SELECT lcm(2147483647, 2147483646)
--
SELECT num_nulls(1, NULL, 'x'), num_nonnulls(1, NULL, 'x'), num_nulls(g, n) FROM r WHERE id = 5
--
SELECT 'a_b' LIKE 'a!_b' ESCAPE '!', 'axb' LIKE 'a!_b' ESCAPE '!', 'a%b' LIKE 'a#%%' ESCAPE '#', 'a\b' LIKE 'a\b' ESCAPE '', 'a!b' LIKE 'a!!b' ESCAPE '!', 'A_b' ILIKE 'a!_B' ESCAPE '!', 'ab' NOT LIKE 'a_' ESCAPE '\'
--
SELECT 'a\b' LIKE 'a!\b' ESCAPE '!'
--
SELECT 'a' LIKE 'a' ESCAPE 'xx'
--
SELECT 3 BETWEEN SYMMETRIC 5 AND 1, 7 BETWEEN SYMMETRIC 5 AND 1, NULL BETWEEN SYMMETRIC 1 AND 2, 3 NOT BETWEEN SYMMETRIC 4 AND 1, 1 BETWEEN SYMMETRIC NULL AND 0
--
SELECT '{"a": {"b": [1, 2]}, "c": 3}'::jsonb #- '{a,b,0}', '{"a": 1}'::jsonb #- '{x}', '[1, 2, 3]'::jsonb #- '{-1}', '{"a": 1}'::jsonb #- '{a,b}', '{"a": 1}'::jsonb #- '{}'
--
SELECT '[1]'::jsonb #- '{x}'
--
SELECT '1'::jsonb #- '{x}'
--
SELECT jsonb_strip_nulls('{"a": null, "b": [null, {"c": null, "d": 1}], "e": {"f": null}}')
--
SELECT 7 BETWEEN (n / 0) AND 3, 7 BETWEEN 9 AND (n / 0) FROM r WHERE id = 1
