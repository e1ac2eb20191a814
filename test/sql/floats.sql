CREATE TABLE fl (id int PRIMARY KEY, x float8, r real, y bytea, UNIQUE (x))
--
INSERT INTO fl VALUES (1, 1.5, 1.1, '\xdeadbeef'), (2, 0.1, 3.4e38, '\x'), (3, 'NaN', 'infinity', 'abc\000\\d'), (4, '-Infinity', -1e-45, '\x00FF'), (5, NULL, NULL, NULL), (6, 1e300, 16777217, 'x'), (7, -0.0, 100000, '\x 0a 0B')
--
SELECT * FROM fl ORDER BY id
--
SELECT id FROM fl ORDER BY x, id
--
SELECT id FROM fl ORDER BY y, id
--
INSERT INTO fl VALUES (8, 0, NULL, NULL)
--
INSERT INTO fl VALUES (8, 'nan', NULL, NULL)
--
SELECT id, x + 1, x * 3, x - 0.1, x / 3, -x, r + 1, r * r FROM fl WHERE id IN (1, 2, 3, 4, 5) AND id <> 2 ORDER BY id
--
SELECT 1e308::float8 * 10
--
SELECT 1e-300::float8 * 1e-300::float8
--
SELECT 1::float8 / 0
--
SELECT 3.4e38::real * 10::real
--
SELECT 0.1::float8 + 0.2::float8, 1e15::float8, 1e14::float8, 123456789012345678::float8, 1e-4::float8, 1e-5::float8, 1e21::float8, 5e-324::float8, 1.7976931348623157e308::float8, 100::real, 1e6::real, 123456::real, 1234567::real, 0.00001::real, 3.14159::real
--
SELECT 2.5::float8::int, 3.5::float8::int, -2.5::float8::int, 1e10::float8::bigint, 0.1::float8::numeric, 1.1::real::numeric, 1.1::real::float8, 0.1::float8::real, 1e20::float8::numeric
--
SELECT 1e10::float8::int
--
SELECT 'abc'::float8
--
SELECT '1e400'::float8
--
SELECT 1.5::float8 = 1.5, 1.5::real = 1.5, 1.1::real = 1.1::float8, 'nan'::float8 = 'nan', 'nan'::float8 > 'infinity', 0::float8 = -0.0::float8, 2::float8 > 1, 1.5::float8 IN (1.5, 2)
--
SELECT sum(x), avg(x), min(x), max(x), count(x) FROM fl WHERE id IN (1, 7)
--
SELECT sum(r), avg(r) FROM fl WHERE id = 1
--
-- refused
SELECT sum(v) FROM (VALUES (0.1::float8), (0.2::float8), (0.3::float8)) q(v)
--
SELECT sum(v), avg(v) FROM (VALUES (0.5::float8), (0.25::float8), (3::float8)) q(v)
--
SELECT x, count(*) FROM fl WHERE id < 5 GROUP BY x ORDER BY x
--
SELECT '\x01'::bytea < '\x0100'::bytea, '\xff'::bytea > '\x7f'::bytea, '\x61'::bytea = 'a'::bytea
--
SELECT '\xabc'::bytea
--
SELECT '\xzz'::bytea
--
SELECT 'a\b'::bytea
--
SELECT greatest(1.5::float8, 2), coalesce(NULL::float8, 1), CASE WHEN true THEN 1.5::float8 ELSE 2 END
--
UPDATE fl SET x = x * 2, y = '\x99' WHERE id = 1 RETURNING x, y
--
SELECT sqrt(16), sqrt(2::float8), power(2, 10), sign(-3), abs(-1.5::float8), round(2.5::float8), ceil(1.2::float8), floor(7), trunc(-1.5::float8), round(3), sign(0.0::float8)
--
SELECT sqrt(-1)
--
SELECT length('\x0102'::bytea), octet_length('\x01'::bytea), '\x01'::bytea || '\x02'::bytea, encode('\xdead'::bytea, 'hex'), initcap('hello wORLD x-y'), initcap(NULL)
--
SELECT abs(-5), round(2.567, 2), ceil(1.2), floor(1.8), trunc(2.9), sign(-3.5), abs(-2.5)
