"""Clients of PostgreSQL that do what the protocol allows and drivers rarely do: test/trace/run asks what the log says of them."""
import json
import struct
import time

from kit import ok, run, same, temp
from wire_client import SYNC, Wire, bind, describe, execute, message, parse, query

MADE = ("CREATE TABLE a (id int PRIMARY KEY, v int); INSERT INTO a VALUES (1, 10), (2, 20); CREATE TABLE s (id int PRIMARY KEY, v text); INSERT INTO s VALUES (1, 'x')",
        "CREATE TABLE ck (id int PRIMARY KEY, v text CHECK (v <> '4111111111111111'))", "CREATE FUNCTION card() RETURNS text LANGUAGE sql AS $$SELECT '4111111111111112'::text$$")


def database(server, name, *settings):
    c = server.connect()
    for sql in (f'CREATE DATABASE {name}', *[f'ALTER DATABASE {name} SET {s}' for s in settings]):
        a = c.run(sql)
        assert not a.error, a.message
    c.close()
    w = Wire(f'{server.home}/.s.PGSQL.5432', database=name)
    for sql in MADE:
        assert not any(m[:1] == b'E' for m in w.ask(query(sql)))
    w.close()


def never_violated(what, log):
    for extra in ([], ['--lenient']):
        a = run('audit', *extra, log)
        ok(f'{what}: no false alarm {extra}', a.status in (0, 2), a)
    history = temp('odd.history')
    a = run('trace', 'to-history', '-q', log, '-o', history)
    if not a.status:
        a = run('check', '--level', 'read-committed', history)
        ok(f'{what}: nor of the history', a.status in (0, 2), a)


def ask(w, *statements):
    return [w.ask(query(s)) for s in statements]


def check_seen(server, start):
    """What stands in the log is what the server ran."""
    database(server, 'odd')
    proxy = start('--dump', upstream=f'postgres://postgres@/odd?host={server.home}')

    def connect(**settings):
        return Wire(proxy.path, database='odd', **settings)
    w = connect()
    w.ask(parse('', 'SELECT v FROM a WHERE id = 1'), bind('', ''), describe('P'), execute(), execute(), SYNC)   # the second one has nothing left
    w.ask(parse('', 'UPDATE a SET v = 11 WHERE id = 1 RETURNING v'), bind('', ''), execute(), execute(), SYNC)
    w.ask(parse('s1', 'SELECT v FROM a WHERE id = 1'), parse('s2', 'SELECT v FROM a WHERE id = 1'), SYNC)
    ask(w, 'DEALLOCATE s1', 'PREPARE "s1" AS SELECT v FROM a WHERE id = 2')
    w.ask(bind('', 's1'), execute(), SYNC)
    ask(w, 'DISCARD ALL', 'PREPARE s2 AS SELECT v FROM a WHERE id = 2')
    w.ask(bind('', 's2'), execute(), SYNC)
    ask(w, 'BEGIN')
    w.ask(parse('', 'SELECT v FROM a WHERE id = 2'), bind('moved', ''), SYNC)
    ask(w, 'MOVE ALL IN moved')
    w.ask(execute('moved'), SYNC)
    ask(w, 'COMMIT')
    w.close()
    w = connect(client_encoding='LATIN1')   # two bytes that are one character in UTF-8, and two in LATIN1
    w.ask(message('Q', b"UPDATE s SET v = '\xc3\xa9' WHERE id = 1\0"))
    w.close()
    w = connect(replication='off')
    ask(w, 'UPDATE a SET v = 98 WHERE id = 1')
    w.close()
    time.sleep(0.1)
    proxy.stop()
    steps = [s for t in proxy.txns() for s in t['statements']]

    def of(sql):
        return [s for s in steps if s['sql'] == sql]
    ok('a portal that is run again is one statement', [s['rows'] for s in of('SELECT v FROM a WHERE id = 1')] == [[[10]]], steps)
    same('... and one that returns', len(of('UPDATE a SET v = 11 WHERE id = 1 RETURNING v')), 1)
    same('names that were given up are not run', (len(of('EXECUTE "s1"')), len(of('EXECUTE "s2"'))), (1, 1), steps)
    ok('a portal that was moved by name', of('SELECT v FROM a WHERE id = 2') and all('opaque' in s for s in of('SELECT v FROM a WHERE id = 2')), steps)
    ok('a text in another encoding', [s for s in steps if s['sql'].startswith('UPDATE s') and 'opaque' in s], steps)
    ok('a session without replication is logged', of('UPDATE a SET v = 98 WHERE id = 1'))
    same('nothing is missing', [o['why'] for o in proxy.lines() if o.get('mark') == 'unlogged'], [])
    never_violated('odd clients', proxy.log)


def check_settings(server, start):
    """What a client sets when it connects is in the log as if it had sent SET."""
    database(server, 'odder', "default_transaction_isolation = 'serializable'")
    proxy = start('--dump', upstream=f'postgres://postgres@/odder?host={server.home}')

    def connect(**settings):
        return Wire(proxy.path, database='odder', **settings)
    for name, settings in {'dashes': {'options': '--default-transaction-isolation=read\\ committed'}, 'a name in capitals': {'options': '-c Default_Transaction_Isolation=read\\ committed'},
                           'a value in capitals': {'default_transaction_isolation': 'READ COMMITTED'}, 'two': {'options': '-c default_transaction_isolation=serializable -cdefault_transaction_isolation=read\\ committed'},
                           'both ways': {'default_transaction_isolation': 'read committed', 'options': '-c default_transaction_isolation=serializable'}}.items():
        w = connect(**settings)
        ask(w, f"SELECT '{name}'")
        w.close()
    for settings in ({'standard_conforming_strings': 'off'}, {'bytea_output': 'escape', 'application_name': 'x', 'options': '-c work_mem=1MB -c geqo=off'}, {'DateStyle': 'German'}, {'TimeZone': 'Asia/Tokyo'}):
        w = connect(**settings)
        ask(w, "SELECT 'a'")
        w.close()
    w = connect(replication='database')   # may run any statement
    ask(w, 'UPDATE a SET v = 98 WHERE id = 1')
    w.close()
    time.sleep(0.1)
    proxy.stop()
    levels = [(t['statements'][0]['sql'][8:-1], t.get('isolation')) for t in proxy.txns() if t['statements'][0]['sql'] != "SELECT 'a'"]
    same('the isolation that was asked for', [x for x in levels if x[0] in ('dashes', 'a name in capitals', 'a value in capitals', 'two', 'both ways')],
         [(n, 'read committed') for n in ('dashes', 'a name in capitals', 'a value in capitals', 'two', 'both ways')])
    same('what was set', [s['sql'] for t in proxy.txns() for s in t['statements'] if s['sql'].startswith('SET')],
         ["SET standard_conforming_strings TO 'off'", "SET bytea_output TO 'escape'", "SET work_mem TO '1MB'", "SET geqo TO 'off'", "SET DateStyle TO 'German, DMY'"])
    same('a session of replication is a mark', [o['why'] for o in proxy.lines() if o.get('mark') == 'unlogged'], ['a replication session may run any statement'])
    never_violated('settings', proxy.log)
    database(server, 'oddest', "bytea_output = 'escape'")
    proxy = start(upstream=f'postgres://postgres@/oddest?host={server.home}')
    proxy.stop()
    ok('a setting of the database stands at the beginning', "SET bytea_output TO 'escape'" in proxy.lines()[0]['setup'], proxy.lines()[0])


def check_defaults(server, start):
    """The isolation of sessions to come is changed, and the header says what it was before."""
    database(server, 'oddly', "default_transaction_isolation = 'serializable'")
    proxy = start(upstream=f'postgres://postgres@/oddly?host={server.home}')
    w = Wire(proxy.path, database='oddly')
    ask(w, "ALTER DATABASE oddly SET default_transaction_isolation = 'read committed'", "ALTER DATABASE oddly SET work_mem = '2MB'")
    w.close()
    time.sleep(0.1)
    proxy.stop()
    same('the header has the old one', proxy.lines()[0]['isolation'], 'serializable')
    same('the new one is a mark', [o['why'] for o in proxy.lines() if o.get('mark') == 'unlogged'], ['the isolation of sessions that begin later was changed'])


def check_patterns(server, start):
    """A pattern finds a value in whatever form it passes, and as a whole."""
    card = '4222222222222222'
    digits = struct.pack('>HhHH', 4, 3, 0, 0) + b''.join(struct.pack('>H', int(card[i:i + 4])) for i in range(0, 16, 4))
    database(server, 'hides')
    c = Wire(f'{server.home}/.s.PGSQL.5432', database='hides')
    ask(c, 'CREATE TABLE m (id int PRIMARY KEY, n bigint, d numeric, t text, b bytea)')
    for pattern in ('4[0-9]{15}', '^4[0-9]{15}$'):
        ask(c, 'DELETE FROM m')
        proxy = start('--dump', '--max-result', '1K', '--mask-pattern', pattern, upstream=f'postgres://postgres@/hides?host={server.home}')
        w = Wire(proxy.path, database='hides')
        for column, oid, form, value in (('n', 20, 1, struct.pack('>q', int(card))), ('d', 1700, 1, digits), ('t', 25, 0, card.encode()), ('b', 17, 0, b'\\x' + card.encode().hex().encode()),
                                         ('b', 17, 1, card.encode())):
            w.ask(parse('', f'INSERT INTO m (id, {column}) VALUES ((SELECT count(*) FROM m), $1)', [oid]), bind('', '', [value], [form]), execute(), SYNC)
        for column in 'ndtb':
            for form in (0, 1):
                w.ask(parse('', f'SELECT {column} FROM m WHERE {column} IS NOT NULL'), bind('', '', [], [], [form]), describe('P'), execute(), SYNC)
        ask(w, f"SELECT '{card}'", f'SELECT {card}', f"SELECT E'{card}'", f'SELECT $a${card}$a$', f"INSERT INTO s VALUES (7, '{card}')", f"SELECT repeat('x', 2000), '{card}'")
        w.close()
        time.sleep(0.1)
        proxy.stop()
        content = open(proxy.log, encoding='utf-8').read()
        for word in (card, card.encode().hex(), '411111111111111'):
            ok(f'{pattern}: {word} is not in the log', word not in content, [line for line in content.splitlines() if word in line])
        hidden = [s for t in proxy.txns() for s in t['statements'] if 'repeat' in s['sql']]
        ok(f'{pattern}: no hash of it, either', len(hidden) == 1 and 'rows_hash' not in hidden[0], hidden)
        ok(f'{pattern}: a table whose definition shows it is left out', [t['table'] for t in proxy.lines()[0]['left_out']].count('ck') == 1, json.dumps(proxy.lines()[0]))
    c.close()


def check_old_version(server, start):
    """A version of the protocol that the proxy does not read."""
    proxy = start(upstream=f'postgres://postgres@/postgres?host={server.home}')
    w = Wire(proxy.path, startup=False)
    w.s.sendall(struct.pack('>II', 296, 2 << 16) + b'postgres'.ljust(288, b'\0'))
    w.s.recv(100)   # (servers since 14 say no)
    w.s.close()     # without a word: the other side may be gone already
    proxy.stop()
    same('a version that the server refuses is no mark', [o for o in proxy.lines() if o.get('mark') == 'unlogged'], [])


def check_odd_clients(server, start):
    check_seen(server, start)
    check_settings(server, start)
    check_defaults(server, start)
    check_patterns(server, start)
    check_old_version(server, start)
