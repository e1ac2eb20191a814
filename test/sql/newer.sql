SET timezone TO 'UTC'
--
CREATE TABLE nw (id int PRIMARY KEY, at timestamptz, v varchar(5), tags text[], note jsonb, f float8[], n numeric)
--
INSERT INTO nw VALUES (1, '2024-03-31 02:30:00', 'a', '{x,y}', '{"k": 1}', '{0.1,1e300}', 1.50), (2, NULL, NULL, NULL, NULL, NULL, NULL), (3, '2024-04-01', '', '{}', '[1]', '{}', 3)
--
SELECT at, at::date, at::time, at::timestamp, at::text, extract(isodow FROM at), date_trunc('quarter', at) FROM nw ORDER BY id
--
SELECT id FROM nw WHERE at < '2024-04-01' OR at = date '2024-04-01'
-- refused
SELECT nw FROM nw ORDER BY id
--
SELECT q FROM (SELECT id, at, v, tags, note, n FROM nw) q ORDER BY id
-- refused
SELECT nw, id FROM nw GROUP BY nw, id
-- refused
SELECT * FROM (SELECT nw AS r FROM nw) s WHERE r IS NULL
--
SELECT s FROM (SELECT id, v, note FROM nw) s
--
SELECT ROW(1, 'a b', NULL, true, '', 'q"\\', date '2024-01-02', '{1,"x y"}'::text[])
--
SELECT (nw).tags, count((nw).v) FROM nw GROUP BY 1
--
SELECT count(nw), count(DISTINCT (nw).v) FROM nw
-- refused
SELECT count(b) FROM nw a LEFT JOIN nw b ON b.id = a.id + 1
--
UPDATE nw SET tags[2] = 'z', note['k'] = '[1, 2]' WHERE id = 1 RETURNING tags, note
--
UPDATE nw SET tags[4] = 'w' WHERE id = 1 RETURNING tags
--
UPDATE nw SET tags[1] = NULL, note['a'] = NULL WHERE id = 2 RETURNING tags, note
--
UPDATE nw SET tags[NULL] = 'z' WHERE id = 1
-- refused
UPDATE nw SET tags[0] = 'z' WHERE id = 1
-- refused
UPDATE nw SET tags[1] = 'z', tags[2] = 'y' WHERE id = 1
-- refused
UPDATE nw SET note['x'] = '1' WHERE id = 3
--
SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY n), percentile_disc(1) WITHIN GROUP (ORDER BY v), mode() WITHIN GROUP (ORDER BY v DESC) FROM nw
--
SELECT percentile_cont(-0.1) WITHIN GROUP (ORDER BY n) FROM nw WHERE false
--
SELECT percentile_disc(NULL) WITHIN GROUP (ORDER BY n) FROM nw
-- refused
SELECT percentile_cont(ARRAY[0.1, 0.5]) WITHIN GROUP (ORDER BY n) FROM nw
-- refused
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY at) FROM nw
--
SELECT pg_typeof(at), pg_typeof(v), pg_typeof(f), pg_typeof('x'), pg_typeof(1.5), pg_typeof(NULL)
  FROM nw LIMIT 1
-- refused
SELECT pg_typeof(1 / id) FROM nw
-- refused
SELECT pg_typeof(coalesce(v, 'x')) FROM nw
--
SELECT width_bucket(5, 0, 10, 5), width_bucket(3.2, 0.0, 9.9, 7), width_bucket(0, 10, 1, 3), width_bucket(10.0, 10.0, 1.0, 3)
--
SELECT width_bucket(5, 3, 3, 5)
--
SELECT width_bucket(5.5, 3.0, 4.0, 0)
--
SELECT pi(), degrees(1::float8), radians(90), sin(0), cos(0), tan(0), atan2(1, 1), acos(1)
-- refused
SELECT sin(1)
--
SELECT to_date('20240131', 'YYYYMMDD'), to_timestamp('2024-01-31 10:20:30.123', 'YYYY-MM-DD HH24:MI:SS.MS'), to_timestamp('2024/01', 'YYYY/MM')
--
SELECT to_date('2024-02-31', 'YYYY-MM-DD')
--
SELECT to_timestamp('2024-02-01 25:00', 'YYYY-MM-DD HH24:MI')
-- refused
SELECT to_date('1 Feb 2024', 'DD Mon YYYY')
--
SELECT to_number('12,345.67', '99,999.99'), to_number('007', '000')
-- refused
SELECT to_number('-1', 'S9')
--
SELECT make_interval(), make_interval(1, 2, 3, 4, 5, 6, 7.89), make_interval(mins => 90), make_interval(secs => -0.5, days => 2)
--
SELECT v SIMILAR TO '(a|b)%', v NOT SIMILAR TO '_', 'a.c' SIMILAR TO 'a.c', 'abc' SIMILAR TO 'a.c', 'abab' SIMILAR TO '(ab){2}', NULL SIMILAR TO 'x' FROM nw
-- refused
SELECT v SIMILAR TO v FROM nw
--
SELECT 'abc' IS NORMALIZED, 'abc' IS NOT NFD NORMALIZED, normalize('abc', NFKC)
--
SELECT array_fill(1, ARRAY[2]), array_fill(NULL::int, ARRAY[2]), array_fill(3, ARRAY[0])
-- refused
SELECT array_fill(1, NULL)
-- refused
SELECT array_fill(1, ARRAY[2, 2])
--
SELECT ARRAY[at, '2020-01-01'], ARRAY[0.1::float4, 2], f[2], f || 0.3::float8, 1e300::float8 = ANY (f) FROM nw
--
SELECT d, d + interval '1 month' FROM generate_series(timestamptz '2024-01-31', timestamptz '2024-03-31', '1 mon') d
--
SELECT d::date, count(nw.id) FROM generate_series('2024-03-30'::date, '2024-04-02'::date, interval '1 day') d LEFT JOIN nw ON nw.at::date = d::date GROUP BY d ORDER BY d
--
SELECT age(at, '2020-02-29'), age(at::date, date '2020-02-29'), to_json(at), to_jsonb(ARRAY[at]), concat(at, '!'), format('%s', at) FROM nw
--
SELECT now() > '2000-01-01', now() < timestamp '1980-01-01', current_date > '1970-01-01', random() < 1, random() >= 0, txid_current() > 0
-- refused
SELECT f || 0.3 FROM nw
-- refused
SELECT random() > 0.5
-- refused
SELECT jsonb_path_exists(note, 'strict $.k') FROM nw
-- refused
SELECT jsonb_path_exists(note, '$.k.size()') FROM nw
-- refused
SELECT jsonb_path_exists(note, '$.k ? (@ > 1 && @ < 3)') FROM nw
--
SELECT jsonb_path_query_array('{"a b": {"c": [1, [2, 3]]}}', '$."a b".c[*]'), jsonb_path_query_array('{"a b": {"c": [1, [2, 3]]}}', 'lax $.*.c[1][*]')
--
SELECT date(at), date('2024-02-03'), date(at::date) FROM nw
