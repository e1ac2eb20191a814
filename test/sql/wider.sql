CREATE TABLE w (id int PRIMARY KEY, a int, b text, c numeric(10,2), UNIQUE (a, b))
--
INSERT INTO w VALUES (1, 10, 'Ann', 1.50), (2, 20, 'Bob', 2.50), (3, NULL, 'Cid', NULL), (4, 10, 'ann lee', 0)
--
SHOW transaction_isolation
--
SET LOCAL work_mem = '8MB'
--
SET search_path TO public
--
SET enable_seqscan = off
--
RESET enable_seqscan
--
-- refused
SET search_path TO elsewhere
--
-- refused
SET session_replication_role = replica
--
ANALYZE w
--
COMMENT ON TABLE w IS 'wide'
--
GRANT SELECT ON w TO PUBLIC
--
EXPLAIN SELECT * FROM w
--
EXPLAIN (ANALYZE) SELECT count(*) FROM w
--
-- refused
EXPLAIN ANALYZE UPDATE w SET a = 1
--
NOTIFY channel, 'text'
--
CREATE INDEX w_b ON w (b)
--
DROP INDEX w_b
--
-- refused
DROP INDEX w_a_b_key
--
SELECT pg_advisory_xact_lock(7)
--
SELECT pg_try_advisory_lock(7), pg_advisory_unlock(7)
--
SELECT set_config('app.user', '7', true)
--
-- refused
SELECT set_config('search_path', 'x', true)
--
INSERT INTO w VALUES (9, 10, 'Ann', 3) ON CONFLICT ON CONSTRAINT w_a_b_key DO UPDATE SET c = 99 RETURNING id, c
--
INSERT INTO w VALUES (1, 11, 'Eve', 3) ON CONFLICT ON CONSTRAINT w_pkey DO NOTHING
--
INSERT INTO w VALUES (1, 11, 'Eve', 3) ON CONFLICT ON CONSTRAINT missing DO NOTHING
--
SELECT id FROM w WHERE b ILIKE 'ANN%' ORDER BY id
--
SELECT id FROM w WHERE b ~ '^[[:upper:]][a-z]+$' ORDER BY id
--
-- refused
SELECT id FROM w WHERE b ~ '\d'
--
-- refused
SELECT id FROM w WHERE b ~ 'a+?'
--
-- refused
SELECT id FROM w WHERE b ~ '(?i)a'
--
SELECT repeat('a', 4000) ~ '(a|aa)+b'
--
-- refused
SELECT repeat('a', 4001) ~ '(a|aa)+b'
--
SELECT id FROM w WHERE id = ANY('{1,3}') ORDER BY id
--
SELECT id FROM w WHERE id = ANY('{1,x}')
--
SELECT id FROM w WHERE id = ANY('1,3')
--
SELECT id FROM w WHERE b = ANY('{"Ann","Bob"}') ORDER BY id
--
SELECT id FROM w WHERE (a, b) = (10, 'Ann')
--
SELECT id FROM w WHERE (a, b) >= (10, 'Ann') ORDER BY id
--
SELECT id FROM w WHERE (id, a) IN (SELECT id, a FROM w WHERE a = 10) ORDER BY id
--
SELECT id FROM w WHERE (a, c) NOT IN (SELECT a, c FROM w WHERE id = 3) ORDER BY id
--
SELECT id FROM w WHERE (a, c) < (1, 2, 3)
--
SELECT 5 & 3, 5 | 3, 5 # 3, ~5, 1 << 33, (-8) >> 1, 7::bigint << 40, 1::smallint << 15
--
SELECT div(7, 2), div(-7, 2), div(7.5, -2)
--
SELECT div(1, 0)
--
SELECT concat(a, '-', b, true), concat_ws(',', id, NULL, b), concat_ws(NULL, 1, 2) FROM w ORDER BY id
--
CREATE UNLOGGED TABLE g (a int, b int GENERATED ALWAYS AS (a * 2) STORED UNIQUE) WITH (fillfactor = 70)
--
INSERT INTO g (a) VALUES (3) RETURNING b
--
INSERT INTO g (a) VALUES (3)
--
INSERT INTO g (a) VALUES (4)
--
UPDATE g SET a = a + 1 WHERE a = 4 RETURNING *
--
UPDATE g SET a = 3 WHERE a = 5
--
UPDATE g SET b = 3
--
INSERT INTO g VALUES (5, DEFAULT)
--
ALTER TABLE g OWNER TO postgres
--
SELECT * FROM g ORDER BY a
--
SELECT DISTINCT ON (a) a, id FROM w ORDER BY a, id DESC
--
SELECT DISTINCT ON (a) a FROM w
--
-- refused
SELECT DISTINCT ON (a) a, id FROM w
--
SELECT DISTINCT ON (a) a, id FROM w ORDER BY id
--
SELECT id, lag(a) OVER (ORDER BY id), lead(a, 1, 0) OVER (ORDER BY id), lag(b, 2, 'none') OVER (ORDER BY id DESC) FROM w ORDER BY id
--
SELECT id, sum(a) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), count(*) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING), sum(id) OVER (ORDER BY id ROWS BETWEEN 2 FOLLOWING AND UNBOUNDED FOLLOWING) FROM w ORDER BY id
--
SELECT id, first_value(b) OVER (PARTITION BY a ORDER BY id), last_value(b) OVER (PARTITION BY a ORDER BY id), nth_value(b, 2) OVER (PARTITION BY a ORDER BY id), last_value(b) OVER (PARTITION BY a ORDER BY id RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM w ORDER BY id
--
SELECT id, ntile(2) OVER (ORDER BY id), ntile(3) OVER (ORDER BY id), ntile(9) OVER (ORDER BY id) FROM w ORDER BY id
--
SELECT id, sum(a) OVER v, count(*) OVER v FROM w WINDOW v AS (PARTITION BY a ORDER BY id) ORDER BY id
--
SELECT id, sum(id) OVER (ORDER BY a), min(id) OVER (ORDER BY a DESC) FROM w ORDER BY id
--
SELECT ntile(0) OVER (ORDER BY id) FROM w
--
SELECT id, sum(a) OVER missing FROM w
--
SELECT id, sum(a) OVER (ORDER BY id ROWS BETWEEN -1 PRECEDING AND CURRENT ROW) FROM w
--
SELECT w.id, x.m FROM w, LATERAL (SELECT max(v.id) AS m FROM w v WHERE v.a = w.a) x ORDER BY w.id
--
SELECT w.id, x.id FROM w LEFT JOIN LATERAL (SELECT v.id FROM w v WHERE v.a = w.a AND v.id <> w.id ORDER BY v.id LIMIT 1) x ON true ORDER BY w.id
--
SELECT w.id, g FROM w, generate_series(1, w.id) g ORDER BY 1, 2
--
SELECT g FROM generate_series(1, 4) g
--
SELECT * FROM generate_series(10, 1, -3) AS s(x)
--
SELECT * FROM generate_series(1, 2, 0)
--
SELECT count(*) FROM generate_series(5, 1)
--
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT sum(n), count(*) FROM r
--
WITH RECURSIVE r AS (SELECT id, a FROM w WHERE id = 1 UNION SELECT w.id, w.a FROM w JOIN r ON w.a = r.a) SELECT * FROM r ORDER BY id
--
WITH RECURSIVE r(n, t) AS (VALUES (1, 'a') UNION ALL SELECT n + 1, t || 'b' FROM r WHERE n < 3) SELECT * FROM r ORDER BY n
--
WITH RECURSIVE p AS (SELECT 1 AS x UNION SELECT 2) SELECT * FROM p ORDER BY x
--
BEGIN
--
WITH d AS (DELETE FROM w WHERE a = 10 RETURNING id, a) SELECT id, a, (SELECT count(*) FROM w) FROM d ORDER BY id
--
SELECT id FROM w ORDER BY id
--
ROLLBACK
--
BEGIN
--
WITH i AS (INSERT INTO w (id, a, b) VALUES (50, 1, 'new') RETURNING id) INSERT INTO w (id, a, b) SELECT id + 1, 2, 'next' FROM i RETURNING id, b
--
SELECT id, a FROM w ORDER BY id
--
ROLLBACK
--
BEGIN
--
WITH u AS (UPDATE w SET a = a + 1 WHERE id = 1 RETURNING a) SELECT u.a, w.a FROM u, w WHERE w.id = 1
--
WITH u AS (UPDATE w SET a = 0 WHERE id = 2) SELECT 1
--
WITH a AS (UPDATE w SET c = 5 WHERE id = 1 RETURNING id), b AS (DELETE FROM w WHERE id = 3 RETURNING id) SELECT a.id, b.id FROM a, b
--
WITH moved AS (DELETE FROM w WHERE id = 4 RETURNING *) INSERT INTO w SELECT id + 100, a, b, c FROM moved
--
SELECT * FROM w ORDER BY id
--
ROLLBACK
--
WITH d AS (DELETE FROM w WHERE id = 4) SELECT * FROM d
--
-- refused
WITH a AS (UPDATE w SET c = 5 WHERE id = 1 RETURNING id) UPDATE w SET c = 6 WHERE id = 1
--
SELECT id, (SELECT w.a), (SELECT w.b FROM w v WHERE v.id = 1) FROM w ORDER BY id
--
CREATE TABLE z (id uuid PRIMARY KEY, at timestamptz, day date)
--
INSERT INTO z VALUES ('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '2024-01-01 10:00:00+02', '2024-02-28'), ('{b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}', '2024-01-01 09:30:00.25Z', '2023-12-31'), ('c0eebc999c0b4ef8bb6d6bb9bd380a11', NULL, NULL)
--
SELECT * FROM z ORDER BY id
--
SELECT id FROM z ORDER BY at DESC NULLS LAST
--
SELECT at FROM z WHERE id = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'
--
SELECT id::text, count(*) FROM z WHERE at < '2024-01-01 09:00:00+00' GROUP BY id
--
SELECT max(at), min(at) FROM z
--
SELECT id FROM z WHERE id = 'a0eebc99'
--
SELECT id FROM z WHERE id = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1g'
--
INSERT INTO z VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')
--
-- refused
SELECT at::text FROM z
--
-- refused
SELECT id FROM z WHERE at < '2024-01-01 09:00:00'
--
-- refused
SELECT id FROM z WHERE at < day
--
-- refused
SELECT coalesce(at, day) FROM z
--
SELECT id FROM z WHERE id = 'x'::text
--
-- refused
SELECT min(id) FROM z
--
SELECT day + 2, day - 1, 1 + day, day - date '2024-01-01' FROM z ORDER BY id
--
SELECT day FROM z WHERE day + 1 > date '2024-02-28'
--
UPDATE z SET day = day + 366 RETURNING day
--
-- refused
SELECT day + 999999999 FROM z
--
SELECT id FROM w ORDER BY a, id LIMIT 2 FOR UPDATE
--
SELECT w.id, v.id FROM w JOIN w v ON v.a = w.a WHERE w.id < 3 ORDER BY 1, 2 FOR UPDATE OF w
--
SELECT id FROM w ORDER BY id OFFSET 1 FOR NO KEY UPDATE NOWAIT
--
SELECT id FROM w ORDER BY id FOR KEY SHARE
--
SELECT a, count(*) FROM w GROUP BY a FOR UPDATE
--
SELECT id FROM w FOR UPDATE OF nobody
--
SELECT id FROM w ORDER BY a FETCH FIRST 1 ROW WITH TIES
--
SELECT id FROM w ORDER BY a OFFSET 1 FETCH FIRST 2 ROWS WITH TIES
--
-- refused
SELECT id FROM w FETCH FIRST 1 ROW WITH TIES
--
UPDATE w SET (a, b) = (a + 1, upper(b)) WHERE id = 1 RETURNING a, b
--
UPDATE w SET (a, b) = (1, 'x', 2) WHERE id = 1
--
UPDATE w SET (a, b) = (SELECT 1, 'x'::text) WHERE id = 1
--
CREATE TABLE inn (id int PRIMARY KEY, s smallint, b bigint, n numeric, t text, c char(3))
--
INSERT INTO inn VALUES (1, 1, 10, 1.0, 'a', 'a'), (2, 2, 20, 2.50, 'b', 'b'), (3, NULL, NULL, NULL, NULL, NULL), (4, 4, 1, 1, 'a ', 'a')
--
SELECT id FROM inn WHERE id IN (SELECT b FROM inn) ORDER BY id
--
SELECT id FROM inn WHERE id NOT IN (SELECT b FROM inn) ORDER BY id
--
SELECT id FROM inn WHERE id NOT IN (SELECT b FROM inn WHERE b IS NOT NULL) ORDER BY id
--
SELECT id, s IN (SELECT n FROM inn), s NOT IN (SELECT n FROM inn WHERE id < 3), s IN (SELECT id FROM inn WHERE id > 9), s NOT IN (SELECT id FROM inn WHERE id > 9) FROM inn ORDER BY id
--
SELECT id, t IN (SELECT c FROM inn WHERE id <> 3), c IN (SELECT t FROM inn WHERE id <> 3), t = ANY (SELECT t FROM inn), c <> ALL (SELECT c FROM inn WHERE id = 2) FROM inn ORDER BY id
--
SELECT id FROM inn o WHERE id IN (SELECT i.id FROM inn i WHERE i.s = o.s) ORDER BY id
--
SELECT id, id > ANY (SELECT s FROM inn), id <= ALL (SELECT s FROM inn WHERE s > 1), id <> ANY (SELECT s FROM inn), id = ALL (SELECT s FROM inn WHERE id = 1) FROM inn ORDER BY id
--
SELECT id FROM inn WHERE (id, s) IN (SELECT id, s FROM inn) ORDER BY id
--
SELECT id FROM inn WHERE id IN (SELECT id FROM inn ORDER BY id DESC LIMIT 2) ORDER BY id
--
UPDATE inn SET b = 7 WHERE id IN (SELECT s FROM inn) AND id NOT IN (SELECT b FROM inn WHERE b IS NOT NULL) RETURNING id, id IN (SELECT b FROM inn)
--
DELETE FROM inn WHERE id NOT IN (SELECT id FROM inn WHERE id < 3) RETURNING id, 7 IN (SELECT b FROM inn)
