CREATE TABLE base (id int PRIMARY KEY, a int, b varchar(5), c numeric(6,2), d char(3), e timestamp)
--
INSERT INTO base VALUES (1, 10, 'one', 1.50, 'x', '2024-01-01'), (2, 20, 'two', 2.25, 'yy', NULL), (3, NULL, NULL, NULL, NULL, NULL)
--
CREATE TABLE copy1 AS SELECT * FROM base
--
SELECT * FROM copy1 ORDER BY id
--
INSERT INTO copy1 SELECT id, a, 'too' || b, 1, 'x', e FROM base WHERE id = 1
--
INSERT INTO copy1 SELECT id, a, b, 12345.6 + c, 'x', e FROM base WHERE id = 1
--
INSERT INTO copy1 VALUES (1, 5, 'fives', 1.239, 'x', NULL) RETURNING c, d
--
SELECT id, a AS first, c * 2 AS twice INTO copy2 FROM base WHERE id < 3
--
SELECT * FROM copy2 ORDER BY id
--
INSERT INTO copy2 VALUES (7, 7, 1.23456789) RETURNING twice
--
CREATE TABLE copy3 (x, y) AS SELECT count(*), max(a) FROM base WITH NO DATA
--
SELECT * FROM copy3
--
CREATE TABLE IF NOT EXISTS copy3 AS SELECT 1
--
CREATE TABLE copy3 AS SELECT 1
--
CREATE TABLE copy4 AS SELECT id, id FROM base
--
CREATE TABLE copy5 AS SELECT b FROM base UNION SELECT b FROM copy1
--
INSERT INTO copy5 SELECT 'six' || b FROM base WHERE id = 1
--
-- refused
CREATE TABLE copy6 AS SELECT b FROM base UNION SELECT 'x'
--
CREATE TABLE copy6 AS SELECT b || 'x' AS b FROM base UNION SELECT 'x'
--
INSERT INTO copy6 VALUES ('sixsix')
--
CREATE MATERIALIZED VIEW made AS SELECT a, count(*) AS n FROM base GROUP BY a
--
SELECT * FROM made ORDER BY a
--
INSERT INTO made VALUES (1, 1)
--
DROP TABLE made
--
DROP MATERIALIZED VIEW made
--
BEGIN
--
CREATE TABLE gone AS SELECT * FROM base
--
SELECT count(*) FROM gone
--
ROLLBACK
--
SELECT count(*) FROM gone
--
CREATE SCHEMA app
--
CREATE SCHEMA app
--
CREATE SCHEMA IF NOT EXISTS app
--
CREATE TABLE app.base (id int PRIMARY KEY, x text)
--
INSERT INTO app.base VALUES (1, 'app'), (2, 'more')
--
SELECT x FROM app.base ORDER BY id
--
SELECT b.x, p.b FROM app.base b JOIN public.base p ON p.id = b.id ORDER BY 1
--
SELECT app.base.x FROM app.base WHERE app.base.id = 1
--
SELECT public.base.b FROM public.base WHERE base.id = 1
--
SELECT x FROM base
--
CREATE TABLE app.child (id int PRIMARY KEY, p int REFERENCES app.base)
--
INSERT INTO app.child VALUES (1, 9)
--
INSERT INTO app.child VALUES (1, 2)
--
DELETE FROM app.base WHERE id = 2
--
UPDATE app.base SET x = 'new' WHERE id = 1 RETURNING *
--
DROP SCHEMA app
--
SELECT x FROM app.missing
--
-- refused
CREATE TABLE nowhere.t (id int)
--
DROP TABLE app.child
--
DROP SCHEMA app CASCADE
--
DROP SCHEMA app
--
DROP SCHEMA IF EXISTS app
--
CREATE TEMPORARY TABLE base (id int, note text)
--
INSERT INTO base VALUES (1, 'temporary')
--
SELECT * FROM base
--
SELECT count(*) FROM public.base
--
SELECT note FROM pg_temp.base
--
DROP TABLE base
--
SELECT count(*), max(b) FROM base
--
CREATE TEMP TABLE tmp1 (id int) ON COMMIT DELETE ROWS
--
INSERT INTO tmp1 VALUES (1)
--
SELECT count(*) FROM tmp1
--
BEGIN
--
INSERT INTO tmp1 VALUES (1), (2)
--
SELECT count(*) FROM tmp1
--
COMMIT
--
SELECT count(*) FROM tmp1
--
BEGIN
--
CREATE TEMP TABLE tmp2 ON COMMIT DROP AS SELECT id, a FROM base
--
SELECT * FROM tmp2 ORDER BY id
--
COMMIT
--
SELECT * FROM tmp2
--
CREATE TABLE wrong (id int) ON COMMIT DROP
--
CREATE TABLE cols (id int PRIMARY KEY, a int CHECK (a > 0), b text UNIQUE, c int DEFAULT 5, d int, CHECK (c < d), UNIQUE (a, c))
--
INSERT INTO cols VALUES (1, 1, 'x', 1, 2), (2, 2, 'y', 2, 3)
--
ALTER TABLE cols DROP COLUMN b
--
SELECT * FROM cols ORDER BY id
--
SELECT b FROM cols
--
INSERT INTO cols VALUES (3, 3, 3, 4) RETURNING *
--
INSERT INTO cols VALUES (4, 3, 3, 4)
--
ALTER TABLE cols DROP COLUMN c
--
INSERT INTO cols VALUES (4, 3, 0)
--
INSERT INTO cols VALUES (5, 0, 0)
--
ALTER TABLE cols DROP CONSTRAINT cols_a_check
--
INSERT INTO cols VALUES (5, 0, 0)
--
ALTER TABLE cols DROP CONSTRAINT nothing
--
ALTER TABLE cols DROP CONSTRAINT IF EXISTS nothing
--
ALTER TABLE cols DROP COLUMN nothing
--
ALTER TABLE cols DROP COLUMN IF EXISTS nothing
--
ALTER TABLE cols ADD COLUMN b int DEFAULT 7
--
SELECT * FROM cols ORDER BY id
--
UPDATE cols SET b = id, a = 1 WHERE id < 3 RETURNING *
--
SELECT * FROM cols NATURAL JOIN (SELECT id, e FROM base) x ORDER BY 1
--
ALTER TABLE cols DROP CONSTRAINT cols_pkey
--
INSERT INTO cols (id) VALUES (1)
--
INSERT INTO cols (id) VALUES (NULL)
--
CREATE TABLE parent (id int PRIMARY KEY, u int UNIQUE, x int)
--
CREATE TABLE kid (id int PRIMARY KEY, p int REFERENCES parent, q int REFERENCES parent (u))
--
INSERT INTO parent VALUES (1, 10, 100)
--
INSERT INTO kid VALUES (1, 1, 10)
--
ALTER TABLE parent DROP COLUMN u
--
ALTER TABLE parent DROP COLUMN x
--
SELECT * FROM parent
--
INSERT INTO kid VALUES (2, 2, 10)
--
ALTER TABLE kid DROP CONSTRAINT kid_p_fkey
--
INSERT INTO kid VALUES (2, 2, 10)
--
INSERT INTO kid VALUES (3, 2, 11)
--
ALTER TABLE kid DROP COLUMN q
--
INSERT INTO kid VALUES (3, 7) RETURNING *
--
CREATE TABLE typed (id int PRIMARY KEY, a int UNIQUE, b varchar(5) DEFAULT 'five', c text, d numeric(6,2))
--
INSERT INTO typed VALUES (1, 10, 'a', '1', 1.25), (2, 20, 'b', '2', 2.55), (3, NULL, NULL, NULL, NULL)
--
ALTER TABLE typed ALTER COLUMN a TYPE bigint
--
INSERT INTO typed VALUES (4, 5000000000, 'c', '4', 4)
--
ALTER TABLE typed ALTER COLUMN b TYPE text
--
INSERT INTO typed (id, b) VALUES (5, 'much longer') RETURNING b
--
ALTER TABLE typed ALTER COLUMN c TYPE int
--
ALTER TABLE typed ALTER COLUMN c TYPE int USING c::int + 1
--
SELECT * FROM typed ORDER BY id
--
ALTER TABLE typed ALTER COLUMN d TYPE int
--
SELECT id, d FROM typed ORDER BY id
--
ALTER TABLE typed ALTER COLUMN d TYPE int USING id / 3, ALTER COLUMN a SET DEFAULT 3
--
SELECT id, d FROM typed ORDER BY id
--
ALTER TABLE typed ALTER COLUMN a TYPE int
--
ALTER TABLE typed ALTER COLUMN a TYPE boolean USING id > 2
--
UPDATE typed SET a = NULL
--
ALTER TABLE typed ALTER COLUMN a TYPE text USING 'n' || id
--
SELECT a FROM typed ORDER BY id
--
CREATE TABLE part (id int PRIMARY KEY, k int, name text, live boolean)
--
CREATE UNIQUE INDEX part_live ON part (k) WHERE live
--
CREATE UNIQUE INDEX part_name ON part (lower(name))
--
INSERT INTO part VALUES (1, 1, 'Ann', true), (2, 1, 'Bob', false), (3, 1, 'Cid', false), (4, 1, NULL, NULL), (5, 2, NULL, NULL)
--
INSERT INTO part VALUES (6, 1, 'Dan', true)
--
INSERT INTO part VALUES (6, 1, 'ANN', false)
--
UPDATE part SET live = true WHERE id = 2
--
UPDATE part SET live = false WHERE id = 1
--
UPDATE part SET live = true WHERE id = 2
--
INSERT INTO part VALUES (7, 1, 'Eve', true) ON CONFLICT (k) WHERE live DO UPDATE SET name = 'upd ' || excluded.name RETURNING *
--
INSERT INTO part VALUES (8, 9, 'BOB', true) ON CONFLICT (k) WHERE live DO NOTHING RETURNING *
--
INSERT INTO part VALUES (9, 9, 'CID', true) ON CONFLICT (lower(name)) DO UPDATE SET k = part.k + 100 RETURNING *
--
INSERT INTO part VALUES (9, 2, 'x', true) ON CONFLICT (k) DO NOTHING
--
INSERT INTO part VALUES (9, 1, 'y', true) ON CONFLICT (k) WHERE live AND id > 3 DO NOTHING
--
SELECT * FROM part ORDER BY id
--
INSERT INTO part SELECT id + 20, k + id, name || id, live FROM part
--
SELECT * FROM part ORDER BY id
--
DROP INDEX part_name
--
INSERT INTO part VALUES (60, 77, 'ANN', false)
--
CREATE UNIQUE INDEX part_name ON part (lower(name))
--
DELETE FROM part WHERE id = 60
--
CREATE UNIQUE INDEX part_name ON part (lower(name))
--
ALTER TABLE part DROP COLUMN name
--
INSERT INTO part VALUES (61, 78, true) RETURNING *
--
UPDATE part SET (k, live) = (SELECT max(k) + 1, false FROM part) WHERE id = 61 RETURNING *
--
UPDATE part SET (k, live) = (SELECT b.a, b.id = 1 FROM base b WHERE b.id = part.id)
--
SELECT * FROM part ORDER BY id
--
UPDATE part SET (k, live) = (SELECT 1, true FROM base)
--
UPDATE part SET (k, live) = (SELECT 1)
--
CREATE TABLE wide_key (c text PRIMARY KEY, n int UNIQUE)
--
CREATE TABLE narrow_key (c varchar(3) REFERENCES wide_key ON UPDATE CASCADE, n bigint REFERENCES wide_key (n) ON UPDATE CASCADE)
--
INSERT INTO wide_key VALUES ('abc', 1)
--
INSERT INTO narrow_key VALUES ('abc', 1)
--
UPDATE wide_key SET c = 'abcd'
--
UPDATE wide_key SET c = 'ab', n = 2
--
SELECT c, n + 1 FROM narrow_key
