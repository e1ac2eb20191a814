"""The cases of test/trace/attacks: tables, and statements that two sessions send in turn.

A case is (what makes the tables, the statements). LOOK reads every row in several ways; statements without a mark
("1: ") are sent by the two sessions alternately.
"""
A = 'CREATE TABLE a (id int PRIMARY KEY, v int); INSERT INTO a VALUES (1, 10), (2, 20), (3, 30);'
B = 'CREATE TABLE b (id int PRIMARY KEY, n int); INSERT INTO b VALUES (1, 5), (2, 6);'
BUMP = 'CREATE FUNCTION bump(i int) RETURNS int LANGUAGE plpgsql AS $$BEGIN UPDATE a SET v = v + 1 WHERE id = i; RETURN i; END$$;'
LOOK = ['SELECT v FROM a WHERE id = 1', 'SELECT id, v FROM a', 'SELECT v FROM a WHERE id = 2', 'SELECT v FROM a WHERE id = 1']


class Around(list):
    """Statements, and those that they are about."""
    steps = look = ()


def around(*steps, look=None):
    """Reads, writes and reads around each step."""
    look = look or LOOK
    out = Around(look)
    out.steps, out.look = steps, look
    for i, s in enumerate(steps):
        out += [f'UPDATE a SET v = {1000 + i} WHERE id = 1', s, *look]
    return out


PG = {
    'deferred key': (A + 'CREATE TABLE c (id int PRIMARY KEY, a int NOT NULL REFERENCES a DEFERRABLE INITIALLY DEFERRED, w int); INSERT INTO c VALUES (1, 1, 1);',
                     around('1: BEGIN', '1: INSERT INTO c VALUES (2, 77, 2)', '1: INSERT INTO a VALUES (77, 77)', '1: COMMIT', 'UPDATE c SET w = 3 WHERE id = 1', 'SELECT w FROM c WHERE id = 1', 'INSERT INTO c VALUES (5, 555, 5)', 'SELECT w FROM c WHERE id = 5')),
    'plain': (A, around('UPDATE a SET v = 7 WHERE id = 2', "1: BEGIN", '1: UPDATE a SET v = 8 WHERE id = 1', '1: ROLLBACK')),
    'catalogs and a function': (A + BUMP, around('SELECT bump(1) FROM pg_class LIMIT 1', 'SELECT relname, bump(1) FROM pg_catalog.pg_class LIMIT 1',
                                                 'SELECT count(bump(1)) FROM information_schema.tables')),
    'catalogs and a write': (A, around('WITH u AS (UPDATE a SET v = 77 WHERE id = 1 RETURNING v) SELECT u.v, relname FROM u, pg_class LIMIT 1',
                                       "WITH u AS (DELETE FROM a WHERE id = 1 RETURNING v) SELECT u.v, relname FROM u, pg_class LIMIT 1")),
    'copy of a write': (A, around('COPY (UPDATE a SET v = 78 WHERE id = 1 RETURNING v) TO STDOUT', 'COPY (DELETE FROM a WHERE id = 2 RETURNING id) TO STDOUT')),
    'copy of a function': (A + BUMP, around('COPY (SELECT bump(1)) TO STDOUT')),
    'copy in': (A, around('COPY a FROM STDIN|7\t70\n', 'COPY a (id) FROM STDIN|8\n', look=[*LOOK, 'SELECT v FROM a WHERE id = 7', 'SELECT v FROM a WHERE id = 8'])),
    'explained': (A, around('EXPLAIN ANALYZE UPDATE a SET v = 79 WHERE id = 1', 'EXPLAIN (ANALYZE, COSTS off) DELETE FROM a WHERE id = 1')),
    'explained function': (A + BUMP, around('EXPLAIN ANALYZE SELECT bump(1)')),
    'made from a function': (A + BUMP, around('CREATE TABLE made AS SELECT bump(1)', 'SELECT bump(1) INTO other', 'CREATE TEMP TABLE m AS SELECT bump(2)',
                                              'CREATE MATERIALIZED VIEW mv AS SELECT bump(1)', 'REFRESH MATERIALIZED VIEW mv')),
    'values and a function': (A + BUMP, around('VALUES (bump(1))', 'SELECT * FROM bump(1)', 'TABLE a', 'SELECT 1 ORDER BY bump(1)', 'SELECT 1 LIMIT bump(1)',
                                               'SELECT v FROM a WHERE id = 2 LIMIT bump(1)', 'SELECT 1 WHERE bump(1) = 1')),
    'written with a function': (A + B + BUMP, around('UPDATE b SET n = bump(1) WHERE id = 1', 'INSERT INTO b VALUES (7, bump(1))', 'INSERT INTO b SELECT 8, bump(1)', 'UPDATE b SET n = 5 WHERE id = 1 AND bump(1) = 1', 'UPDATE b SET n = 6 WHERE id = 1 RETURNING bump(1)',
                                                     'DELETE FROM b WHERE id = 1 AND bump(1) = 1', 'UPDATE b SET n = (SELECT bump(1)) WHERE id = 2', 'INSERT INTO b VALUES (2, 1) ON CONFLICT (id) DO UPDATE SET n = bump(1)', 'SELECT n FROM b WHERE id = bump(1)')),
    'function made later': (A, around('CREATE OR REPLACE FUNCTION late() RETURNS int LANGUAGE sql AS $$UPDATE a SET v = 54 WHERE id = 1; SELECT 1$$', 'SELECT late()', 'SELECT 1 FROM late()', 'CREATE VIEW w AS SELECT late() AS x', 'SELECT x FROM w')),
    'function replaced': (A + 'CREATE FUNCTION late() RETURNS int LANGUAGE sql AS $$SELECT 1$$;', around("DO $$BEGIN EXECUTE 'CREATE OR REPLACE FUNCTION late() RETURNS int LANGUAGE sql AS ''UPDATE a SET v = 54 WHERE id = 1; SELECT 1'''; END$$", 'SELECT late()', 'SELECT 1 FROM late()')),
    'held cursor': (A + BUMP, around('1: BEGIN', '1: DECLARE c CURSOR WITH HOLD FOR SELECT bump(1)', '1: COMMIT', '1: FETCH ALL FROM c', '1: CLOSE c')),
    'operator': (A + 'CREATE FUNCTION f(i int, j int) RETURNS int LANGUAGE plpgsql AS $$BEGIN UPDATE a SET v = v + 1 WHERE id = i; RETURN i; END$$;'
                 'CREATE OPERATOR ## (LEFTARG = int, RIGHTARG = int, FUNCTION = f);', around('SELECT 1 ## 1', 'SELECT v FROM a WHERE id = 2 AND 1 ## 1 = 1')),
    'operator that replaces': (A + 'CREATE SCHEMA ops; CREATE FUNCTION ops.f(i int, j int) RETURNS boolean LANGUAGE sql AS $$SELECT i OPERATOR(pg_catalog.<>) j$$;'
                               'CREATE OPERATOR ops.= (LEFTARG = int, RIGHTARG = int, FUNCTION = ops.f);',
                               around('1: SET search_path = ops, pg_catalog, public', '1: SELECT v FROM a WHERE id = 1', '1: UPDATE a SET v = 5 WHERE id = 1', '1: RESET search_path')),
    'cast': (A + 'CREATE TYPE colour AS ENUM (\'red\'); CREATE FUNCTION to_int(c colour) RETURNS int LANGUAGE plpgsql AS $$BEGIN UPDATE a SET v = v + 1 WHERE id = 1; RETURN 1; END$$;'
             'CREATE CAST (colour AS int) WITH FUNCTION to_int(colour) AS IMPLICIT;', around("SELECT 'red'::colour::int", "SELECT CAST('red'::colour AS int)")),
    'aggregate': (A + 'CREATE FUNCTION f(s int, x int) RETURNS int LANGUAGE plpgsql AS $$BEGIN UPDATE a SET v = v + 1 WHERE id = 1; RETURN x; END$$;'
                  'CREATE AGGREGATE last(int) (SFUNC = f, STYPE = int);', around('SELECT last(1)', 'SELECT last(n) FROM (VALUES (1)) AS x(n)')),
    'cursor': (A + BUMP, around('1: BEGIN', '1: DECLARE c CURSOR FOR SELECT bump(1)', '1: FETCH ALL FROM c', '1: COMMIT')),
    'domain': (A + BUMP + 'CREATE DOMAIN d AS int CHECK (bump(1) = 1);', around('SELECT 1::d')),
    'default': (A + BUMP + 'CREATE TABLE c (id int PRIMARY KEY, w int DEFAULT bump(1));', around('INSERT INTO c (id) VALUES (1)', 'INSERT INTO c VALUES (2, DEFAULT)')),
    'check': (A + BUMP + 'CREATE TABLE c (id int PRIMARY KEY, w int CHECK (bump(1) = 1));', around('INSERT INTO c VALUES (1, 1)', 'UPDATE c SET w = 5 WHERE id = 1')),
    'generated': (A + 'CREATE FUNCTION g(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN UPDATE a SET v = v + 1 WHERE id = 1; RETURN i; END$$;'
                  'CREATE TABLE c (id int PRIMARY KEY, w int, g int GENERATED ALWAYS AS (g(w)) STORED);', around('INSERT INTO c (id, w) VALUES (1, 1)', 'UPDATE c SET w = 3 WHERE id = 1')),
    'view with a function': (A + BUMP + 'CREATE VIEW w AS SELECT bump(1) AS x;', around('SELECT x FROM w', 'SELECT count(*) FROM w', 'SELECT relname, x FROM pg_class, w LIMIT 1')),
    'hidden function': (A + "CREATE FUNCTION h() RETURNS int LANGUAGE plpgsql AS $$BEGIN EXECUTE 'UPDATE a SET v = v + 1 WHERE id = 1'; RETURN 1; END$$; CREATE VIEW w AS SELECT h() AS x; CREATE TABLE f (id int, x float8, w int DEFAULT h());",
                        around('SELECT x FROM w', 'TABLE w', 'INSERT INTO f VALUES (1, 1)', 'SELECT x FROM f, w', 'WITH z AS (TABLE w) SELECT 1 FROM z')),
    'view with rules': (A + 'CREATE VIEW w AS SELECT id, v FROM a; CREATE RULE r AS ON UPDATE TO w DO INSTEAD UPDATE a SET v = new.v + 1 WHERE id = old.id;', around('UPDATE w SET v = 5 WHERE id = 1')),
    'view with instead': (A + 'CREATE VIEW w AS SELECT id, v FROM a; CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN UPDATE a SET v = 3 WHERE id = 1; RETURN NEW; END$$;'
                          'CREATE TRIGGER t INSTEAD OF UPDATE ON w FOR EACH ROW EXECUTE FUNCTION f();', around('UPDATE w SET v = 5 WHERE id = 1')),
    'rule on select': (A, around('CREATE TABLE c (id int, v int)', 'CREATE RULE "_RETURN" AS ON SELECT TO c DO INSTEAD SELECT id, v FROM a', 'UPDATE c SET v = 3 WHERE id = 1')),
    'rule nothing': (A + 'CREATE RULE r AS ON UPDATE TO a DO INSTEAD NOTHING;', around('UPDATE a SET v = 5 WHERE id = 2')),
    'rule made later': (A + B, around("CREATE RULE r AS ON UPDATE TO b DO ALSO UPDATE a SET v = 55 WHERE id = 1", 'UPDATE b SET n = 9 WHERE id = 1')),
    'trigger made later': (A + B + 'CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN UPDATE a SET v = 56 WHERE id = 1; RETURN NEW; END$$;',
                           around('CREATE TRIGGER t AFTER UPDATE ON b FOR EACH ROW EXECUTE FUNCTION f()', 'UPDATE b SET n = 9 WHERE id = 1')),
    'event trigger': (A + 'CREATE FUNCTION e() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN UPDATE public.a SET v = v + 1 WHERE id = 1; END$$;'
                      'CREATE EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION e();', around('CREATE TABLE made (id int)', 'CREATE TEMP TABLE m2 (id int)', 'COMMENT ON TABLE a IS \'x\'', 'CREATE SEQUENCE sq')),
    'deferred trigger': (A + B + 'CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN UPDATE a SET v = 57 WHERE id = 1; RETURN NEW; END$$;'
                         'CREATE CONSTRAINT TRIGGER t AFTER UPDATE ON b INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION f();',
                         around('1: BEGIN', '1: UPDATE b SET n = 9 WHERE id = 1', '1: SELECT v FROM a WHERE id = 1', '1: COMMIT')),
    'cascade': (A + 'CREATE TABLE c (id int PRIMARY KEY REFERENCES a ON DELETE CASCADE, w int); INSERT INTO c VALUES (1, 1), (2, 2);',
                around('SELECT w FROM c WHERE id = 1', 'DELETE FROM a WHERE id = 1', 'SELECT w FROM c WHERE id = 1', 'TRUNCATE a CASCADE', 'SELECT w FROM c WHERE id = 2')),
    'set null': (A + 'CREATE TABLE c (id int PRIMARY KEY, w int REFERENCES a ON DELETE SET NULL ON UPDATE CASCADE); INSERT INTO c VALUES (1, 1), (2, 2);',
                 around('UPDATE a SET id = 9 WHERE id = 2', 'SELECT w FROM c WHERE id = 2', 'DELETE FROM a WHERE id = 1', 'SELECT w FROM c WHERE id = 1')),
    'cascade made later': (A + 'CREATE TABLE c (id int PRIMARY KEY, w int); INSERT INTO c VALUES (1, 1), (2, 2);',
                           around('ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES a ON DELETE CASCADE', 'SELECT w FROM c WHERE id = 1', 'DELETE FROM a WHERE id = 1', 'SELECT w FROM c WHERE id = 1')),
    'row security': (A + "DO $$BEGIN CREATE ROLE reader_rls; EXCEPTION WHEN duplicate_object THEN NULL; END$$; ALTER TABLE a ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON a USING (id > 1); GRANT ALL ON a TO reader_rls;",
                     around('1: SET ROLE reader_rls', '1: SELECT v FROM a WHERE id = 1', '1: SELECT id, v FROM a', '1: UPDATE a SET v = 3 WHERE id = 1', '1: DELETE FROM a WHERE id = 1', '1: RESET ROLE')),
    'row security later': (A + "DO $$BEGIN CREATE ROLE reader_rls; EXCEPTION WHEN duplicate_object THEN NULL; END$$; GRANT ALL ON a TO reader_rls;",
                           around('1: ALTER TABLE a ENABLE ROW LEVEL SECURITY', '1: CREATE POLICY p ON a USING (id > 1)', '1: SET ROLE reader_rls', '1: SELECT v FROM a WHERE id = 1', '1: RESET ROLE')),
    'schema of the user': (A + 'CREATE SCHEMA postgres; CREATE TABLE postgres.a (id int PRIMARY KEY, v int); INSERT INTO postgres.a VALUES (1, -1);',
                           around('UPDATE public.a SET v = 6 WHERE id = 1', 'SELECT v FROM public.a WHERE id = 1', 'UPDATE postgres.a SET v = 8 WHERE id = 1')),
    'schema made later': (A, around('CREATE SCHEMA postgres', 'CREATE TABLE postgres.a (id int PRIMARY KEY, v int)', 'INSERT INTO postgres.a VALUES (1, -5)', 'SELECT v FROM public.a WHERE id = 1')),
    'schema of a role': (A + "DO $$BEGIN CREATE ROLE roly SUPERUSER; EXCEPTION WHEN duplicate_object THEN NULL; END$$; CREATE SCHEMA roly; CREATE TABLE roly.a (id int PRIMARY KEY, v int); INSERT INTO roly.a VALUES (1, -1);",
                         around('1: SET ROLE roly', '1: SELECT v FROM a WHERE id = 1', '1: UPDATE a SET v = 44 WHERE id = 1', '1: RESET ROLE', '1: SET SESSION AUTHORIZATION roly', '1: SELECT v FROM a WHERE id = 1', '1: UPDATE a SET v = 45 WHERE id = 1', '1: RESET SESSION AUTHORIZATION')),
    'path of the database': (A + 'CREATE SCHEMA o; CREATE TABLE o.a (id int PRIMARY KEY, v int); INSERT INTO o.a VALUES (1, -1), (2, -2); ALTER DATABASE app SET search_path = o, public;',
                             around('UPDATE public.a SET v = 6 WHERE id = 1', 'SELECT v FROM public.a WHERE id = 1')),
    'path by a table': (A + 'CREATE SCHEMA o; CREATE TABLE o.a (id int PRIMARY KEY, v int); INSERT INTO o.a VALUES (1, -1), (2, -2);',
                        around("1: UPDATE pg_settings SET setting = 'o, public' WHERE name = 'search_path'", '1: SELECT v FROM a WHERE id = 1', '1: UPDATE a SET v = 9 WHERE id = 1', '1: SELECT v FROM a WHERE id = 1')),
    'path by SCHEMA': (A + 'CREATE SCHEMA o; CREATE TABLE o.a (id int PRIMARY KEY, v int); INSERT INTO o.a VALUES (1, -1), (2, -2);',
                       around("1: SET SCHEMA 'o'", '1: SELECT v FROM a WHERE id = 1', '1: UPDATE a SET v = 9 WHERE id = 1', '1: SELECT v FROM a WHERE id = 1', '1: DISCARD ALL')),
    'path by a function': (A + "CREATE SCHEMA o; CREATE TABLE o.a (id int PRIMARY KEY, v int); INSERT INTO o.a VALUES (1, -1), (2, -2); CREATE FUNCTION go() RETURNS void LANGUAGE sql AS $$SELECT set_config('search_path', 'o', false)$$;",
                           around('1: SELECT go()', '1: SELECT v FROM a WHERE id = 1', '1: UPDATE a SET v = 9 WHERE id = 1', '1: SELECT v FROM a WHERE id = 1')),
    'temporary': (A, around('1: CREATE TEMP TABLE a (id int PRIMARY KEY, v int)', '1: INSERT INTO a VALUES (1, -3)', '1: SELECT v FROM a WHERE id = 1', '1: UPDATE a SET v = 4 WHERE id = 1', '1: DROP TABLE a')),
    'temporary copy': (A, around('1: CREATE TEMP TABLE a AS SELECT id, -v AS v FROM public.a', '1: SELECT v FROM a WHERE id = 1', '1: DROP TABLE a')),
    'temporary by select': (A, around('1: SELECT id, -v AS v INTO TEMP a FROM public.a', '1: SELECT v FROM a WHERE id = 1', '1: UPDATE a SET v = 3 WHERE id = 1', '1: DROP TABLE a')),
    'temporary view': (A, around('1: CREATE TEMP VIEW a AS SELECT id, -v AS v FROM public.a', '1: SELECT v FROM a WHERE id = 1', '1: UPDATE public.a SET v = 3 WHERE id = 1', '1: SELECT v FROM a WHERE id = 1')),
    'temporary by a function': (A + 'CREATE FUNCTION mk() RETURNS void LANGUAGE sql AS $$CREATE TEMP TABLE a (id int PRIMARY KEY, v int)$$;', around('1: SELECT mk()', '1: INSERT INTO a VALUES (1, -3)', '1: SELECT v FROM a WHERE id = 1')),
    'renamed': (A + 'CREATE TABLE c (id int PRIMARY KEY, v int); INSERT INTO c VALUES (1, -1);', around('ALTER TABLE a RENAME TO z', 'ALTER TABLE c RENAME TO a', 'SELECT v FROM a WHERE id = 1')),
    'renamed column': ('CREATE TABLE a (id int PRIMARY KEY, v int, w int); INSERT INTO a VALUES (1, 10, 100);', around('ALTER TABLE a RENAME v TO x', 'ALTER TABLE a RENAME w TO v', 'SELECT v FROM a WHERE id = 1')),
    'altered': (A, around('ALTER TABLE a ALTER v TYPE int USING v + 1', 'ALTER TABLE a ADD w int DEFAULT 5', 'SELECT w FROM a WHERE id = 1', 'ALTER TABLE a DROP v', 'ALTER TABLE a ADD v int DEFAULT 3')),
    'partitioned': ('CREATE TABLE a (id int PRIMARY KEY, v int) PARTITION BY HASH (id); CREATE TABLE a0 PARTITION OF a FOR VALUES WITH (MODULUS 2, REMAINDER 0); CREATE TABLE a1 PARTITION OF a FOR VALUES WITH (MODULUS 2, REMAINDER 1); INSERT INTO a VALUES (1, 10), (2, 20);',
                    around('UPDATE a0 SET v = 3', 'UPDATE a1 SET v = 4', 'TRUNCATE a0')),
    'attached later': (A + 'CREATE TABLE p (id int PRIMARY KEY, v int) PARTITION BY LIST (id); CREATE TABLE p1 (id int PRIMARY KEY, v int); INSERT INTO p1 VALUES (1, 5);',
                       ['SELECT v FROM p1 WHERE id = 1', 'SELECT v FROM p WHERE id = 1', 'ALTER TABLE p ATTACH PARTITION p1 FOR VALUES IN (1)', 'SELECT v FROM p WHERE id = 1', 'UPDATE p SET v = 6 WHERE id = 1', 'SELECT v FROM p1 WHERE id = 1', 'SELECT v FROM p1 WHERE id = 1', *LOOK]),
    'inherited later': (A + 'CREATE TABLE c () INHERITS (a);', around('INSERT INTO c VALUES (1, 99)', 'UPDATE c SET v = 98', 'CREATE TABLE c2 () INHERITS (a)', 'INSERT INTO c2 VALUES (2, 97)')),
    'inherited made later': (A, around('CREATE TABLE c () INHERITS (a)', 'INSERT INTO c VALUES (1, 99)', 'UPDATE a SET v = 5 WHERE id = 1')),
    'merge': (A, around('MERGE INTO a USING (VALUES (1, 71)) AS s(id, v) ON a.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v', 'MERGE INTO a USING (VALUES (1)) AS s(id) ON a.id = s.id WHEN MATCHED THEN DELETE')),
    'do': (A, around('DO $$BEGIN UPDATE a SET v = 72 WHERE id = 1; END$$', "DO $$BEGIN EXECUTE 'UP' || 'DATE a SET v = 73 WHERE id = 1'; END$$")),
    'procedure that commits': (A + 'CREATE PROCEDURE p() LANGUAGE plpgsql AS $$BEGIN UPDATE a SET v = 74 WHERE id = 1; COMMIT; UPDATE a SET v = 75 WHERE id = 1; ROLLBACK; END$$;', around('CALL p()', 'DO $$BEGIN CALL p(); END$$')),
    'prepared': (A, around('1: PREPARE s AS UPDATE a SET v = $1 WHERE id = $2', '1: EXECUTE s(81, 1)', '1: EXPLAIN ANALYZE EXECUTE s(82, 1)', '1: CREATE TABLE x AS EXECUTE s(83, 1)', '1: DEALLOCATE s')),
    'prepared select': (A + BUMP, around('1: PREPARE s AS SELECT bump(1)', '1: EXECUTE s', '1: CREATE TEMP TABLE y AS EXECUTE s')),
    'two phases': (A, around('1: BEGIN', '1: UPDATE a SET v = 85 WHERE id = 1', "1: PREPARE TRANSACTION 'x'", "2: COMMIT PREPARED 'x'", look=['SELECT v FROM a WHERE id = 2'])),
    'several': (A, around('UPDATE a SET v = 86 WHERE id = 1; UPDATE a SET v = 87 WHERE id = 1', 'UPDATE a SET v = 88 WHERE id = 1; SELECT 1/0', 'BEGIN; UPDATE a SET v = 89 WHERE id = 1; COMMIT; UPDATE a SET v = 90 WHERE id = 1',
                          'UPDATE a SET v = 91 WHERE id = 1; ROLLBACK; UPDATE a SET v = 92 WHERE id = 1', 'UPDATE a SET v = 93 WHERE id = 1; COMMIT; SELECT 1/0', 'BEGIN; UPDATE a SET v = 94 WHERE id = 1; ROLLBACK AND CHAIN; UPDATE a SET v = 95 WHERE id = 1; COMMIT',
                          'UPDATE a SET v = 96 WHERE id = 1; BEGIN; UPDATE a SET v = 97 WHERE id = 1; ROLLBACK', 'SAVEPOINT x', 'UPDATE a SET v = 98 WHERE id = 1; SAVEPOINT x; UPDATE a SET v = 99 WHERE id = 1; ROLLBACK TO x')),
    'numeric keys': ('CREATE TABLE a (id numeric PRIMARY KEY, v int); INSERT INTO a VALUES (1.0, 10), (2, 20);',
                     around('UPDATE a SET v = 5 WHERE id = 1.00', 'SELECT v FROM a WHERE id = 1.000', 'SELECT v FROM a WHERE id = 2.0', 'UPDATE a SET v = 6 WHERE id IN (1.0000, 2.00)', 'SELECT v FROM a WHERE id = 1e0', 'SELECT v FROM a WHERE id = 2.00')),
    'padded keys': ("CREATE TABLE a (id char(4) PRIMARY KEY, v int); INSERT INTO a VALUES ('1', 10), ('2', 20);",
                    [s.replace('id = 1', "id = '1'").replace('id = 2', "id = '2'") for s in around("UPDATE a SET v = 5 WHERE id = '1   '", "SELECT v FROM a WHERE id = '1 '", "SELECT v FROM a WHERE id = '1 '::text", "SELECT v FROM a WHERE id = '1'::varchar(3)")]),
    'keys without case': ("CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false); CREATE TABLE a (id text COLLATE ci PRIMARY KEY, v int); INSERT INTO a VALUES ('x', 10), ('y', 20);",
                          ["SELECT v FROM a WHERE id = 'X'", "UPDATE a SET v = 3 WHERE id = 'X'", "SELECT v FROM a WHERE id = 'x'", 'SELECT id, v FROM a', "UPDATE a SET v = 4 WHERE id = 'x'", "SELECT v FROM a WHERE id = 'X'"]),
    'collation asked': ("CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false); CREATE TABLE a (id text PRIMARY KEY, v int); INSERT INTO a VALUES ('x', 10), ('y', 20);",
                        ["UPDATE a SET v = 3 WHERE id = 'X' COLLATE ci", "SELECT v FROM a WHERE id = 'x'", "SELECT v FROM a WHERE id COLLATE ci = 'X'", "SELECT v FROM a WHERE id = 'X'"]),
    'times': ("CREATE TABLE a (id int PRIMARY KEY, v timestamptz, d date); INSERT INTO a VALUES (1, '2020-01-01 12:00+00', '2020-03-04');",
              ['1: SET timezone = \'Asia/Tokyo\'', "1: UPDATE a SET v = '2021-01-01 12:00' WHERE id = 1", '1: SELECT v FROM a WHERE id = 1', '2: SELECT v FROM a WHERE id = 1', "1: SET datestyle = 'SQL, DMY'", "1: UPDATE a SET d = '05/06/2021', v = '05/06/2021 10:00' WHERE id = 1",
               '1: SELECT v, d FROM a WHERE id = 1', '2: SELECT v, d FROM a WHERE id = 1', "1: SET datestyle = 'ISO, DMY'", "1: UPDATE a SET d = '07/08/2021' WHERE id = 1", '1: SELECT v, d FROM a WHERE id = 1', '2: SELECT v, d FROM a WHERE id = 1']),
    'moments': ("CREATE TABLE a (id int PRIMARY KEY, v timestamp, d date); INSERT INTO a VALUES (1, '2020-01-01 12:00', '2020-03-04');",
                ["UPDATE a SET v = 'now', d = 'today' WHERE id = 1", 'SELECT v, d FROM a WHERE id = 1', "UPDATE a SET v = 'infinity', d = 'tomorrow' WHERE id = 1", 'SELECT v, d FROM a WHERE id = 1', "UPDATE a SET d = 'epoch' WHERE id = 1", 'SELECT v, d FROM a WHERE id = 1']),
    'bytes': ("CREATE TABLE a (id int PRIMARY KEY, v bytea); INSERT INTO a VALUES (1, 'ab');", ["1: SET bytea_output = 'escape'", "1: UPDATE a SET v = '\\x4142' WHERE id = 1", '1: SELECT v FROM a WHERE id = 1', '2: SELECT v FROM a WHERE id = 1', "UPDATE a SET v = 'zz' WHERE id = 1", '1: SELECT v FROM a WHERE id = 1', '2: SELECT v FROM a WHERE id = 1']),
    'strings': ("CREATE TABLE a (id int PRIMARY KEY, v text); INSERT INTO a VALUES (1, 'ab');", ["1: SET standard_conforming_strings = off", "1: UPDATE a SET v = 'a\\nb' WHERE id = 1", '1: SELECT v FROM a WHERE id = 1', '2: SELECT v FROM a WHERE id = 1', "1: UPDATE a SET v = 'it\\'s' WHERE id = 1", '2: SELECT v FROM a WHERE id = 1',
                                                                                            "2: UPDATE a SET v = E'a\\tb' WHERE id = 1", '2: SELECT v FROM a WHERE id = 1', "2: UPDATE a SET v = U&'d\\0061t' WHERE id = 1", '2: SELECT v FROM a WHERE id = 1', "2: SET client_encoding = 'LATIN1'", "2: SELECT v FROM a WHERE id = 1", "1: UPDATE a SET v = 'é' WHERE id = 1", '2: SELECT v FROM a WHERE id = 1', '1: SELECT v FROM a WHERE id = 1']),
    'lengths': ("CREATE TABLE a (id int PRIMARY KEY, v varchar(3), w bit(4), x char(3)); INSERT INTO a VALUES (1, 'ab', '1111', 'a');", ["UPDATE a SET v = 'abc    ' WHERE id = 1", 'SELECT v FROM a WHERE id = 1', "UPDATE a SET v = 'abcdef'::varchar(3), x = 'abcdef'::char(3) WHERE id = 1", 'SELECT v, x FROM a WHERE id = 1', "UPDATE a SET w = '1'::bit(4) WHERE id = 1", 'SELECT v, w FROM a WHERE id = 1']),
    'numbers': ("CREATE TABLE a (id int PRIMARY KEY, v numeric(6,2), w smallint, x real, y money); INSERT INTO a VALUES (1, 1, 1, 1, 1);", ['UPDATE a SET v = 1.005, w = 2.5, x = 0.1, y = 12.345 WHERE id = 1', 'SELECT v, w, x, y FROM a WHERE id = 1', "UPDATE a SET v = '1e2', w = '0003', x = 1e10 WHERE id = 1", 'SELECT v, w, x FROM a WHERE id = 1', '1: SET extra_float_digits = -3', '1: SELECT v, x FROM a WHERE id = 1', "UPDATE a SET v = 'NaN', w = 3.5::float8 WHERE id = 1", 'SELECT v, w FROM a WHERE id = 1']),
    'json': ("CREATE TABLE a (id int PRIMARY KEY, v jsonb, w json); INSERT INTO a VALUES (1, '{}', '{}');", ["UPDATE a SET v = '{\"b\": 1, \"a\":2, \"a\":3}', w = '{\"b\":  1}' WHERE id = 1", 'SELECT v, w FROM a WHERE id = 1', "UPDATE a SET v = '1.00' WHERE id = 1", 'SELECT v, w FROM a WHERE id = 1']),
    'own names': (A, around('WITH a AS (SELECT 1 AS id, 99 AS v) SELECT v FROM a WHERE id = 1', 'SELECT v FROM (SELECT 1 AS id, 98 AS v) AS a WHERE id = 1', 'SELECT a.v FROM (VALUES (1, 97)) AS a(id, v) WHERE a.id = 1', 'SELECT v FROM a AS x(v, id) WHERE id = 1', 'SELECT x.id AS v FROM a AS x(v, id) WHERE v = 1',
                            'WITH RECURSIVE a AS (SELECT 1 AS id, 96 AS v UNION SELECT id, v FROM a) SELECT v FROM a WHERE id = 1')),
    'quoted names': ('CREATE TABLE a (id int PRIMARY KEY, v int); CREATE TABLE "A" (id int PRIMARY KEY, v int); INSERT INTO a VALUES (1, 10), (2, 20); INSERT INTO "A" VALUES (1, -10), (2, -20);', around('UPDATE "A" SET v = 5 WHERE id = 1', 'SELECT v FROM "A" WHERE id = 1', 'SELECT "V" FROM A WHERE id = 1', 'UPDATE A SET "v" = 6 WHERE "id" = 1', 'SELECT v FROM U&"\\0061" WHERE id = 1', 'UPDATE U&"\\0041" SET v = 7 WHERE id = 1')),
    'same rows': ('CREATE TABLE a (id int PRIMARY KEY, u int UNIQUE, v int); INSERT INTO a VALUES (1, 11, 10), (2, 22, 20);', around('UPDATE a SET v = 5 WHERE u = 11', 'SELECT v FROM a WHERE u = 11', 'INSERT INTO a VALUES (5, 11, 3) ON CONFLICT (u) DO UPDATE SET v = 77', 'INSERT INTO a VALUES (1, 55, 4) ON CONFLICT DO NOTHING', 'UPDATE a SET u = 33 WHERE id = 1', 'SELECT v FROM a WHERE u = 11', 'UPDATE a SET v = 8 WHERE u = 33')),
    'deleted and back': (A, around('DELETE FROM a WHERE id = 1', 'INSERT INTO a VALUES (1, 66)', 'WITH d AS (DELETE FROM a WHERE id = 1 RETURNING id) INSERT INTO a SELECT id, 67 FROM d', 'TRUNCATE a', 'INSERT INTO a VALUES (1, 68)', look=LOOK)),
    'savepoints': (A, around('1: BEGIN', '1: SAVEPOINT s', '1: UPDATE a SET v = 1 WHERE id = 1', '1: ROLLBACK TO s', '1: SELECT v FROM a WHERE id = 1', '1: UPDATE a SET v = 2 WHERE id = 1', '1: SELECT 1/0', '1: ROLLBACK TO s', '1: SELECT v FROM a WHERE id = 1', '1: COMMIT', look=['1: SELECT v FROM a WHERE id = 1', '1: SELECT id, v FROM a'])),
    'locks and limits': (A, around('SELECT v FROM a WHERE id = 1 FETCH FIRST 0 ROWS ONLY', 'SELECT v FROM a WHERE id = 1 OFFSET 5', 'SELECT v FROM a WHERE id = 1 AND v = -1', 'SELECT v FROM a WHERE id = 1 HAVING false', 'SELECT v FROM a WHERE id = 1 EXCEPT SELECT v FROM a', 'SELECT v FROM a TABLESAMPLE SYSTEM (0) WHERE id = 1', 'SELECT DISTINCT v FROM a WHERE id = 1', 'SELECT v FROM a NATURAL JOIN (SELECT 1 AS x WHERE false) y WHERE id = 1', 'SELECT v FROM a, generate_series(1, 0) WHERE id = 1', 'SELECT unnest(ARRAY[]::int[]), v FROM a WHERE id = 1')),
}


MA = A.replace('v int)', 'v int) ENGINE=InnoDB')
MB = B.replace('n int)', 'n int) ENGINE=InnoDB')
MBUMP = '\nDELIMITER //\nCREATE FUNCTION bump(i int) RETURNS int MODIFIES SQL DATA BEGIN UPDATE a SET v = v + 1 WHERE id = i; RETURN i; END//\nDELIMITER ;\n'
MY = {
    'a function': (MA + MB + MBUMP, around('SELECT bump(1)', 'SELECT bump(1), @@autocommit', 'SELECT version(), bump(1)', 'SELECT `bump`(1)', 'SELECT bump(1) FROM information_schema.tables LIMIT 1', 'UPDATE b SET n = bump(1) WHERE id = 1', 'DO bump(1)', 'SET @x = bump(1)',
                                           'SELECT n FROM b WHERE id = bump(1)', 'SELECT database() FROM b WHERE n = bump(1)', 'SHOW TABLES WHERE bump(1) = 1', 'INSERT INTO `b` (`id`, `n`) VALUES (9, `bump`(1))')),
    'quoted names': (MA, around('UPDATE `a` SET `v` = 7 WHERE `id` = 2', 'SELECT `a`.`v` FROM `a` WHERE `a`.`id` = 2', 'INSERT INTO `a` (`id`, `v`) VALUES (7, 7)', 'SELECT`v`FROM`a`WHERE`id`=7', 'SELECT @@autocommit, VERSION()', 'SELECT DATABASE()')),
    'backticks': (MA + 'CREATE TABLE b (id int PRIMARY KEY, `user` int, `date` int) ENGINE=InnoDB; INSERT INTO b VALUES (1, 5, 5), (2, 6, 6);',
                  around('UPDATE `a` SET `v` = 5 WHERE `id` = 1', 'SELECT `user` FROM `b` WHERE `id` = 1', 'UPDATE `b` SET `user` = `user` + 1', 'SELECT `user` FROM `b` WHERE `id` = 1', "SELECT `date` '2020-01-01' FROM `b`", 'SELECT`v`FROM`a`WHERE`id`=1',
                         "UPDATE a SET v = 3 WHERE '`' = '`' AND `id` = 1", 'SELECT `v` AS `id` FROM `a` WHERE `id` = 1', '/* ` */ UPDATE `a` SET `v` = 9 WHERE `id` = 1', 'INSERT INTO `a`(`id`,`v`) VALUES (7, 7)', 'SELECT `V` FROM `a` WHERE `Id` = 7',
                         'UPDATE `a` SET `a`.`v` = `a`.`v` + 1 WHERE `a`.`id` IN (1, 2)', "UPDATE a SET v = 4 WHERE id = 1 AND 'it\\'s `x`' <> '`'")),
    'plain': (MA, around('UPDATE a SET v = 7 WHERE id = 2', '1: BEGIN', '1: UPDATE a SET v = 8 WHERE id = 1', '1: ROLLBACK')),
    'without transactions': (A.replace('v int)', 'v int) ENGINE=MyISAM'), around('1: BEGIN', '1: UPDATE a SET v = 8 WHERE id = 1', '1: ROLLBACK', '1: SELECT v FROM a WHERE id = 1')),
    'in memory': (A.replace('v int)', 'v int) ENGINE=MEMORY') + MB, around('1: BEGIN', '1: UPDATE a SET v = 8 WHERE id = 1', '1: UPDATE b SET n = 8 WHERE id = 1', '1: ROLLBACK', '1: SELECT v FROM a WHERE id = 1', '1: SELECT n FROM b WHERE id = 1')),
    'engine changed': (MA, around('ALTER TABLE a ENGINE=Aria', '1: BEGIN', '1: UPDATE a SET v = 8 WHERE id = 1', '1: ROLLBACK', '1: SELECT v FROM a WHERE id = 1')),
    'few rows': (MA, around('1: SET sql_select_limit = 0', '1: SELECT v FROM a WHERE id = 1', '1: SELECT id, v FROM a', '1: SET sql_select_limit = DEFAULT')),
    'few rows by a variable': (MA, around('1: SET SESSION sql_select_limit = 0', '1: SELECT v FROM a WHERE id = 1', '1: SET @@session.sql_select_limit = 100')),
    'replace': (MA, around('REPLACE INTO a VALUES (1, 61)', 'REPLACE a SET id = 1, v = 62', 'INSERT INTO a VALUES (1, 63) ON DUPLICATE KEY UPDATE v = VALUES(v)', 'INSERT INTO a VALUES (1, 64) ON DUPLICATE KEY UPDATE v = v + 1', 'INSERT IGNORE INTO a VALUES (1, 65)', 'REPLACE INTO a SELECT id, v + 1 FROM a WHERE id = 1', 'INSERT INTO a SET id = 1, v = 3 ON DUPLICATE KEY UPDATE id = 9')),
    'two tables': (MA + MB, around('UPDATE a JOIN b ON a.id = b.id SET a.v = 71, b.n = 72', 'UPDATE b, a SET a.v = 73 WHERE b.id = 1 AND a.id = 1', 'DELETE a FROM a JOIN b ON a.id = b.id WHERE b.id = 2', 'DELETE FROM a USING a, b WHERE a.id = 1 AND b.id = 1')),
    'order and limit': (MA, around('UPDATE a SET v = 74 ORDER BY id LIMIT 1', 'DELETE FROM a ORDER BY id DESC LIMIT 1', 'UPDATE a SET v = 75 WHERE id = 1 LIMIT 1', 'UPDATE a SET v = 76 WHERE id = 1 LIMIT 0')),
    'executed comments': (MA, around('UPDATE a SET v = 77 /*! + 1 */ WHERE id = 1', 'SELECT 1 /*M! FROM a */', 'UPDATE a SET v = 5--3 WHERE id = 1', 'UPDATE a SET v = 78 WHERE id = /*!1*/2', '/*! UPDATE a SET v = 79 WHERE id = 1 */', 'SELECT 1 # ; UPDATE a SET v = 1')),
    'texts': ("CREATE TABLE a (id int PRIMARY KEY, v varchar(5)) ENGINE=InnoDB; INSERT INTO a VALUES (1, 'x'), (2, 'y');", around("UPDATE a SET v = 'a\\tb' WHERE id = 1", 'UPDATE a SET v = "q" WHERE id = 1', "UPDATE a SET v = 'a' 'b' WHERE id = 1", "UPDATE a SET v = 'ab ' WHERE id = 1", "UPDATE a SET v = x'4142' WHERE id = 1", "UPDATE a SET v = _latin1'\\xe9' WHERE id = 1", "UPDATE a SET v = N'n' WHERE id = 1", "UPDATE a SET v = 'a' || 'b' WHERE id = 1", "UPDATE a SET v = 12 WHERE id = 1", "UPDATE a SET v = 1.50 WHERE id = 1", "UPDATE a SET v = TRUE WHERE id = 1", "1: SET sql_mode = ''", "1: UPDATE a SET v = 'abcdefgh' WHERE id = 1", "1: UPDATE a SET v = DATE '2020-01-01' WHERE id = 1", "1: SET NAMES latin1", "1: UPDATE a SET v = 'é' WHERE id = 1", '1: SELECT v FROM a WHERE id = 1', '1: SET NAMES utf8mb4')),
    'numbers': ('CREATE TABLE a (id int PRIMARY KEY, v tinyint unsigned, w decimal(4,1), y year, b bit(4)) ENGINE=InnoDB; INSERT INTO a VALUES (1, 1, 1, 2000, 1), (2, 2, 2, 2000, 1);',
                ["1: SET sql_mode = ''", '1: UPDATE a SET v = 999, w = 99999, y = 70 WHERE id = 1', '1: SELECT v, w, y FROM a WHERE id = 1', '2: SELECT v, w, y FROM a WHERE id = 1', '2: UPDATE a SET v = 2.5, w = 0.05 WHERE id = 1', '1: SELECT v, w FROM a WHERE id = 1', "UPDATE a SET v = '7' WHERE id = '1'", 'SELECT v, w FROM a WHERE id = 1', 'UPDATE a SET v = 1 WHERE id = 1.0', 'SELECT v, w FROM a WHERE id = 1', "1: UPDATE a SET v = '5x' WHERE id = '1x'", 'SELECT v FROM a WHERE id = 1']),
    'decimal keys': ('CREATE TABLE a (id decimal(8,2) PRIMARY KEY, v int) ENGINE=InnoDB; INSERT INTO a VALUES (1, 10), (2, 20);', around('UPDATE a SET v = 5 WHERE id = 1.0', 'UPDATE a SET v = 6 WHERE id = 1.000', "UPDATE a SET v = 7 WHERE id = '1'", 'SELECT v FROM a WHERE id = 1.00', 'SELECT v FROM a WHERE id = 1.001', 'UPDATE a SET v = 9 WHERE id = 1.001')),
    'text keys': ("CREATE TABLE a (id varchar(9) CHARSET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY, v int) ENGINE=InnoDB; INSERT INTO a VALUES ('1', 10), ('2', 20);", around("UPDATE a SET v = 5 WHERE id = '1 '", "SELECT v FROM a WHERE id = '1  '", 'UPDATE a SET v = 6 WHERE id = 1', "SELECT v FROM a WHERE id = '1'", 'SELECT v FROM a WHERE id = 1.0')),
    'trigger': (MA + MB + 'CREATE TRIGGER t AFTER UPDATE ON b FOR EACH ROW UPDATE a SET v = 55 WHERE id = 1;', around('UPDATE b SET n = 9 WHERE id = 1', 'UPDATE b SET n = 10 WHERE id = 1')),
    'trigger made later': (MA + MB, around('CREATE TRIGGER t AFTER UPDATE ON b FOR EACH ROW UPDATE a SET v = 55 WHERE id = 1', 'UPDATE b SET n = 9 WHERE id = 1')),
    'view': (MA + 'CREATE VIEW w AS SELECT id, v FROM a; CREATE VIEW w2 AS SELECT id AS v, v AS id FROM a;', around('UPDATE w SET v = 5 WHERE id = 1', 'UPDATE w2 SET id = 6 WHERE v = 1', 'DELETE FROM w WHERE id = 1', 'INSERT INTO w VALUES (1, 7)')),
    'cascade': (MA + 'CREATE TABLE c (id int PRIMARY KEY, w int, FOREIGN KEY (id) REFERENCES a (id) ON DELETE CASCADE) ENGINE=InnoDB; INSERT INTO c VALUES (1, 1), (2, 2);', around('SELECT w FROM c WHERE id = 1', 'DELETE FROM a WHERE id = 1', 'SELECT w FROM c WHERE id = 1')),
    'no keys checked': (MA + 'CREATE TABLE c (id int PRIMARY KEY, w int, FOREIGN KEY (id) REFERENCES a (id)) ENGINE=InnoDB; INSERT INTO c VALUES (1, 1), (2, 2);', around('1: SET foreign_key_checks = 0', '1: DELETE FROM a WHERE id = 1', '1: INSERT INTO c VALUES (99, 1)', '1: INSERT INTO a VALUES (1, 5)', '1: SET foreign_key_checks = 1')),
    'generated': ('CREATE TABLE a (id int PRIMARY KEY, v int, g int AS (v + 1) PERSISTENT, h int AS (v + 2) VIRTUAL, s int DEFAULT (id + 5)) ENGINE=InnoDB; INSERT INTO a (id, v) VALUES (1, 10), (2, 20);', around('SELECT g, h FROM a WHERE id = 1', 'UPDATE a SET v = 3 WHERE id = 1', 'SELECT g, h, s FROM a WHERE id = 1', 'INSERT INTO a (id, v) VALUES (7, 1)', 'SELECT g, h, s FROM a WHERE id = 7')),
    'left to right': ('CREATE TABLE a (id int PRIMARY KEY, v int, w int) ENGINE=InnoDB; INSERT INTO a VALUES (1, 10, 100), (2, 20, 200);', around('UPDATE a SET v = 5, w = v WHERE id = 1', 'SELECT v, w FROM a WHERE id = 1', 'UPDATE a SET v = w, w = v WHERE id = 1', 'SELECT v, w FROM a WHERE id = 1', 'UPDATE a SET v = 1, v = 2 WHERE id = 1', 'SELECT v, w FROM a WHERE id = 1')),
    'prepared': (MA, around("1: PREPARE s FROM 'UPDATE a SET v = 81 WHERE id = 1'", '1: EXECUTE s', "1: EXECUTE IMMEDIATE 'UPDATE a SET v = 82 WHERE id = 1'", "1: EXECUTE IMMEDIATE CONCAT('UPD', 'ATE a SET v = 83 WHERE id = 1')", '1: DEALLOCATE PREPARE s')),
    'blocks': (MA, around('BEGIN NOT ATOMIC UPDATE a SET v = 84 WHERE id = 1; END', 'ANALYZE UPDATE a SET v = 85 WHERE id = 1', 'ANALYZE FORMAT=JSON DELETE FROM a WHERE id = 2', 'SET STATEMENT max_statement_time = 5 FOR UPDATE a SET v = 86 WHERE id = 1', 'DO (SELECT 1)', 'SET @x = (SELECT v FROM a WHERE id = 1)', 'IF 1 THEN UPDATE a SET v = 87 WHERE id = 1; END IF')),
    'several': (MA, around('UPDATE a SET v = 86 WHERE id = 1; UPDATE a SET v = 87 WHERE id = 1', 'UPDATE a SET v = 88 WHERE id = 1; SELECT nothing', 'BEGIN; UPDATE a SET v = 89 WHERE id = 1; COMMIT; UPDATE a SET v = 90 WHERE id = 1', 'BEGIN; UPDATE a SET v = 91 WHERE id = 1; ROLLBACK; UPDATE a SET v = 92 WHERE id = 1', 'BEGIN; UPDATE a SET v = 94 WHERE id = 1; ROLLBACK AND CHAIN; UPDATE a SET v = 95 WHERE id = 1; COMMIT')),
    'autocommit': (MA, around('1: SET autocommit = 0', '1: UPDATE a SET v = 41 WHERE id = 1', '1: ROLLBACK', '1: UPDATE a SET v = 42 WHERE id = 1', '1: SET autocommit = 1', '1: SELECT v FROM a WHERE id = 1', '1: BEGIN', '1: UPDATE a SET v = 43 WHERE id = 1', '1: CREATE TABLE x (i int)', '1: ROLLBACK', look=['1: SELECT v FROM a WHERE id = 1', '1: SELECT id, v FROM a'])),
    'completion': (MA, around('1: SET completion_type = CHAIN', '1: BEGIN', '1: UPDATE a SET v = 44 WHERE id = 1', '1: COMMIT', '1: UPDATE a SET v = 45 WHERE id = 1', '1: ROLLBACK', '1: SET completion_type = NO_CHAIN', '1: ROLLBACK', look=['1: SELECT v FROM a WHERE id = 1'])),
    'temporary': (MA, around('1: CREATE TEMPORARY TABLE a (id int PRIMARY KEY, v int)', '1: INSERT INTO a VALUES (1, -3)', '1: SELECT v FROM a WHERE id = 1', '1: UPDATE a SET v = 4 WHERE id = 1', '1: DROP TEMPORARY TABLE a')),
    'temporary copy': (MA, around('1: CREATE TEMPORARY TABLE a SELECT id, -v AS v FROM shop.a', '1: CREATE TEMPORARY TABLE a LIKE a', '1: SELECT v FROM a WHERE id = 1', '1: DROP TABLE a', '1: SELECT v FROM a WHERE id = 1')),
    'renamed': (MA + 'CREATE TABLE c (id int PRIMARY KEY, v int) ENGINE=InnoDB; INSERT INTO c VALUES (1, -1);', around('RENAME TABLE a TO z, c TO a', 'SELECT v FROM a WHERE id = 1')),
    'other database': (MA + 'CREATE DATABASE IF NOT EXISTS o; DROP TABLE IF EXISTS o.a; CREATE TABLE o.a (id int PRIMARY KEY, v int) ENGINE=InnoDB; INSERT INTO o.a VALUES (1, -1);', around('UPDATE o.a SET v = 5 WHERE id = 1', 'SELECT v FROM o.a WHERE id = 1', 'UPDATE shop.a SET v = 6 WHERE id = 1', 'SELECT v FROM shop.a WHERE id = 1', '1: USE o', '1: UPDATE a SET v = 7 WHERE id = 1', '1: SELECT v FROM a WHERE id = 1', '1: UPDATE shop.a SET v = 8 WHERE id = 1')),
    'case of names alone': (MA + 'CREATE TABLE A (id int PRIMARY KEY, v int) ENGINE=InnoDB; INSERT INTO A VALUES (1, -10);', around('UPDATE A SET v = 5 WHERE id = 1', 'SELECT v FROM A WHERE id = 1')),
    'case of names': (MA + 'CREATE TABLE A (id int PRIMARY KEY, v int) ENGINE=InnoDB; INSERT INTO A VALUES (1, -10);', around('UPDATE A SET v = 5 WHERE id = 1', 'SELECT v FROM A WHERE id = 1', 'UPDATE `a` SET `V` = 6 WHERE `ID` = 1', 'SELECT v FROM `A` WHERE id = 1')),
    'versioned': ('CREATE TABLE a (id int PRIMARY KEY, v int) ENGINE=InnoDB WITH SYSTEM VERSIONING; INSERT INTO a VALUES (1, 10), (2, 20);', around('SELECT v FROM a FOR SYSTEM_TIME ALL WHERE id = 1', '1: SET system_versioning_asof = \'2000-01-01\'', '1: SELECT v FROM a WHERE id = 1', '1: SET system_versioning_asof = DEFAULT')),
    'partitions': ('CREATE TABLE a (id int PRIMARY KEY, v int) ENGINE=InnoDB PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (2), PARTITION p1 VALUES LESS THAN MAXVALUE); INSERT INTO a VALUES (1, 10), (2, 20);', around('SELECT v FROM a PARTITION (p1) WHERE id = 1', 'UPDATE a PARTITION (p1) SET v = 5 WHERE id = 1', 'ALTER TABLE a TRUNCATE PARTITION p0', 'DELETE FROM a PARTITION (p1)')),
    'handler': (MA, around('1: HANDLER a OPEN', '1: HANDLER a READ FIRST', '1: HANDLER a CLOSE')),
    'user variables': (MA, around('UPDATE a SET v = (@y := 5) WHERE id = 1', 'SELECT @z := v FROM a WHERE id = 1', 'UPDATE a SET v = @z WHERE id = 1', 'UPDATE a SET v = LAST_INSERT_ID(v + 1) WHERE id = 1')),
    'sequence': ('CREATE SEQUENCE s; CREATE TABLE a (id int PRIMARY KEY DEFAULT NEXTVAL(s), v int) ENGINE=InnoDB; INSERT INTO a VALUES (1, 10), (2, 20);', around('SELECT NEXTVAL(s)', 'INSERT INTO a (v) VALUES (5) ON DUPLICATE KEY UPDATE v = 8')),
    'dates': ("CREATE TABLE a (id int PRIMARY KEY, v timestamp NULL, d date, t datetime) ENGINE=InnoDB; INSERT INTO a VALUES (1, '2020-01-01', '2020-01-01', '2020-01-01');", ["1: SET time_zone = '+09:00'", "1: UPDATE a SET v = '2021-01-01 12:00:00', d = '20210203', t = '2021-1-2 3:4' WHERE id = 1", '1: SELECT v, d, t FROM a WHERE id = 1', '2: SELECT v, d, t FROM a WHERE id = 1', "2: UPDATE a SET d = 20220304 WHERE id = 1", '1: SELECT d FROM a WHERE id = 1']),
}
CASES = {'postgres': PG, 'maria': MY}
KEEPS = {('postgres', 'plain'), ('postgres', 'several'), ('postgres', 'own names'), ('postgres', 'quoted names'), ('postgres', 'numeric keys'), ('maria', 'plain'), ('maria', 'quoted names'), ('postgres', 'deferred key')}
FOUND = {*KEEPS, ('postgres', 'made from a function'), ('postgres', 'cursor'), ('postgres', 'written with a function'), ('postgres', 'function made later'), ('postgres', 'domain'), ('postgres', 'hidden function'), ('postgres', 'view with rules'), ('postgres', 'view with instead'), ('postgres', 'schema of the user'),
         ('postgres', 'path of the database'), ('postgres', 'padded keys'), ('maria', 'without transactions'), ('maria', 'in memory'), ('maria', 'case of names alone')}
