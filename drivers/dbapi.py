#!/usr/bin/env python3
"""A driver for `ratel run --db exec:...`: any Python module that follows the DB-API (PEP 249).

usage: dbapi.py MODULE [NAME=VALUE...]       the arguments of its connect(), text or numbers
       --level NAME=SQL   the statement that begins a transaction at this isolation (repeatable)
       --index            a second, indexed column; every other write sets it, too

    ratel test --db 'exec:python3 drivers/dbapi.py sqlite3 database=/tmp/x.db' --for 20s
    ratel test --db 'exec:python3 drivers/dbapi.py psycopg2 dsn=host=/tmp' -i rr --for 20s

One process serves one session. The protocol is described in doc/drivers.md. What must be right is
how calls end: `ending` below decides that from the exception, by SQLSTATE where there is one.
"""
import importlib
import json
import sys

PG = 'https://www.postgresql.org/docs/15/transaction-iso.html'
READ = ['read', 'locking-read', 'write']

# What is known of a module: how a transaction begins, what its product documents, when the snapshot
# is taken, locking reads, and arguments of connect() that nobody should forget.
KNOWN = {
    'sqlite3': {
        'engine': 'SQLite',
        'levels': {'serializable': 'BEGIN'},
        'contracts': {'serializable': ('serializable', 'https://www.sqlite.org/isolation.html')},
        'snapshot': READ, 'lock': '', 'connect': {'isolation_level': None, 'timeout': 0.5},
        'returning': lambda m: m.sqlite_version_info >= (3, 35)},
    'psycopg2': {
        'engine': 'PostgreSQL',
        'levels': {n.replace(' ', '-'): 'BEGIN ISOLATION LEVEL ' + n for n in (
            'serializable', 'repeatable read', 'read committed', 'read uncommitted')},
        'contracts': {
            'serializable': ('serializable', PG + '#XACT-SERIALIZABLE'),
            'repeatable-read': ('snapshot-isolation', PG + '#XACT-REPEATABLE-READ', 'prefix'),
            'read-committed': ('read-committed', PG + '#XACT-READ-COMMITTED'),
            'read-uncommitted': ('read-committed', PG)},
        'snapshot': READ, 'lock': ' FOR UPDATE', 'connect': {}, 'returning': lambda m: True},
}
GENERAL = {
    'levels': {n.replace(' ', '-'): 'SET TRANSACTION ISOLATION LEVEL ' + n for n in (
        'serializable', 'repeatable read', 'read committed', 'read uncommitted')},
    'contracts': {}, 'snapshot': [], 'lock': '', 'connect': {}}


class Wrong(Exception):
    """What the protocol does not allow, or a request that this driver does not have."""


def ending(error, module):
    """refused: no effect, now or later; unknown: the connection is gone; failed: nobody's race."""
    state = getattr(error, 'sqlstate', None) or getattr(error, 'pgcode', None) or ''
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    text = str(error).lower()
    if state == '40003' or state[:2] in ('08', '58') or state[:3] == '57P' or number in (2006, 2013):
        return 'unknown', state
    if state[:2] == '40' or state in ('55P03', '57014') or number in (1020, 1205, 1213):
        return 'refused', state or '40001'
    if isinstance(error, module.IntegrityError):
        return 'refused', state or '23505'
    if isinstance(error, module.OperationalError) and ('locked' in text or 'busy' in text):
        return 'refused', '40001'
    if isinstance(error, (module.InterfaceError, module.OperationalError)) and not state and (
            'closed' in text or 'connection' in text):
        return 'unknown', '08006'
    return 'failed', state


class Driver:
    def __init__(self, name, arguments, levels, index):
        self.module = importlib.import_module(name)
        self.name = name
        self.known = dict(KNOWN.get(name, GENERAL))
        if levels:
            self.known['levels'] = levels
        self.arguments = {**self.known['connect'], **arguments}
        self.index = index
        self.connection = self.cursor = None
        self.table, self.lists, self.puts, self.outside = '', False, 0, ''
        self.style = self.module.paramstyle

    def execute(self, sql, *values):
        """The texts have ? for parameters; modules have four other ways to write them."""
        if self.style == 'numeric':
            for i in range(len(values)):
                sql = sql.replace('?', f':{i + 1}', 1)
        elif self.style == 'named':
            for i in range(len(values)):
                sql = sql.replace('?', f':p{i}', 1)
            values = {f'p{i}': v for i, v in enumerate(values)}
        elif self.style in ('format', 'pyformat'):
            sql = sql.replace('?', '%s')
        self.cursor.execute(sql, values) if values else self.cursor.execute(sql)

    def open(self):
        if not self.connection:
            self.connection = self.module.connect(**self.arguments)
            if hasattr(self.connection, 'autocommit'):
                self.connection.autocommit = True  # BEGIN and COMMIT are sent as statements
            self.cursor = self.connection.cursor()

    def hello(self, _):
        self.open()
        versions = [getattr(self.module, 'sqlite_version', None),
                    getattr(self.connection, 'server_version', None),
                    getattr(self.module, '__version__', 'unknown')]
        contracts = {n: {'level': c[0], 'source': c[1], 'deleted': c[2] if len(c) > 2 else ''}
                     for n, c in self.known['contracts'].items()}
        return {'protocol': 1, 'driver': f'dbapi.py {self.name}', 'engine': self.known.get('engine', self.name),
                'version': str(next(v for v in versions if v)), 'contracts': contracts,
                'isolations': list(self.known['levels']), 'snapshot': self.known['snapshot'],
                'operations': ['get', 'put', 'append', 'delete', 'bury', 'range', 'reverse', 'sql']
                + ['lock'] * bool(self.known['lock'])
                + ['autocommit'] * (self.name in KNOWN)
                + ['add', 'savepoint'] * self.known.get('returning', lambda m: False)(self.module),
                'sessions': 'one', 'data': 'files' if self.name == 'sqlite3' else 'outside',
                'waits': 'never' if self.name == 'sqlite3' else 'maybe'}   # (hasty, it refuses at once)

    def setup(self, r):
        self.execute(f'DROP TABLE IF EXISTS {r["place"]}')
        kind = 'TEXT' if r['lists'] else 'BIGINT'
        more = ', s BIGINT' if self.index else ''
        self.execute(f'CREATE TABLE {r["place"]}(k BIGINT PRIMARY KEY, v {kind}{more})')
        if self.index:
            self.execute(f'CREATE INDEX {r["place"]}_s ON {r["place"]}(s)')

    def load(self, r):
        self.execute('BEGIN')
        for key, value in r['rows']:
            self.execute(f'INSERT INTO {r["place"]}(k, v) VALUES(?, ?)', key, value)
        self.execute('COMMIT')

    def teardown(self, r):
        self.execute(f'DROP TABLE IF EXISTS {r["place"]}')
        for table in getattr(self, 'made', []):
            self.execute(f'DROP TABLE IF EXISTS {table}')

    def connect(self, r):
        self.open()
        self.table, self.lists = r['place'], r['lists']
        if r.get('hasty') and self.name == 'sqlite3':
            self.execute('PRAGMA busy_timeout = 0')

    def disconnect(self, _):
        self.connection.close()
        self.connection = None

    def begin(self, r):
        if r['isolation'] not in self.known['levels']:
            raise Wrong(f'no isolation level {r["isolation"]}')
        self.execute(self.known['levels'][r['isolation']])
        if not self.known['levels'][r['isolation']].startswith('BEGIN'):
            self.execute('BEGIN')

    def alone(self, r):
        """Before an operation outside of a transaction. (A put is an UPDATE and perhaps an INSERT, which
        are then two transactions; one of them at most has written, so it is one for the history.)"""
        if r['isolation'] not in self.known['levels']:
            raise Wrong(f'no isolation level {r["isolation"]}')
        if self.name == 'psycopg2' and self.outside != r['isolation']:
            self.execute('SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL '
                         + r['isolation'].replace('-', ' '))
            self.outside = r['isolation']

    def get(self, r):
        self.execute(f'SELECT v FROM {self.table} WHERE k = ?'
                     + (self.known['lock'] if r.get('lock') else ''), r['key'])
        row = self.cursor.fetchone()
        if row and row[0] is not None and self.lists:
            return {'value': [int(x) for x in row[0].split(',')]}
        return {'value': row[0] if row else None, 'tomb': bool(row) and row[0] is None}

    def write(self, key, change, value, first):
        """UPDATE first: INSERT ... ON CONFLICT goes through where a snapshot misses a row."""
        self.puts += 1
        if self.index and self.puts % 2:
            change += f', s = {self.puts}'
        self.execute(f'UPDATE {self.table} SET {change} WHERE k = ?', value, key)
        if self.cursor.rowcount == 0:
            self.execute(f'INSERT INTO {self.table}(k, v) VALUES(?, ?)', key, first)

    def put(self, r):
        self.write(r['key'], 'v = ?', r['value'], r['value'])

    def append(self, r):
        self.write(r['key'], 'v = v || ?', f',{r["value"]}', str(r['value']))

    def bury(self, r):
        self.write(r['key'], 'v = ?', None, None)

    def delete(self, r):
        self.execute(f'DELETE FROM {self.table} WHERE k = ?', r['key'])
        return {'found': self.cursor.rowcount > 0}

    def range(self, r):
        self.execute(f'SELECT k, v FROM {self.table} WHERE k >= ? AND k < ? AND v IS NOT NULL '
                     'ORDER BY k' + ' DESC' * r.get('reverse', False)
                     + (f' LIMIT {r["limit"]}' if 'limit' in r else ''), r['from'], r['to'])
        return {'rows': [list(row) for row in self.cursor.fetchall()]}

    def add(self, r):
        if r.get('upsert'):
            self.execute(f'INSERT INTO {self.table} AS t (k, v) VALUES(?, ?) ON CONFLICT (k) '
                         'DO UPDATE SET v = t.v + excluded.v RETURNING v', r['key'], r['value'])
        else:
            self.execute(f'UPDATE {self.table} SET v = v + ? WHERE k = ? RETURNING v', r['value'], r['key'])
        rows = self.cursor.fetchall()  # all of them: sqlite3 ends the statement with the last
        return {'value': rows[0][0] if rows else None}

    def savepoint(self, r):
        for text in {'set': ['SAVEPOINT ratel'], 'keep': ['RELEASE SAVEPOINT ratel'],
                     'undo': ['ROLLBACK TO SAVEPOINT ratel', 'RELEASE SAVEPOINT ratel']}[r['what']]:
            self.execute(text)

    def commit(self, _):
        self.execute('COMMIT')
        # PostgreSQL answers COMMIT by ROLLBACK if the transaction had failed before.
        if getattr(self.cursor, 'statusmessage', '') == 'ROLLBACK':
            return {'answer': 'refused', 'error': 'the transaction was rolled back'}
        return {}

    def abort(self, _):
        if getattr(self.connection, 'in_transaction', True):
            self.execute('ROLLBACK')

    def script(self, r):
        self.made = getattr(self, 'made', [])
        for statement in filter(str.strip, r['sql'].split(';')):
            self.execute(statement)
            if statement.split()[:2] == ['CREATE', 'TABLE']:
                self.made.append(statement.split()[2].split('(')[0])

    def query(self, r):
        """The workloads' parameters are $1, $2, ..., each used in order."""
        sql, values = r['sql'], []
        for i, value in enumerate(r.get('params', []), 1):
            sql = sql.replace(f'${i}', '?', 1)
            values.append(value)
        self.execute(sql, *values)
        if self.cursor.description is None:
            return {'count': max(self.cursor.rowcount, 0)}
        return {'rows': [[v if v is None or isinstance(v, (bool, int, float)) else str(v)
                          for v in row] for row in self.cursor.fetchall()]}

    def answer(self, r):
        function = None if r['op'].startswith('_') else getattr(self, str(r['op']), None)
        if r['op'] in ('execute', 'open', 'write', 'alone', 'answer') or not function:
            return {'answer': 'failed', 'error': f'no operation {r["op"]}'}
        try:
            if r.get('alone'):
                self.alone(r)
            return {'answer': 'done', **(function(r) or {})}
        except Wrong as e:
            return {'answer': 'failed', 'error': str(e)}
        except self.module.Error as e:
            answer, state = ending(e, self.module)
            if answer == 'refused' and r['op'] in ('begin', 'commit'):
                self.abort(r)  # nothing may be left open after these two
            return {'answer': answer, 'error': str(e).strip(), 'state': state}


def arguments(words):
    levels, values, index = {}, {}, False
    while words:
        word = words.pop(0)
        if word == '--level':
            name, _, sql = words.pop(0).partition('=')
            levels[name] = sql
        elif word == '--index':
            index = True
        else:
            name, _, value = word.partition('=')
            values[name] = int(value) if value.isdigit() else value
    return values, levels, index


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    out, sys.stdout = sys.stdout, sys.stderr   # what modules print is not for Ratel
    driver = Driver(sys.argv[1], *arguments(sys.argv[2:]))
    for line in sys.stdin:
        try:
            request = json.loads(line)
            answer = {'id': request['id'], **driver.answer(request)}
        except (ValueError, KeyError, TypeError) as e:
            print(f'a wrong request: {e!r}: {line.strip()}', file=sys.stderr)
            sys.exit(1)
        print(json.dumps(answer), file=out, flush=True)


if __name__ == '__main__':
    main()
