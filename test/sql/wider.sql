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
