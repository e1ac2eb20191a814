CREATE TABLE pn (id int, c text, v int CHECK (v < 100), PRIMARY KEY (id, c)) PARTITION BY LIST (c)
--
CREATE TABLE pn_a PARTITION OF pn FOR VALUES IN ('a', 'it''s')
--
CREATE TABLE pn_b PARTITION OF pn FOR VALUES IN ('b')
--
INSERT INTO pn VALUES (1, 'a', 1), (2, 'it''s', 2), (3, 'b', 3)
--
SELECT * FROM pn_a ORDER BY id
--
SELECT a.id, b.id FROM pn_a a JOIN pn_b b ON a.id < b.id ORDER BY 1, 2
--
INSERT INTO pn_b VALUES (4, 'b', 4) RETURNING *
--
INSERT INTO pn_b VALUES (5, 'a', 4)
--
INSERT INTO pn_b VALUES (5, 'q', 400)
--
INSERT INTO pn_b VALUES (3, 'a', 4)
--
INSERT INTO pn_b (id) VALUES (3)
--
INSERT INTO pn_b VALUES (3, 'b', 4)
--
UPDATE pn_b SET v = v + 10
--
UPDATE pn_b SET c = 'a' WHERE id = 3
--
UPDATE pn_a SET c = 'it''s' WHERE id = 1
--
UPDATE pn SET c = 'b' WHERE id = 1
--
DELETE FROM pn_b WHERE id = 4
--
SELECT count(*) FROM pn_b
--
SELECT * FROM pn ORDER BY id
-- refused
TRUNCATE pn_a
-- refused
DROP TABLE pn_a
--
CREATE TABLE pxr (at date, n int) PARTITION BY RANGE (at)
--
CREATE TABLE pxr_1 PARTITION OF pxr FOR VALUES FROM ('2024-01-01') TO ('2024-02-01')
--
CREATE TABLE pxr_0 PARTITION OF pxr FOR VALUES FROM (MINVALUE) TO ('2024-01-01')
--
CREATE TABLE pxr_9 PARTITION OF pxr FOR VALUES FROM ('2024-02-01') TO (MAXVALUE)
--
INSERT INTO pxr VALUES ('2023-05-05', 1), ('2024-01-31', 2), ('2024-02-01', 3)
--
SELECT * FROM pxr_0
--
SELECT * FROM pxr_1
--
SELECT * FROM pxr_9
--
INSERT INTO pxr_1 VALUES ('2024-01-01', 4), ('2024-02-01', 5)
--
INSERT INTO pxr_0 VALUES (NULL, 4)
--
INSERT INTO pxr_1 SELECT '2024-01-15', n FROM pxr_9
--
SELECT * FROM pxr ORDER BY at
--
SELECT n FROM pxr_1 WHERE at > '2024-01-10' ORDER BY n
--
CREATE TABLE pxh (id int) PARTITION BY HASH (id)
--
CREATE TABLE pxh_0 PARTITION OF pxh FOR VALUES WITH (MODULUS 1, REMAINDER 0)
-- refused
SELECT * FROM pxh_0
