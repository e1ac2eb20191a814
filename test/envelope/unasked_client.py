#!/usr/bin/env python3
"""Transactions that begin and end in ways that no single statement shows.

usage: unasked_client.py psycopg2|psycopg|pymysql|sqlite3 WHERE [TRACE]     records itself with ratel_trace.wrap if TRACE is given

Each UPDATE of the table `a` writes a number of its own: below 100, those that are rolled back; from 100 on, those that are
committed. wrong(lines) names those of a log that say otherwise; what is unknown is no mistake.
"""
import re
import sys


def wrong(lines):
    """[(number, status)], and the numbers that are told as committed"""
    bad, good = [], []
    for o in lines:
        for s in o.get('statements', []):
            m = re.search(r'SET v = (\d+)', s['sql'])
            if not m or 'opaque' in s or 'error' in s:
                continue
            number, status = int(m.group(1)), o.get('status', 'committed')
            if status == 'committed' and number >= 100:
                good.append(number)
            elif status != 'unknown' and (status == 'committed') != (number >= 100):
                bad.append((number, status))
    return bad, good


def update(number):
    return f'UPDATE a SET v = {number} WHERE id = 1'


def on_psycopg2(where, wrap):
    import psycopg2   # pylint: disable=import-outside-toplevel
    c = wrap(psycopg2.connect(where))
    cur = c.cursor()
    c.autocommit = True
    for s in ('BEGIN', update(100), 'COMMIT AND CHAIN', update(1), 'ROLLBACK', update(101), 'BEGIN; SELECT 1', update(2), 'ROLLBACK',
              'BEGIN', update(102), 'SELECT 1; COMMIT', update(103)):
        cur.execute(s)
    c.autocommit = False
    cur.execute(update(3))
    c.reset()
    cur.execute(update(104))
    c.commit()
    cur.execute('SELECT id FROM (VALUES (1), (2), (3)) AS t (id)')
    cur.fetchone()
    cur.scroll(1)
    assert (cur.rownumber, cur.fetchall()) == (2, [(3,)])
    c.close()


def on_psycopg(where, wrap):
    import psycopg   # pylint: disable=import-outside-toplevel
    c = wrap(psycopg.connect(where))
    with c.transaction():
        c.execute(update(100))
    try:
        with c.transaction():
            c.execute(update(1))
            raise KeyError
    except KeyError:
        pass
    with c.transaction(force_rollback=True):
        c.execute(update(2))
    with c.transaction():
        try:
            with c.transaction():
                c.execute('UPDATE a SET w = 3 WHERE id = 1')
                raise KeyError
        except KeyError:
            pass
        assert c.execute('SELECT w FROM a WHERE id = 1').fetchone() == (0,)
        with c.transaction():
            c.execute(update(101))
    cur = c.cursor()
    cur.execute(update(102), prepare=True)
    c.commit()
    cur.execute(update(4))
    c.rollback()
    c.close()


def on_pymysql(where, wrap):
    import pymysql   # pylint: disable=import-outside-toplevel
    c = wrap(pymysql.connect(unix_socket=where, user='root', database='shop'))
    cur = c.cursor()
    c.begin()
    cur.execute(update(100))
    c.begin()   # commits it
    cur.execute(update(1))
    c.rollback()
    cur.execute(update(101))
    cur.execute('CREATE TABLE made (a int)')   # the same
    cur.execute(update(2))
    c.rollback()
    cur.execute('SET autocommit = 1')
    cur.execute(update(102))
    c.rollback()
    cur.execute('SET autocommit = 0')
    cur.execute(update(104))
    cur.execute('SET autocommit = 1')   # commits it
    c.begin()
    cur.execute(update(3))
    c.rollback()
    cur.execute('BEGIN')
    cur.execute(update(103))
    cur.execute('COMMIT AND CHAIN')
    cur.execute(update(4))
    cur.execute('ROLLBACK')
    c.close()


def on_sqlite3(where, wrap):
    import sqlite3   # pylint: disable=import-outside-toplevel
    c = wrap(sqlite3.connect(where))
    c.execute(update(100))
    c.executescript('SELECT 1;')   # commits it
    c.execute(update(1))
    c.rollback()
    c.execute(update(101))
    c.commit()
    c.executemany('UPDATE a SET w = ? WHERE id = 1', [(1,), (2,)])
    c.rollback()
    c.close()


if __name__ == '__main__':
    def wrapped(connection):
        if len(sys.argv) < 4:
            return connection
        import ratel_trace   # pylint: disable=import-outside-toplevel
        return ratel_trace.wrap(connection, sys.argv[3])
    {'psycopg2': on_psycopg2, 'psycopg': on_psycopg, 'pymysql': on_pymysql, 'sqlite3': on_sqlite3}[sys.argv[1]](sys.argv[2], wrapped)
