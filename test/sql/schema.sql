CREATE TABLE par (id int PRIMARY KEY, k text UNIQUE, v int)
--
CREATE TABLE kid (id int PRIMARY KEY, p int REFERENCES par, q text REFERENCES par (k) ON DELETE CASCADE ON UPDATE CASCADE, n int)
--
CREATE TABLE sub (id int PRIMARY KEY, kid int NOT NULL REFERENCES kid (id) ON DELETE CASCADE, other int REFERENCES par ON DELETE SET NULL)
--
INSERT INTO par VALUES (1, 'a', 10), (2, 'b', 20), (3, 'c', 30)
--
INSERT INTO kid VALUES (10, 1, 'b', 5)
--
INSERT INTO kid VALUES (11, 9, NULL, 5)
--
INSERT INTO kid VALUES (12, NULL, NULL, 6), (13, 2, 'x', 7)
--
INSERT INTO kid VALUES (12, NULL, NULL, 6), (13, 2, 'c', 7)
--
INSERT INTO sub VALUES (100, 13, 1), (101, 10, 3), (102, 13, NULL)
--
DELETE FROM par WHERE id = 1
--
UPDATE par SET k = 'z' WHERE id = 2
--
SELECT * FROM kid
--
DELETE FROM par WHERE id = 3
--
SELECT * FROM kid
--
SELECT * FROM sub
--
UPDATE par SET id = 7 WHERE id = 1
--
UPDATE par SET v = 1
--
UPDATE kid SET p = 2 WHERE id = 10
--
UPDATE kid SET p = 99 WHERE id = 10
--
DELETE FROM par WHERE id = 1
--
DROP TABLE par
--
DELETE FROM kid
--
SELECT * FROM sub
--
CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree (id))
--
INSERT INTO tree VALUES (1, NULL), (2, 1), (3, 5), (5, 2)
--
DELETE FROM tree WHERE id = 5
--
DELETE FROM tree WHERE id IN (3, 5)
--
DELETE FROM tree
--
UPDATE kid SET n = par.v FROM par WHERE kid.p = par.id
--
INSERT INTO kid VALUES (20, 2, NULL, 1), (21, 2, NULL, 2), (22, NULL, NULL, 3)
--
UPDATE kid SET n = kid.n + par.v FROM par WHERE kid.p = par.id RETURNING kid.id, par.k, n
--
UPDATE kid k SET n = 0 FROM par p JOIN par r ON p.id = r.id WHERE k.p = p.id AND r.v > 0
--
SELECT * FROM kid
--
DELETE FROM kid USING par WHERE kid.p = par.id AND kid.id > 20 RETURNING kid.id, par.k
--
WITH m AS (SELECT 2 AS w) UPDATE kid SET n = m.w FROM m WHERE kid.id = 20
--
WITH m AS (SELECT 22 AS w) DELETE FROM kid USING m WHERE kid.id = m.w
--
SELECT * FROM kid
--
CREATE VIEW pv AS SELECT id, k || '!' AS kk FROM par WHERE v > 0
--
SELECT * FROM pv
--
SELECT pv.kk, kid.n FROM pv JOIN kid ON kid.p = pv.id
--
CREATE VIEW pw (a, b) AS SELECT kk, id FROM pv
--
SELECT b, a FROM pw WHERE b > 1
--
CREATE VIEW pv AS SELECT 1
--
CREATE VIEW bad AS SELECT nosuch FROM par
--
DROP VIEW pw
--
SELECT * FROM pw
--
BEGIN
--
CREATE TABLE grown (id int)
--
ALTER TABLE grown ADD COLUMN v int DEFAULT 7 NOT NULL
--
ALTER TABLE ONLY grown ADD CONSTRAINT grown_pkey PRIMARY KEY (id)
--
ALTER TABLE grown ADD CONSTRAINT pos CHECK (v > 0), ADD FOREIGN KEY (id) REFERENCES par (id)
--
CREATE UNIQUE INDEX grown_v ON grown (v)
--
INSERT INTO grown (id) VALUES (1)
--
COMMIT
--
INSERT INTO grown VALUES (2, 7)
--
INSERT INTO grown VALUES (1, 8)
--
INSERT INTO grown VALUES (2, -8)
--
INSERT INTO grown VALUES (77, 8)
--
INSERT INTO grown VALUES (2, 8)
--
SELECT * FROM grown
--
TRUNCATE par
--
TRUNCATE grown, tree
--
SELECT count(*) FROM grown
--
CREATE TABLE wrong (id int REFERENCES par (v))
--
CREATE INDEX plain ON kid (n)
--
CREATE TABLE later (id int PRIMARY KEY, v int, w text)
--
INSERT INTO later VALUES (1, 5, 'a'), (2, 6, NULL), (3, 6, 'c')
--
ALTER TABLE later ADD COLUMN n numeric(6,2) DEFAULT 1.5, ADD COLUMN IF NOT EXISTS v int
--
SELECT * FROM later ORDER BY id
--
ALTER TABLE later ADD COLUMN v int
--
ALTER TABLE later ALTER w SET NOT NULL
--
ALTER TABLE later ADD UNIQUE (v)
--
ALTER TABLE later ADD CONSTRAINT small CHECK (v < 6)
--
ALTER TABLE later ADD CONSTRAINT small CHECK (v < 60)
--
INSERT INTO later VALUES (4, 61, 'd')
--
UPDATE later SET v = 7 WHERE id = 3 RETURNING *
--
ALTER TABLE later ADD CONSTRAINT once UNIQUE (v)
--
INSERT INTO later VALUES (4, 7, 'd')
--
INSERT INTO later VALUES (4, 7, 'd') ON CONFLICT ON CONSTRAINT once DO UPDATE SET w = 'again' RETURNING id, w
--
ALTER TABLE later ALTER v SET DEFAULT 9, ALTER w SET DEFAULT 'none'
--
INSERT INTO later (id) VALUES (5) RETURNING *
--
ALTER TABLE later ALTER v DROP DEFAULT, ALTER id DROP NOT NULL
--
ALTER TABLE later ADD COLUMN must int NOT NULL
--
ALTER TABLE later DROP COLUMN w

