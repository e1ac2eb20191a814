CREATE TABLE vc (id int PRIMARY KEY, name text UNIQUE, active boolean, n int CHECK (n < 50))
--
INSERT INTO vc VALUES (1, 'a', true, 1), (2, 'b', false, 2), (3, 'c', true, 3)
--
CREATE VIEW vv AS SELECT id, name, active FROM vc WHERE active WITH CHECK OPTION
--
UPDATE vv SET active = false WHERE id = 1
--
UPDATE vv SET name = 'q' WHERE id = 1
--
UPDATE vv SET name = 'q', active = NULL WHERE id = 3
--
INSERT INTO vv VALUES (4, 'd', true) RETURNING id
--
INSERT INTO vv VALUES (5, 'e', false)
--
INSERT INTO vv (id, name) VALUES (5, 'e')
--
INSERT INTO vv VALUES (5, 'd', false)
-- refused
INSERT INTO vv VALUES (4, 'd', false) ON CONFLICT DO NOTHING
-- refused
INSERT INTO vv VALUES (4, 'd', true) ON CONFLICT (id) DO UPDATE SET active = false
--
DELETE FROM vv WHERE id = 4
--
SELECT * FROM vv ORDER BY id
--
SELECT * FROM vc ORDER BY id
--
CREATE VIEW vw (k, m) AS SELECT id, n FROM vc WHERE n > 1 AND id < 10 with local check option;
--
UPDATE vw SET m = m - 1
--
UPDATE vw SET m = m + 1
--
UPDATE vw SET m = 60
--
INSERT INTO vw VALUES (20, 7)
--
INSERT INTO vw VALUES (9, 7)
--
CREATE OR REPLACE VIEW vw (k, m) AS SELECT id, n FROM vc WHERE n > 1 AND id < 10
--
INSERT INTO vw VALUES (20, 7)
--
CREATE VIEW vo WITH (check_option = 'cascaded') AS SELECT id, name FROM vc WHERE id > 2
--
INSERT INTO vo VALUES (0, 'z')
--
INSERT INTO vo VALUES (30, 'z')
--
-- refused
CREATE VIEW vg AS SELECT count(*) AS n FROM vc WITH CHECK OPTION
--
CREATE RECURSIVE VIEW vrec (n) AS SELECT 1 UNION ALL SELECT n + 1 FROM vrec WHERE n < 3
--
SELECT n FROM vrec ORDER BY n
--
SELECT a.n, d.n FROM vrec a JOIN vrec d ON d.n < a.n ORDER BY 1, 2
--
CREATE OR REPLACE RECURSIVE VIEW "R x" ("a ""b") AS VALUES (1) UNION SELECT "a ""b" + 2 FROM "R x" WHERE "a ""b" < 7;
--
SELECT * FROM "R x" ORDER BY 1
--
DROP VIEW vv, vw, vo, vrec, "R x"
