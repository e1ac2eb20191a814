"""Transactions as applications write them: what they send next depends on what came back.

    setup(rng)          the statements that make the tables
    DROP                what removes them again
    some(rng), steps()  the flows of a log, and the statements of one of them

A flow is a generator: it yields a statement, and gets the answer (rows, count or error). It is what one request
of an application does: frameworks for objects (Django, Rails, Hibernate) with version columns, get-or-create
and counter caches, queues of jobs, ledgers, stock, soft deletes, documents in json, arrays, trees, numbers
without gaps, cursors, prepared statements, timeouts. A flow that wants to give up yields GIVE_UP. An error that
the flow does not look at ends it.  IDLE is a pause of an application that thinks.
"""
SOON = "'2024-02-01 10:00'"
GIVE_UP = 'ROLLBACK'
IDLE = ''

TABLES = [
    "CREATE TYPE stage AS ENUM ('todo', 'doing', 'done', 'failed')",
    'CREATE SEQUENCE job_id START 11', 'CREATE SEQUENCE person_id START 11',
    "CREATE TABLE job (id int PRIMARY KEY DEFAULT nextval('job_id'), stage stage NOT NULL DEFAULT 'todo', priority int NOT NULL DEFAULT 0, run_at timestamp NOT NULL DEFAULT now(), "
    "tries smallint NOT NULL DEFAULT 0, worker text, payload jsonb NOT NULL DEFAULT '{}')",
    'CREATE TABLE account (id int PRIMARY KEY, owner text NOT NULL, balance numeric(12,2) NOT NULL CHECK (balance >= 0), version int NOT NULL DEFAULT 0)',
    'CREATE TABLE ledger (id bigserial PRIMARY KEY, account int NOT NULL REFERENCES account (id) ON DELETE CASCADE, amount numeric(12,2) NOT NULL, made timestamp NOT NULL DEFAULT now())',
    'CREATE TABLE person (id int PRIMARY KEY DEFAULT nextval(\'person_id\'), email text NOT NULL, name text, deleted_at timestamp, updated_at timestamp)',
    'CREATE TABLE team (id int PRIMARY KEY, name text UNIQUE, members_count int NOT NULL DEFAULT 0)',
    'CREATE TABLE member (person int NOT NULL, team int NOT NULL REFERENCES team ON DELETE CASCADE ON UPDATE CASCADE, role text DEFAULT \'user\', PRIMARY KEY (person, team))',
    "CREATE TABLE doc (id int PRIMARY KEY, title text, lock_version int NOT NULL DEFAULT 0, tags text[] NOT NULL DEFAULT '{}', meta jsonb NOT NULL DEFAULT '{}', updated_at timestamp)",
    'CREATE TABLE counter (name text PRIMARY KEY, n bigint NOT NULL DEFAULT 0)',
    'CREATE TABLE stock (sku text PRIMARY KEY, qty int NOT NULL, CONSTRAINT enough CHECK (qty >= 0))',
    'CREATE TABLE invoice (no int PRIMARY KEY, customer text, total numeric(10,2))',
    'CREATE TABLE node (id int PRIMARY KEY, parent int REFERENCES node ON DELETE CASCADE, name text)',
    'CREATE TABLE place (id int PRIMARY KEY, list int NOT NULL, pos int NOT NULL)',
    'CREATE TABLE booking (id serial PRIMARY KEY, room int NOT NULL, starts date NOT NULL, ends date NOT NULL, CHECK (starts < ends))',
    'CREATE TABLE visit (token text PRIMARY KEY, person int, expires timestamp NOT NULL)',
    'CREATE TABLE history (id int, what text, old jsonb)',
]
ROWS = [
    "INSERT INTO job (id, run_at, priority, payload) VALUES (1, '2024-01-01', 1, '{\"kind\": \"mail\"}'), (2, '2024-01-02', 0, '{\"kind\": \"sms\", \"to\": [1, 2]}'), (3, '2024-01-01', 2, '{}')",
    "INSERT INTO account VALUES (1, 'ann', 100.00), (2, 'bob', 50.00), (3, 'cid', 0.00)",
    "INSERT INTO person (id, email, name) VALUES (1, 'ann@x.org', 'Ann'), (2, 'bob@x.org', 'Bob')",
    "INSERT INTO team VALUES (1, 'red', 1), (2, 'blue', 0)", 'INSERT INTO member VALUES (1, 1)',
    "INSERT INTO doc VALUES (1, 'one', 0, '{a,b}', '{\"views\": 1}'), (2, 'two', 0, '{}', '{}')",
    "INSERT INTO counter VALUES ('hits', 0)", "INSERT INTO stock VALUES ('pen', 5), ('ink', 2)", "INSERT INTO invoice VALUES (1, 'ann', 10.00)",
    "INSERT INTO node VALUES (1, NULL, 'root'), (2, 1, 'a'), (3, 1, 'b'), (4, 2, 'c')", 'INSERT INTO place VALUES (1, 1, 1), (2, 1, 2), (3, 1, 3)',
    "INSERT INTO booking VALUES (0, 1, '2024-01-01', '2024-01-05')",
]
SOMETIMES = [
    'CREATE UNIQUE INDEX one_email ON person (lower(email)) WHERE deleted_at IS NULL',
    'CREATE UNIQUE INDEX one_pos ON place (list, id)',
    'CREATE INDEX by_stage ON job (stage, priority DESC)',
    'CREATE VIEW waiting AS SELECT id, priority, tries FROM job WHERE stage = \'todo\'',
]
TOUCHES = ["CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.updated_at := now(); RETURN NEW; END $$",
           'CREATE TRIGGER touches BEFORE UPDATE ON doc FOR EACH ROW EXECUTE FUNCTION touch()']
KEEPS = ["CREATE FUNCTION keep_old() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO history VALUES (OLD.id, TG_OP, to_jsonb(OLD)); RETURN NULL; END $$",
         'CREATE TRIGGER keeps_old AFTER UPDATE OR DELETE ON account FOR EACH ROW EXECUTE FUNCTION keep_old()']
COUNTS = ["CREATE FUNCTION count_members() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF TG_OP = 'INSERT' THEN UPDATE team SET members_count = members_count + 1 WHERE id = NEW.team; "
          "ELSE UPDATE team SET members_count = members_count - 1 WHERE id = OLD.team; END IF; RETURN NULL; END $$",
          'CREATE TRIGGER counts_members AFTER INSERT OR DELETE ON member FOR EACH ROW EXECUTE FUNCTION count_members()']
PAY = ["CREATE FUNCTION pay(a int, b int, sum numeric) RETURNS numeric LANGUAGE plpgsql AS $$ DECLARE rest numeric; BEGIN "
       "UPDATE account SET balance = balance - sum WHERE id = a RETURNING balance INTO rest; IF NOT FOUND THEN RAISE EXCEPTION 'no account %', a; END IF; "
       "UPDATE account SET balance = balance + sum WHERE id = b; INSERT INTO ledger (account, amount) VALUES (a, -sum), (b, sum); RETURN rest; END $$"]
LATE = ' DEFERRABLE INITIALLY DEFERRED'
DROP = ['DROP TABLE IF EXISTS job, account, ledger, person, team, member, doc, counter, stock, invoice, node, place, booking, visit, history CASCADE',
        'DROP FUNCTION IF EXISTS touch, keep_old, count_members, pay', 'DROP TYPE IF EXISTS stage CASCADE', 'DROP SEQUENCE IF EXISTS job_id, person_id']


def setup(rng):
    late = rng.random() < 0.4   # as Django makes every foreign key
    made = [x.replace(' ON DELETE CASCADE', LATE).replace(' ON UPDATE CASCADE', '') if late else x for x in TABLES] + ROWS + PAY + [x for x in SOMETIMES if rng.random() < 0.6]
    for some in (TOUCHES, KEEPS, COUNTS):
        made = made + (some if rng.random() < 0.4 else [])
    return made


def value(a, column=0):
    return a.rows[0][column] if a.rows else None


def take_job(rng):
    order = rng.choice(['priority DESC, id', 'id', 'run_at, id'])
    if rng.random() < 0.5:
        a = yield (f"UPDATE job SET stage = 'doing', worker = 'w{rng.randint(1, 3)}', tries = tries + 1 WHERE id = (SELECT id FROM job WHERE stage = 'todo' "
                   f"{rng.choice(['', '', '', '', 'AND run_at <= now() '])}ORDER BY {order} LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id, tries, payload")
    else:
        a = yield f"SELECT id, tries, payload FROM job WHERE stage = 'todo' ORDER BY {order} LIMIT 1 FOR UPDATE{rng.choice(['', ' SKIP LOCKED', ' NOWAIT'])}"
    job = value(a)
    if a.error or not job:
        return
    yield IDLE
    chance = rng.random()
    if chance < 0.4:
        yield f"UPDATE job SET stage = 'done' WHERE id = {job} RETURNING stage"
    elif chance < 0.7:
        yield f'DELETE FROM job WHERE id = {job}'
    else:
        yield f"UPDATE job SET stage = CASE WHEN tries >= 2 THEN 'failed' ELSE 'todo' END::stage, run_at = run_at + interval '1 second' * tries WHERE id = {job}"


def put_job(rng):
    a = yield f"INSERT INTO job (priority, run_at, payload) VALUES ({rng.randint(0, 3)}, {rng.choice(['DEFAULT', SOON, SOON, SOON])}, '{{\"kind\": \"{rng.choice(['mail', 'sms'])}\", \"n\": {rng.randint(0, 9)}}}') RETURNING id{rng.choice(['', ', stage', ', tries, stage'])}"
    yield f"NOTIFY jobs, '{value(a)}'"
    yield rng.choice([f'SELECT stage, priority FROM job WHERE id = {value(a)}', 'SELECT stage, count(*) FROM job GROUP BY stage ORDER BY stage'])


def look_jobs(rng):
    yield rng.choice(['SELECT stage, count(*) FROM job GROUP BY stage ORDER BY stage', "SELECT payload->>'kind' AS kind, count(*) FROM job GROUP BY 1 ORDER BY 1",
                      "SELECT id, stage, worker, tries FROM job ORDER BY id", "SELECT id FROM job WHERE payload @> '{\"kind\": \"mail\"}' ORDER BY id",
                      "SELECT count(*) FROM job WHERE stage IN ('todo', 'doing') AND run_at < now() + interval '1 day'", "SELECT max(run_at) >= min(run_at), count(*) FROM job"])
    yield rng.choice(["UPDATE job SET stage = 'todo', worker = NULL WHERE stage = 'doing' AND tries < 3 RETURNING id", "DELETE FROM job WHERE stage = 'done'",
                      "WITH gone AS (DELETE FROM job WHERE stage IN ('done', 'failed') RETURNING id, payload) SELECT count(*) FROM gone", "SELECT count(*) FROM job FOR UPDATE",
                      "UPDATE job SET priority = priority + 1 WHERE id IN (SELECT id FROM job WHERE stage = 'todo' ORDER BY id LIMIT 2)"])


def batch_of_jobs(rng):
    a = yield f"SELECT id FROM job WHERE stage = 'todo' ORDER BY id LIMIT {rng.randint(1, 3)} FOR UPDATE SKIP LOCKED"
    if a.rows:
        ids = ','.join(r[0] for r in a.rows)
        yield f"UPDATE job SET stage = 'done', worker = 'batch' WHERE id = ANY('{{{ids}}}'::int[])"
        yield f'SELECT id, stage FROM job WHERE id IN ({ids}) ORDER BY id'


def optimistic(rng):
    """Hibernate: every column is written, and the version is in the condition."""
    i, amount = rng.randint(1, 3), rng.randint(1, 20)
    a = yield f'select a1_0.id, a1_0.balance, a1_0.owner, a1_0.version from account a1_0 where a1_0.id={i}'
    if not a.rows:
        return
    yield IDLE
    _, balance, owner, version = a.rows[0]
    a = yield (f"update account set balance={float(balance) + amount:.2f}, owner='{owner}', version={int(version) + 1} where id={i} and version={version}")
    if a.count == 0:
        yield GIVE_UP
    yield f'insert into ledger (account, amount) values ({i}, {amount}) returning id'


def transfer(rng):
    a, b, amount = rng.randint(1, 4), rng.randint(1, 4), rng.randint(1, 60)
    chance = rng.random()
    if chance < 0.3:
        yield f'SELECT pay({a}, {b}, {amount})'
        return
    if chance < 0.7:
        r = yield f'SELECT id, balance FROM account WHERE id IN ({a}, {b}) ORDER BY id FOR {rng.choice(["UPDATE", "NO KEY UPDATE"])}'
        have = {x[0]: float(x[1]) for x in r.rows or []}
        if have.get(str(a), 0) < amount:
            yield GIVE_UP
    yield f'UPDATE account SET balance = balance - {amount} WHERE id = {a}' + rng.choice(['', ' RETURNING balance', f' AND balance >= {amount}'])
    yield f'UPDATE account SET balance = balance + {amount} WHERE id = {b}'
    yield f'INSERT INTO ledger (account, amount) VALUES ({a}, -{amount}), ({b}, {amount})' + rng.choice(['', ' RETURNING id', ' RETURNING id, made'])


def look_accounts(rng):
    yield rng.choice(['SELECT id, balance FROM account ORDER BY id', 'SELECT sum(balance) FROM account', 'SELECT a.id, a.balance, coalesce(sum(l.amount), 0) FROM account a LEFT JOIN ledger l ON l.account = a.id GROUP BY a.id ORDER BY a.id',
                      'SELECT count(*), sum(amount) FROM ledger', 'SELECT owner, balance, rank() OVER (ORDER BY balance DESC) FROM account ORDER BY owner', 'SELECT id, what FROM history ORDER BY id, what',
                      "SELECT old->>'balance' FROM history WHERE id = 1 ORDER BY 1", 'SELECT made::date = now()::date, amount FROM ledger ORDER BY amount', 'SELECT account, max(id) FROM ledger GROUP BY account ORDER BY account'])
    yield rng.choice([IDLE, f"INSERT INTO account VALUES ({rng.randint(3, 5)}, 'new', 10)", f'DELETE FROM account WHERE id = {rng.randint(3, 5)} RETURNING owner, balance', 'SELECT id, version FROM account ORDER BY id FOR SHARE'])
    yield rng.choice(['SELECT sum(balance) FROM account', 'SELECT count(*) FROM ledger', 'SELECT id, balance, version FROM account ORDER BY id'])


def get_or_create(rng):
    """Django: look, create under a savepoint, look again if somebody was faster."""
    n = rng.randint(1, 5)
    name = rng.choice(['red', 'blue', 'green', 'grey'])
    a = yield f"SELECT id, name FROM team WHERE name = '{name}' LIMIT 21"
    if a.rows:
        return
    yield 'SAVEPOINT "s1_x1"'
    a = yield f"INSERT INTO team (id, name) VALUES ({n + 1}, '{name}')"
    if a.error:
        yield 'ROLLBACK TO SAVEPOINT "s1_x1"'
        yield 'RELEASE SAVEPOINT "s1_x1"'
        yield f"SELECT id, name FROM team WHERE name = '{name}' LIMIT 21"
        return
    yield 'RELEASE SAVEPOINT "s1_x1"'
    yield f'SELECT members_count FROM team WHERE id = {n + 1}'


def update_or_create(rng):
    name = rng.choice(['hits', 'likes', 'spam'])
    a = yield f"SELECT n FROM counter WHERE name = '{name}' FOR UPDATE"
    if a.rows:
        yield f"UPDATE counter SET n = {int(value(a)) + 1} WHERE name = '{name}'"
    else:
        yield 'SAVEPOINT s'
        a = yield f"INSERT INTO counter (name, n) VALUES ('{name}', 1)"
        if a.error:
            yield 'ROLLBACK TO s'
            a = yield f"SELECT n FROM counter WHERE name = '{name}' FOR UPDATE"
            if a.rows:
                yield f"UPDATE counter SET n = {int(value(a)) + 1} WHERE name = '{name}' RETURNING n"


def count_up(rng):
    name = rng.choice(['hits', 'likes', 'spam'])
    yield rng.choice([f"INSERT INTO counter AS c VALUES ('{name}', 1) ON CONFLICT (name) DO UPDATE SET n = c.n + excluded.n RETURNING n",
                      f"INSERT INTO counter VALUES ('{name}', 1), ('all', 1) ON CONFLICT (name) DO UPDATE SET n = counter.n + 1",
                      f"UPDATE counter SET n = n + 1 WHERE name = '{name}' RETURNING n", f"INSERT INTO counter VALUES ('{name}') ON CONFLICT DO NOTHING RETURNING n",
                      f"INSERT INTO counter AS c VALUES ('{name}', 1) ON CONFLICT (name) DO UPDATE SET n = CASE WHEN c.n >= 3 THEN 0 ELSE c.n + 1 END RETURNING n, n = 0 AS fresh",
                      f"WITH old AS (SELECT n FROM counter WHERE name = '{name}' FOR UPDATE) UPDATE counter c SET n = old.n * 2 FROM old WHERE c.name = '{name}' RETURNING old.n, c.n"])
    yield rng.choice(['SELECT name, n FROM counter ORDER BY name', 'SELECT sum(n), max(n) FROM counter', f"DELETE FROM counter WHERE name = '{name}' AND n > 4 RETURNING n", f"SELECT n FROM counter WHERE name = '{name}'"])


def members(rng):
    """Rails: a join row, and the counter of its team; or all rows of a team replaced."""
    p, t = rng.randint(1, 4), rng.randint(1, 3)
    chance = rng.random()
    if chance < 0.4:
        yield f'INSERT INTO "member" ("person", "team") VALUES ({p}, {t}) RETURNING "person", "role"'
        yield f'UPDATE "team" SET "members_count" = COALESCE("members_count", 0) + 1 WHERE "team"."id" = {t}'
    elif chance < 0.7:
        yield f'SELECT 1 AS one FROM "team" WHERE "team"."id" = {t} LIMIT 1'
        a = yield f'DELETE FROM member WHERE team = {t} AND person <> ALL (ARRAY[{p}, {rng.randint(1, 4)}]) RETURNING person'
        a = yield f'INSERT INTO member (person, team) SELECT x, {t} FROM unnest(ARRAY[{p}, {p % 4 + 1}]) AS x ON CONFLICT DO NOTHING RETURNING person'
        if not a.error:
            yield f'UPDATE team SET members_count = (SELECT count(*) FROM member m WHERE m.team = team.id) WHERE id = {t} RETURNING members_count'
    else:
        yield rng.choice([f'DELETE FROM team WHERE id = {t}', f"UPDATE team SET name = name || '!' WHERE id = {t}", f'UPDATE team SET id = {t + 3} WHERE id = {t}', f"UPDATE member SET role = 'admin' WHERE person = {p} RETURNING team, role",
                          f'UPDATE member SET team = {t} WHERE person = {p}'])
    yield rng.choice(['SELECT t.id, t.members_count, count(m.person) FROM team t LEFT JOIN member m ON m.team = t.id GROUP BY t.id ORDER BY t.id', f'SELECT person, team, role FROM member WHERE team = {t} ORDER BY person',
                      'SELECT t.name, string_agg(m.person::text, \',\' ORDER BY m.person) FROM team t JOIN member m ON m.team = t.id GROUP BY t.name ORDER BY t.name', f'SELECT EXISTS (SELECT 1 FROM member WHERE person = {p})'])


def people(rng):
    i, email = rng.randint(1, 4), rng.choice(['ann@x.org', 'Ann@x.org', 'bob@x.org', 'cid@x.org', 'dan@x.org'])
    yield rng.choice([f"INSERT INTO person (email, name) VALUES ('{email}', 'X') RETURNING id", f'UPDATE person SET deleted_at = now() WHERE id = {i} AND deleted_at IS NULL',
                      f'UPDATE person SET deleted_at = NULL WHERE id = {i} RETURNING email', f"UPDATE person SET email = '{email}', updated_at = CURRENT_TIMESTAMP WHERE id = {i}",
                      f"INSERT INTO person (email) SELECT '{email}' WHERE NOT EXISTS (SELECT 1 FROM person WHERE email = '{email}') RETURNING id",
                      f"WITH ins AS (INSERT INTO person (email) SELECT '{email}' WHERE NOT EXISTS (SELECT 1 FROM person WHERE lower(email) = lower('{email}')) RETURNING id) "
                      f"SELECT id FROM ins UNION ALL SELECT id FROM person WHERE lower(email) = lower('{email}') ORDER BY 1 LIMIT 1",
                      f'DELETE FROM person WHERE id = {i} RETURNING *' if rng.random() < .3 else f'SELECT id, email FROM person WHERE id = {i} FOR KEY SHARE'])
    yield rng.choice(['SELECT id, email FROM person WHERE deleted_at IS NULL ORDER BY id', "SELECT count(*) FROM person WHERE deleted_at IS NOT NULL", f"SELECT id, name FROM person WHERE lower(email) = lower('{email}') AND deleted_at IS NULL",
                      'SELECT id, email, deleted_at IS NULL AS alive FROM person ORDER BY id', "SELECT split_part(email, '@', 1), length(email) FROM person WHERE email ILIKE '%X.ORG' ORDER BY 1"])


def documents(rng):
    i, tag, k = rng.randint(1, 3), rng.choice('abcd'), rng.choice(['views', 'likes', 'x'])
    chance = rng.random()
    if chance < 0.3:
        a = yield f'SELECT id, title, lock_version FROM doc WHERE id = {i}'
        if a.rows:
            v = int(value(a, 2))
            a = yield f"UPDATE doc SET title = 'v{v + 1}', lock_version = {v + 1} WHERE id = {i} AND lock_version = {v}"
            if a.count == 0:
                yield GIVE_UP
    else:
        yield rng.choice([
            f"UPDATE doc SET meta = jsonb_set(meta, '{{{k}}}', to_jsonb(coalesce((meta->>'{k}')::int, 0) + 1)) WHERE id = {i} RETURNING meta",
            f"UPDATE doc SET meta = meta || '{{\"{k}\": {rng.randint(0, 9)}}}' WHERE id = {i}", f"UPDATE doc SET meta = meta - '{k}' WHERE meta ? '{k}' RETURNING id",
            f"UPDATE doc SET tags = array_append(tags, '{tag}') WHERE id = {i} AND NOT '{tag}' = ANY (tags) RETURNING tags", f"UPDATE doc SET tags = array_remove(tags, '{tag}') WHERE tags @> '{{{tag}}}'",
            f"INSERT INTO doc (id, title, tags) VALUES ({i}, 'new', '{{{tag}}}') ON CONFLICT (id) DO UPDATE SET tags = doc.tags || excluded.tags, lock_version = doc.lock_version + 1 RETURNING lock_version, tags",
            f"INSERT INTO doc (id, title) VALUES ({i}, 'x') ON CONFLICT (id) DO NOTHING RETURNING id", f'DELETE FROM doc WHERE id = {i}', f"UPDATE doc SET (title, lock_version) = (upper(title), lock_version + 1) WHERE '{tag}' = ANY (tags)"])
    yield rng.choice(['SELECT id, title, lock_version, tags FROM doc ORDER BY id', f"SELECT meta->>'{k}' FROM doc WHERE id = {i}", 'SELECT t, count(*) FROM doc, unnest(tags) AS t GROUP BY t ORDER BY t',
                      f"SELECT id FROM doc WHERE tags && '{{{tag},z}}' ORDER BY id", "SELECT sum((meta->>'views')::int) FROM doc", 'SELECT id, meta FROM doc ORDER BY id', 'SELECT jsonb_object_agg(id, meta) FROM doc', 'SELECT id, cardinality(tags) FROM doc ORDER BY id'])


def sell(rng):
    sku, n = rng.choice(['pen', 'ink', 'pad']), rng.randint(1, 3)
    a = yield rng.choice([f"UPDATE stock SET qty = qty - {n} WHERE sku = '{sku}' AND qty >= {n} RETURNING qty", f"UPDATE stock SET qty = qty - {n} WHERE sku = '{sku}'",
                          f"INSERT INTO stock VALUES ('{sku}', {n}) ON CONFLICT (sku) DO UPDATE SET qty = stock.qty + excluded.qty RETURNING qty", f"UPDATE stock s SET qty = qty - v.n FROM (VALUES ('pen', 1), ('{sku}', 1)) AS v(k, n) WHERE s.sku = v.k"])
    if not a.error and a.rows == []:
        yield GIVE_UP
    yield IDLE
    if rng.random() < 0.5:
        a = yield 'SELECT coalesce(max(no), 0) + 1 FROM invoice'
        yield f"INSERT INTO invoice VALUES ({value(a)}, 'ann', {n * 1.5}) RETURNING no"
    else:
        yield f"INSERT INTO invoice SELECT coalesce(max(no), 0) + 1, 'bob', {n} FROM invoice RETURNING no"
    yield rng.choice(['SELECT sku, qty FROM stock ORDER BY sku', 'SELECT count(*), max(no) FROM invoice', "SELECT customer, sum(total) FROM invoice GROUP BY customer ORDER BY customer"])


def numbers_under_lock(rng):
    yield f'SELECT pg_advisory_xact_lock({rng.randint(1, 2)})'
    a = yield 'SELECT coalesce(max(no), 0) FROM invoice'
    yield IDLE
    if not a.error:
        yield f"INSERT INTO invoice (no, customer) VALUES ({int(value(a)) + 1}, 'cid')"
    yield 'SELECT no FROM invoice ORDER BY no DESC LIMIT 3'


def tree(rng):
    i, up = rng.randint(2, 7), rng.randint(1, 7)
    yield rng.choice([f"INSERT INTO node VALUES ({i}, {up}, 'n{i}')", f"INSERT INTO node VALUES ({i}, {up}, 'n{i}')", f'UPDATE node SET parent = {up} WHERE id = {i} AND {up} NOT IN (WITH RECURSIVE d AS (SELECT id FROM node WHERE id = {i} UNION SELECT n.id FROM node n JOIN d ON n.parent = d.id) SELECT id FROM d)',
                      f'DELETE FROM node WHERE id = {i}', f'DELETE FROM node WHERE parent = {up} RETURNING id', f"UPDATE node SET name = name || '{i}' WHERE id = {i} RETURNING name"])
    yield rng.choice(['WITH RECURSIVE d AS (SELECT id, 0 AS depth FROM node WHERE parent IS NULL UNION ALL SELECT n.id, d.depth + 1 FROM node n JOIN d ON n.parent = d.id) SELECT id, depth FROM d ORDER BY id',
                      'SELECT n.id, p.name FROM node n LEFT JOIN node p ON p.id = n.parent ORDER BY n.id', 'SELECT parent, count(*) FROM node GROUP BY parent ORDER BY parent NULLS FIRST', f'SELECT id FROM node WHERE parent = {up} ORDER BY id FOR UPDATE'])


def reorder(rng):
    pos = rng.randint(1, 4)
    if rng.random() < 0.5:
        yield f'UPDATE place SET pos = pos + 1 WHERE list = 1 AND pos >= {pos}'
        yield f'INSERT INTO place VALUES ({rng.randint(1, 9)}, 1, {pos})'
    else:
        a = yield f'DELETE FROM place WHERE list = 1 AND pos = {pos} RETURNING id'
        yield f'UPDATE place SET pos = pos - 1 WHERE list = 1 AND pos > {pos}'
    yield rng.choice(['SELECT id, pos FROM place WHERE list = 1 ORDER BY pos, id', 'UPDATE place p SET pos = r.n FROM (SELECT id, row_number() OVER (ORDER BY pos, id) AS n FROM place WHERE list = 1) r WHERE r.id = p.id RETURNING p.id, p.pos', 'SELECT count(DISTINCT pos) = count(*) FROM place'])


def book(rng):
    start = rng.randint(1, 9)
    end = start + rng.randint(1, 4)
    free = f"room = 1 AND (starts, ends) OVERLAPS ('2024-01-{start:02}'::date, '2024-01-{end:02}'::date)"
    if rng.random() < 0.5:
        a = yield f'SELECT count(*) FROM booking WHERE {free}'
        yield IDLE
        if value(a) == '0':
            yield f"INSERT INTO booking (room, starts, ends) VALUES (1, '2024-01-{start:02}', '2024-01-{end:02}') RETURNING id"
    else:
        yield f"INSERT INTO booking (room, starts, ends) SELECT 1, '2024-01-{start:02}', '2024-01-{end:02}' WHERE NOT EXISTS (SELECT 1 FROM booking WHERE {free}) RETURNING id, ends - starts"
    yield rng.choice(['SELECT starts, ends FROM booking ORDER BY starts, ends', 'SELECT sum(ends - starts) FROM booking', f'DELETE FROM booking WHERE starts = \'2024-01-{start:02}\'', "SELECT d::date FROM generate_series('2024-01-01'::timestamp, '2024-01-06', '1 day') d WHERE NOT EXISTS (SELECT 1 FROM booking b WHERE d::date >= b.starts AND d::date < b.ends) ORDER BY 1",
                      "SELECT to_char(starts, 'YYYY-MM'), count(*) FROM booking GROUP BY 1"])


def visits(rng):
    token = rng.choice(['t1', 't2', 't3'])
    yield rng.choice([f"INSERT INTO visit VALUES ('{token}', 1, now() + interval '1 hour') ON CONFLICT (token) DO UPDATE SET expires = excluded.expires RETURNING token, person",
                      f"UPDATE visit SET expires = now() + interval '{rng.choice(['1 hour', '-1 hour'])}' WHERE token = '{token}'", 'DELETE FROM visit WHERE expires < now() RETURNING token',
                      f"INSERT INTO visit VALUES ('{token}', 2, now()) RETURNING expires", f"DELETE FROM visit WHERE token = '{token}'"])
    yield rng.choice(["SELECT token, person FROM visit ORDER BY token", f"SELECT person FROM visit WHERE token = '{token}' AND expires > now()", 'SELECT count(*) FROM visit WHERE expires <= CURRENT_TIMESTAMP'])


def through_cursor(rng):
    yield rng.choice(['DECLARE c CURSOR FOR SELECT id, balance FROM account ORDER BY id', 'DECLARE c NO SCROLL CURSOR FOR SELECT id, pos FROM place ORDER BY pos, id', "DECLARE c CURSOR FOR SELECT id, stage FROM job ORDER BY id"])
    yield f'FETCH {rng.choice(["1", "2", "NEXT", "FORWARD 2"])} FROM c'
    yield rng.choice([IDLE, 'UPDATE account SET balance = balance + 1 WHERE id = 1', 'UPDATE place SET pos = pos + 10 WHERE id = 2', 'INSERT INTO job DEFAULT VALUES RETURNING id'])
    yield rng.choice(['FETCH ALL FROM c', 'FETCH 2 FROM c'])
    yield 'CLOSE c'


def prepared(rng):
    i = rng.randint(1, 3)
    a = yield 'PREPARE q (int, numeric) AS ' + rng.choice(['UPDATE account SET balance = balance + $2 WHERE id = $1 RETURNING balance', 'SELECT balance > $2 FROM account WHERE id = $1', 'INSERT INTO ledger (account, amount) VALUES ($1, $2) RETURNING amount'])
    if not a.error:
        yield f'EXECUTE q ({i}, {rng.randint(1, 9)})'
        yield f'EXECUTE q ({i % 3 + 1}, 0.5)'
    yield 'DEALLOCATE q'


def in_a_loop(rng):
    """Rows of an import one by one, each under its savepoint; what fails is left out."""
    for _ in range(rng.randint(2, 5)):
        yield 'SAVEPOINT line'
        a = yield rng.choice([f"INSERT INTO counter VALUES ('{rng.choice(['hits', 'likes', 'a', 'b'])}', {rng.randint(0, 5)})", f"INSERT INTO invoice VALUES ({rng.randint(1, 6)}, 'imp', 1)",
                              f"UPDATE stock SET qty = qty - {rng.randint(1, 4)} WHERE sku = '{rng.choice(['pen', 'ink'])}'", f'INSERT INTO ledger (account, amount) VALUES ({rng.randint(1, 5)}, 1)',
                              f"INSERT INTO member VALUES ({rng.randint(1, 3)}, {rng.randint(1, 4)})", f"INSERT INTO node VALUES ({rng.randint(4, 9)}, {rng.randint(1, 9)}, 'i')",
                              f"INSERT INTO doc (id, title) VALUES ({rng.randint(1, 5)}, 'imp')", "UPDATE account SET balance = balance - 30 WHERE id = 2"])
        yield 'ROLLBACK TO SAVEPOINT line' if a.error else 'RELEASE SAVEPOINT line'
    yield rng.choice(['SELECT count(*) FROM counter', 'SELECT no FROM invoice ORDER BY no', 'SELECT sku, qty FROM stock ORDER BY sku', 'SELECT id FROM node ORDER BY id'])


def in_a_hurry(rng):
    """Timeouts of statements and locks, and NOWAIT: what fails is left, or ends the request."""
    yield rng.choice(["SET LOCAL statement_timeout = '20ms'", "SET LOCAL lock_timeout = '10ms'", 'SAVEPOINT h'])
    yield rng.choice(['UPDATE account SET balance = balance + 1 WHERE id = 1 RETURNING balance', "UPDATE counter SET n = n + 1 WHERE name = 'hits'", 'SELECT id FROM account WHERE id = 1 FOR UPDATE NOWAIT',
                      "SELECT qty FROM stock WHERE sku = 'pen' FOR UPDATE NOWAIT", 'SELECT pg_sleep(0.03)', 'LOCK TABLE invoice IN EXCLUSIVE MODE NOWAIT', 'LOCK TABLE stock IN SHARE ROW EXCLUSIVE MODE'])
    yield IDLE
    yield rng.choice(['SELECT sum(balance) FROM account', 'SELECT n FROM counter ORDER BY name', 'SELECT max(no) FROM invoice'])


def report(rng):
    yield 'SET TRANSACTION READ ONLY'
    for _ in range(rng.randint(2, 4)):
        yield rng.choice(['SELECT sum(balance) FROM account', 'SELECT sum(amount), count(*) FROM ledger', 'SELECT sku, qty FROM stock ORDER BY sku', 'SELECT count(*) FROM node', 'SELECT name, n FROM counter ORDER BY name',
                          "SELECT stage, count(*), avg(tries)::numeric(6,2) FROM job GROUP BY ROLLUP (stage) ORDER BY 1 NULLS LAST", 'SELECT id, title FROM doc ORDER BY id LIMIT 2 OFFSET 1', 'SELECT count(*), max(pos) FROM place',
                          'SELECT t.name, m.person FROM team t LEFT JOIN member m ON t.id = m.team ORDER BY 1, 2', 'SELECT email FROM person WHERE deleted_at IS NULL ORDER BY email'])
        yield IDLE


def move_rows(rng):
    """WITH that writes: rows move, and two tables change in one statement."""
    n = rng.randint(1, 9)
    yield rng.choice([f'WITH gone AS (DELETE FROM place WHERE pos > {n} RETURNING id) INSERT INTO history SELECT id, \'moved\', NULL FROM gone RETURNING id', f"WITH a AS (UPDATE account SET balance = balance + {n} WHERE id = 1 RETURNING id, balance), l AS (INSERT INTO ledger (account, amount) SELECT id, {n} FROM a RETURNING amount) SELECT a.balance, l.amount FROM a, l",
                      "WITH q AS (SELECT id FROM job WHERE stage = 'todo' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) UPDATE job j SET stage = 'doing' FROM q WHERE j.id = q.id RETURNING j.id",
                      "WITH up AS (UPDATE counter SET n = n + 1 WHERE name = 'hits' RETURNING n) INSERT INTO counter SELECT 'last', n FROM up ON CONFLICT (name) DO UPDATE SET n = excluded.n",
                      f"MERGE INTO stock s USING (VALUES ('pen', {n}), ('pad', 1)) AS v(sku, qty) ON s.sku = v.sku WHEN MATCHED THEN UPDATE SET qty = s.qty + v.qty WHEN NOT MATCHED THEN INSERT VALUES (v.sku, v.qty)",
                      f"INSERT INTO ledger (account, amount) SELECT id, {n} FROM account WHERE balance < 60 RETURNING account, amount"])
    yield rng.choice(['SELECT id, what FROM history ORDER BY id, what', 'SELECT sku, qty FROM stock ORDER BY sku', 'SELECT name, n FROM counter ORDER BY name', 'SELECT account, sum(amount) FROM ledger GROUP BY account ORDER BY account'])


def keys_late(rng):
    """Children before their parents, parents that come back: right when the transaction commits, if the keys are deferred."""
    n, t = rng.randint(3, 6), rng.randint(1, 5)
    chance = rng.random()
    if chance < 0.15:
        yield rng.choice(['SET CONSTRAINTS ALL IMMEDIATE', 'SET CONSTRAINTS ALL DEFERRED', 'SET CONSTRAINTS member_team_fkey DEFERRED'])
    if chance < 0.4:
        yield f'INSERT INTO member (person, team) VALUES ({n}, {t})' + rng.choice(['', ' ON CONFLICT DO NOTHING'])
        yield IDLE
        yield rng.choice([f"INSERT INTO team (id, name) VALUES ({t}, 't{t}') ON CONFLICT DO NOTHING", f'DELETE FROM member WHERE person = {n}', f'UPDATE member SET team = 1 WHERE person = {n}', 'SELECT id FROM team ORDER BY id'])
    elif chance < 0.7:
        yield f'DELETE FROM team WHERE id = {t}'
        yield rng.choice([f'DELETE FROM member WHERE team = {t}', f"INSERT INTO team (id, name) VALUES ({t}, 'back')", f'UPDATE member SET team = {t % 2 + 1} WHERE team = {t}', IDLE])
        yield 'SELECT person, team FROM member ORDER BY 1, 2'
    else:
        yield f"INSERT INTO node VALUES ({n + 4}, {n + 5}, 'late')"
        yield rng.choice([f"INSERT INTO node VALUES ({n + 5}, 1, 'up')", f'UPDATE node SET parent = 1 WHERE id = {n + 4}', 'SAVEPOINT k', f'DELETE FROM node WHERE id = {n}'])
        yield rng.choice(['SELECT id, parent FROM node ORDER BY id', 'SET CONSTRAINTS ALL IMMEDIATE', f'DELETE FROM node WHERE id = {n + 4}'])


FLOWS = [take_job, take_job, put_job, look_jobs, batch_of_jobs, optimistic, transfer, transfer, look_accounts, get_or_create, update_or_create, count_up, members, people, documents, documents, sell,
         numbers_under_lock, tree, reorder, book, visits, through_cursor, prepared, in_a_loop, in_a_hurry, report, move_rows, keys_late, keys_late]


def some(rng):
    """The flows of one log: few, so that they meet, or all."""
    return FLOWS if rng.random() < 0.3 else rng.sample(FLOWS, rng.randint(2, 5))


def steps(rng, few, last):
    """The statements of one flow, or of two in a transaction; last() is the answer to the one before."""
    for f in rng.sample(few, 1 if rng.random() < 0.75 else 2):
        flow, answer = f(rng), None
        while True:
            try:
                sql = flow.send(answer)
            except StopIteration:
                break
            yield sql
            answer = last() if sql not in (GIVE_UP, IDLE) else None
