CREATE TABLE gs (id int PRIMARY KEY, a int, g text, n numeric, d date, x int[])
--
SELECT g, count(*), grouping(g) FROM gs GROUP BY ROLLUP (g)
--
SELECT count(*), sum(a) FROM gs GROUP BY ()
--
SELECT count(*) FROM gs GROUP BY GROUPING SETS ((), ())
--
INSERT INTO gs VALUES (1, 1, 'a', 1.5, '2024-01-01', '{1,2}'), (2, 1, 'b', 2.5, '2024-01-01', '{}'), (3, 2, 'a', NULL, NULL, NULL), (4, NULL, NULL, 4, '2024-02-01', '{3,NULL}')
--
SELECT a, g, sum(n), grouping(a, g), grouping(g, a), grouping(a) FROM gs GROUP BY CUBE (a, g) ORDER BY 1, 2, 4
--
SELECT a, g, d, count(*) FROM gs GROUP BY a, ROLLUP (g, d) ORDER BY 1, 2, 3, 4
--
SELECT a + 1 AS b, g, count(*) FROM gs GROUP BY GROUPING SETS ((b), (g, 1), ROLLUP (g)) HAVING count(*) > 1 ORDER BY grouping(b), 1, 2, 3
--
SELECT coalesce(g, 'total'), sum(a) FROM gs GROUP BY ROLLUP (g) ORDER BY g NULLS LAST, grouping(g)
--
SELECT a, g, count(*) FROM gs GROUP BY ROLLUP ((a, g)) ORDER BY 1, 2, 3
--
SELECT a, max(g) FROM gs GROUP BY a, CUBE (d) ORDER BY 1, 2
--
SELECT DISTINCT g, grouping(g) FROM gs GROUP BY CUBE (g, a) ORDER BY 1, 2
--
SELECT a, g FROM gs GROUP BY ROLLUP (a)
--
SELECT grouping(g) FROM gs GROUP BY a
--
SELECT grouping(a), a FROM gs GROUP BY a ORDER BY a
--
SELECT count(*) FROM gs GROUP BY CUBE (a, a, a, a, a, a, a, a, a, a, a, a, a)
-- refused
SELECT sum(a) FROM gs GROUP BY ROLLUP (count(*))
--
SELECT ARRAY(SELECT id FROM gs ORDER BY id), ARRAY(SELECT g FROM gs WHERE false)
--
SELECT id, ARRAY(SELECT s.a FROM gs s WHERE s.id <= gs.id ORDER BY s.id) FROM gs ORDER BY id
-- refused
SELECT ARRAY(SELECT id FROM gs)
--
SELECT id FROM gs WHERE id = ANY (ARRAY(SELECT a FROM gs WHERE a > 1)) ORDER BY id
--
SELECT row_to_json(gs) FROM gs ORDER BY id
--
SELECT to_jsonb(t), to_json(t) FROM (SELECT id, g AS "Q ""x", a = 1 AS b FROM gs) t ORDER BY id
--
SELECT json_agg(t ORDER BY t.id), jsonb_agg(t ORDER BY t.id) FROM gs t
--
SELECT json_agg(x ORDER BY id), json_agg(row_to_json(t) ORDER BY id) FROM gs t
--
SELECT json_build_object('r', t, 'k', t.*), jsonb_build_array(t, 1) FROM gs t ORDER BY id
--
SELECT row_to_json(ROW(id, g, NULL)) FROM gs ORDER BY id
--
SELECT row_to_json(s) FROM gs s LEFT JOIN gs o ON o.id = s.a ORDER BY s.id
-- refused
SELECT to_jsonb(o) FROM gs s LEFT JOIN gs o ON o.id = s.a + 2 ORDER BY s.id
--
SELECT gs FROM gs
--
SELECT g, json_agg(t ORDER BY t.id) FROM gs t GROUP BY g ORDER BY g
--
SELECT format('%s|%I|%L|%%', g, g, g) FROM gs WHERE g IS NOT NULL ORDER BY id
--
SELECT format('%s %L', NULL, NULL), format('%2$s %1$s %s', 1, 2), format('[%-5s][%5s]', 'ab', 'cd'), format('no'), format(NULL, 1)
--
SELECT format('%I', NULL)
--
SELECT format('%s %s', 1)
--
SELECT format('%d', 1)
--
SELECT format('%')
--
SELECT format('%0$s', 1)
--
SELECT quote_ident('a b'), quote_ident('select'), quote_ident('ab_1'), quote_ident('x"y'), quote_ident(''), quote_literal('it''s'), quote_literal('a\b'), quote_nullable(NULL), quote_literal(NULL)
--
SELECT regexp_replace('abc', 'b*', '-', 'g'), regexp_replace('foobar', 'o', 'x'), regexp_replace('foobar', '(o)(b)', '[\2\1\&]'), regexp_replace('FooBar', '[a-z]+', '.', 'gi')
--
SELECT regexp_match('foobar', 'o.b'), regexp_match('foobar', '(o)(.)b'), regexp_match('foobar', 'x'), regexp_match('ab', '(x?)b')
--
SELECT substring('foobar' from 'o+'), substring('foobar' from 'f(o)o'), substring('foobar' from 'zz'), substring('foobar' from 2 for 3)
-- refused
SELECT regexp_replace('abc', '(a|b)+', '\1')
-- refused
SELECT regexp_replace('abc', '\d', 'x')
--
SELECT string_to_array('a,b,,c', ','), string_to_array('', ','), string_to_array('abc', ''), string_to_array(NULL, ',')
--
SELECT to_char(12.345, '999.99'), to_char(-1.5, '0.0'), to_char(0, '99.99'), to_char(1234567.891, '9,999,999.99'), to_char(1234, '999'), to_char(5, '000'), to_char(485, '9,999'), to_char(12, 'FM999'), to_char(148.5, 'FM999.990'), to_char(1.10, 'FM9.99'), to_char(-7, 'FM00'), to_char(7::bigint, '99')
--
SELECT to_char(NULL::int, '9'), to_char(0.5, '9.9'), to_char(0.5, '0.9'), to_char(0, '9'), to_char(0, '0'), to_char(-0.5, '9.9'), to_char(99.999, '99.99'), to_char(100, '0,000')
-- refused
SELECT to_char(1, 'RN')
