CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')
--
CREATE TYPE mood AS ENUM ('x')
--
CREATE TYPE twice AS ENUM ('x', 'x')
--
CREATE TABLE en (id int PRIMARY KEY, m mood DEFAULT 'ok', UNIQUE (m))
--
INSERT INTO en VALUES (1, 'happy'), (2, 'sad'), (3, DEFAULT), (4, NULL)
--
INSERT INTO en VALUES (5, 'ok')
--
INSERT INTO en VALUES (5, 'bored')
--
SELECT id, m, m::text FROM en ORDER BY m, id
--
SELECT id FROM en WHERE m > 'sad' ORDER BY m DESC
--
SELECT min(m), max(m), count(m) FROM en
--
SELECT m, count(*) FROM en GROUP BY m
--
SELECT 'ok'::mood < 'happy'::mood, 'sad' = 'sad'::mood, ('hap' || 'py')::text::mood, greatest('ok'::mood, 'sad'), to_jsonb('ok'::mood), 'ok'::mood || 'x'
--
SELECT 'OK'::mood
--
SELECT m = 'ok'::text FROM en
--
UPDATE en SET m = 'sad' WHERE m = 'happy'
--
UPDATE en SET m = NULL WHERE m IN ('sad', 'happy') RETURNING id, m
--
SELECT CASE WHEN id > 2 THEN m ELSE 'happy' END FROM en ORDER BY 1, id
--
-- refused
ALTER TYPE mood ADD VALUE 'furious'
--
-- refused
DROP TYPE mood
--
DROP TYPE IF EXISTS nosuch
