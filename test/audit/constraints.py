"""Constraints and triggers whose moment is not that of the row: statements for test/audit/sessions --late.

Deferrable unique constraints (some tested at the commit, some when the statement ends), NULLS NOT DISTINCT,
foreign keys that SET DEFAULT, a view WITH CHECK OPTION, SET CONSTRAINTS in between, triggers of statements, and
temporary tables of the same names in every session.
"""
DROP = ['DROP TABLE IF EXISTS q, e, o, f, n, l CASCADE', 'DROP FUNCTION IF EXISTS bump, tell']
TRIGGERS = [
    'CREATE TRIGGER bumps AFTER INSERT OR UPDATE OR DELETE ON e FOR EACH STATEMENT EXECUTE FUNCTION bump()',
    'CREATE TRIGGER bumps BEFORE UPDATE OF a OR DELETE ON e FOR EACH STATEMENT EXECUTE FUNCTION bump()',
    'CREATE TRIGGER tells AFTER INSERT OR UPDATE OR DELETE ON o FOR EACH STATEMENT EXECUTE FUNCTION tell()',
    'CREATE CONSTRAINT TRIGGER tells_row AFTER INSERT ON o FOR EACH ROW EXECUTE FUNCTION tell()',
]


def setup(rng):
    when = rng.choice(['DEFERRABLE INITIALLY DEFERRED', 'DEFERRABLE INITIALLY DEFERRED', 'DEFERRABLE'])
    action = rng.choice(['ON DELETE SET DEFAULT', 'ON DELETE SET DEFAULT ON UPDATE SET DEFAULT', 'ON DELETE SET DEFAULT ON UPDATE CASCADE'])
    late = rng.choice(['', '', ' DEFERRABLE INITIALLY DEFERRED'])
    return [f'CREATE TABLE q (id int PRIMARY KEY, pos int CONSTRAINT pos UNIQUE {when}, v int)', 'INSERT INTO q VALUES (1, 1, 0), (2, 2, 0), (3, 3, 0)',
            'CREATE TABLE e (a int, b int, v int, CONSTRAINT ab UNIQUE NULLS NOT DISTINCT (a, b))', 'INSERT INTO e VALUES (1, NULL, 0), (NULL, 2, 0)',
            'CREATE TABLE o (id int PRIMARY KEY)', 'INSERT INTO o VALUES (1), (2), (3)',
            f'CREATE TABLE f (id int PRIMARY KEY, o int DEFAULT {rng.randint(1, 4)} REFERENCES o {action}{late})', 'INSERT INTO f VALUES (1, 1), (2, 3), (3, NULL)',
            f'CREATE VIEW w AS SELECT id, v FROM q WHERE v < {rng.randint(3, 8)} WITH CHECK OPTION',
            'CREATE TABLE n (i int PRIMARY KEY, n int)', 'INSERT INTO n VALUES (1, 0)', 'CREATE TABLE l (what text, n bigint)',
            'CREATE FUNCTION bump() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE n SET n = n + 1 WHERE i = 1; RETURN NULL; END $$',
            "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO l SELECT TG_OP || ' ' || TG_LEVEL, count(*) FROM o; RETURN NULL; END $$",
            ] + ([rng.choice(TRIGGERS[:2])] if rng.random() < 0.4 else []) + [t for t in TRIGGERS[2:] if rng.random() < 0.3]


def statement(rng):
    a, b, n = rng.randint(1, 4), rng.randint(1, 4), rng.randint(0, 9)
    c, d = rng.choice(['NULL', '1', '2']), rng.choice(['NULL', '1', '2'])
    return rng.choice([
        'SELECT id, pos, v FROM q ORDER BY id', 'SELECT id, pos FROM q ORDER BY pos NULLS FIRST, id', f'SELECT id FROM q WHERE pos = {a} ORDER BY id', 'SELECT count(DISTINCT pos), count(pos) FROM q',
        f'UPDATE q SET pos = {b} WHERE id = {a}', f'UPDATE q SET pos = {b} WHERE pos = {a}', f'UPDATE q SET pos = {a + b} - pos WHERE pos IN ({a}, {b})', 'UPDATE q SET pos = pos + 1', 'UPDATE q SET pos = pos - 1 WHERE pos > 1',
        f'UPDATE q SET pos = pos + 1 WHERE pos >= {a} RETURNING id, pos', f'INSERT INTO q VALUES ({a + 2}, {b}, {n})', f'INSERT INTO q VALUES ({a + 2}, {b + 2}, {n}), ({b + 4}, {b + 2}, 0)',
        f'INSERT INTO q SELECT id + 3, pos, v FROM q WHERE id = {a}', f'INSERT INTO q VALUES ({a + 2}, {b}, {n}) ON CONFLICT (id) DO UPDATE SET pos = excluded.pos', f'DELETE FROM q WHERE id = {a}', f'DELETE FROM q WHERE pos = {a} RETURNING id',
        'SET CONSTRAINTS ALL IMMEDIATE', 'SET CONSTRAINTS ALL DEFERRED', 'SET CONSTRAINTS pos IMMEDIATE', 'SET CONSTRAINTS pos DEFERRED',
        'SELECT a, b, v FROM e ORDER BY a, b', f'INSERT INTO e VALUES ({c}, {d}, {n})', f'INSERT INTO e VALUES ({c}, {d}, {n})', f'INSERT INTO e VALUES ({c}, {d}, {n}) ON CONFLICT DO NOTHING', f'INSERT INTO e VALUES ({c}, {d}, {n}) ON CONFLICT (a, b) DO UPDATE SET v = e.v + 1 RETURNING v',
        f'UPDATE e SET a = {c} WHERE b = {b}', f'UPDATE e SET b = NULL WHERE a = {a}', f'DELETE FROM e WHERE a IS NULL AND b = {b}', f'DELETE FROM e WHERE a = {a}', f'UPDATE e SET v = v + 1 WHERE b IS NULL',
        'SELECT id FROM o ORDER BY id', 'SELECT id, o FROM f ORDER BY id', f'DELETE FROM o WHERE id = {a}', f'UPDATE o SET id = {b} WHERE id = {a}', f'INSERT INTO o VALUES ({a})', f'INSERT INTO f VALUES ({a}, {b})', f'INSERT INTO f (id) VALUES ({a})',
        f'UPDATE f SET o = {a} WHERE id = {b}', f'DELETE FROM f WHERE id = {a}', f'SELECT id FROM o WHERE id = {a} FOR UPDATE', f'DELETE FROM o WHERE id >= {a}',
        'SELECT n FROM n', 'SELECT n FROM n FOR UPDATE', 'SELECT what, n FROM l ORDER BY what, n', 'SELECT count(*) FROM l',
        'CREATE TEMP TABLE IF NOT EXISTS x (LIKE q INCLUDING ALL)', 'CREATE TEMP TABLE x ON COMMIT DROP AS SELECT id, pos, v FROM q', 'DROP TABLE IF EXISTS x', 'SELECT count(*) FROM x', f'INSERT INTO x SELECT id, pos, v FROM q WHERE id = {a}',
        'CREATE INDEX ON x (pos)', 'ALTER TABLE x ADD COLUMN IF NOT EXISTS z int', 'TRUNCATE x', f'UPDATE x SET pos = {b} WHERE id = {a} RETURNING pos',
        'SELECT id, v FROM w ORDER BY id', f'UPDATE w SET v = v + {n} WHERE id = {a}', 'UPDATE w SET v = v + 1', f'INSERT INTO w VALUES ({a}, {n})', f'DELETE FROM w WHERE id = {a}', f'SELECT v FROM q WHERE id = {a} FOR UPDATE',
    ])
