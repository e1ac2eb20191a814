CREATE TABLE ch (id int PRIMARY KEY, s char(4), one char, t text, v varchar(3))
--
INSERT INTO ch VALUES (1, 'ab', 'x', 'ab', 'ab'), (2, 'abcd', 'y', 'ab  ', 'q'), (3, NULL, '', '', '')
-- refused
INSERT INTO ch VALUES (4, 'abcde', 'x', '', '')
--
INSERT INTO ch VALUES (4, 'abc   ', 'z ', 'c', 'c')
--
SELECT * FROM ch
--
SELECT id FROM ch WHERE s = 'ab'
--
SELECT id FROM ch WHERE s = 'ab   '
--
SELECT id FROM ch WHERE s = t
--
SELECT id, s || '!', length(s), upper(s), s::text || '|', s::char(2), s::varchar(3) FROM ch
--
SELECT id FROM ch WHERE s < 'abd' ORDER BY s DESC, id
--
SELECT one, count(*) FROM ch GROUP BY one
--
SELECT min(s), max(one) FROM ch
-- refused
SELECT CASE WHEN id = 1 THEN s ELSE t END FROM ch
--
SELECT coalesce(s, 'none') FROM ch
-- refused
SELECT s FROM ch UNION SELECT t FROM ch
--
SELECT id FROM ch WHERE s IN ('ab', 'zz')
--
SELECT 'ab'::char(5) = 'ab'::char(3), 'ab '::char(3) = 'ab '::text, 12::char(5), true::char(3)
--
UPDATE ch SET s = t WHERE id < 3 RETURNING s, s = t
--
CREATE FUNCTION chf(p char) RETURNS text AS $$ DECLARE c char(3) := p; BEGIN RETURN c || '|' || p; END $$ LANGUAGE plpgsql
--
SELECT chf('a'), chf('abc')
--
SELECT a.id, b.id FROM ch a JOIN ch b ON a.one = b.one AND a.id < b.id
--
SELECT 'a' LIKE 'a\'
--
SELECT 'ab' LIKE 'a\'
--
SELECT 'a' LIKE '%\'
--
SELECT '' LIKE '%\'
--
SELECT '' LIKE '\'
--
SELECT 'x' LIKE '\'
--
SELECT 'ba' LIKE '%a\'
--
SELECT 'aa' LIKE '%a\'
--
SELECT 'b' LIKE '%a\'
--
SELECT 'a' LIKE '_\'
--
SELECT 'ab' LIKE '_\'
--
SELECT 'a\' LIKE 'a\\'
--
SELECT lpad('x', 300000000)
--
SELECT rpad('x', 268435454) IS NULL, length(rpad('xy', 5, ''))
