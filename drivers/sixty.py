#!/usr/bin/env python3
"""A driver for `ratel run --db 'exec:python3 sixty.py FILE'`, short enough to copy; doc/drivers.md."""
import json
import sqlite3
import sys

db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0.5)
table = ''


def sql(text, *values):
    return db.execute(text.replace('TABLE_', table), values)


def answer(r):
    global table
    op, table = r['op'], r.get('place', table)
    if op == 'hello':
        return {'protocol': 1, 'driver': 'sixty.py', 'engine': 'SQLite',
                'version': sqlite3.sqlite_version, 'isolations': ['serializable'],
                'operations': ['get', 'put', 'delete', 'range'], 'snapshot': ['read', 'write'],
                'contracts': {'serializable': {'level': 'serializable',
                                               'source': 'https://www.sqlite.org/isolation.html'}}}
    if op == 'setup':
        sql('DROP TABLE IF EXISTS TABLE_')
        sql('CREATE TABLE TABLE_(k INTEGER PRIMARY KEY, v INTEGER)')
    elif op == 'load':
        db.executemany(f'INSERT INTO {table} VALUES(?, ?)', r['rows'])
    elif op == 'teardown':
        sql('DROP TABLE IF EXISTS TABLE_')
    elif op == 'begin' and r['isolation'] == 'serializable':
        sql('BEGIN')
    elif op == 'get':
        row = sql('SELECT v FROM TABLE_ WHERE k = ?', r['key']).fetchone()
        return {'value': row[0] if row else None}
    elif op == 'put':
        if not sql('UPDATE TABLE_ SET v = ? WHERE k = ?', r['value'], r['key']).rowcount:
            sql('INSERT INTO TABLE_ VALUES(?, ?)', r['key'], r['value'])
    elif op == 'delete':
        return {'found': sql('DELETE FROM TABLE_ WHERE k = ?', r['key']).rowcount > 0}
    elif op == 'range':
        return {'rows': sql('SELECT k, v FROM TABLE_ WHERE k >= ? AND k < ? ORDER BY k LIMIT ?',
                            r['from'], r['to'], r.get('limit', -1)).fetchall()}
    elif op in ('commit', 'abort'):
        if db.in_transaction:
            sql('COMMIT' if op == 'commit' else 'ROLLBACK')
    elif op not in ('connect', 'disconnect'):
        raise ValueError(f'no {op} of this kind')
    return {}


for line in sys.stdin:
    request, end = json.loads(line), 'done'
    try:
        result = answer(request)
    except sqlite3.OperationalError as e:   # busy: roll back, so that nothing of it is left
        end, result = 'refused' if 'locked' in str(e) else 'failed', {'error': str(e)}
        if request['op'] == 'commit' and db.in_transaction:
            db.execute('ROLLBACK')
    except ValueError as e:
        end, result = 'failed', {'error': str(e)}
    print(json.dumps({'id': request['id'], 'answer': end, **result}), flush=True)
