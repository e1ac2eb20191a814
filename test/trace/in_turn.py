#!/usr/bin/env python3
"""Sends statements one at a time, in turn by two sessions.

usage: in_turn.py postgres|maria WHERE < STATEMENTS, with a byte 0 between them

A statement that begins with "1: " or "2: " is that session's, and the next one without a mark goes on in turn. "COPY ... FROM
STDIN|DATA" sends the data. Errors of the database are printed and passed over: some cases ask for them.
"""
import io
import re
import sys


def connect(kind, where):
    if kind == 'postgres':
        import psycopg2
        c = psycopg2.connect(where, options='-c lock_timeout=300ms')
        c.autocommit = True
        return c, psycopg2.Error
    import pymysql
    from pymysql.constants import CLIENT
    return pymysql.connect(unix_socket=where, user='root', database='shop', autocommit=True, local_infile=True,
                           client_flag=CLIENT.MULTI_STATEMENTS), pymysql.Error


def send(c, sql):
    with c.cursor() as cur:
        if 'STDIN|' in sql:
            command, data = sql.split('|', 1)
            cur.copy_expert(command, io.StringIO(data))
            return None
        if 'TO STDOUT' in sql:
            out = io.StringIO()
            cur.copy_expert(sql, out)
            return out.getvalue()
        cur.execute(sql)
        rows = cur.fetchall() if cur.description else cur.rowcount
        while getattr(cur, 'nextset', None) and 'pymysql' in type(cur).__module__ and cur.nextset():
            pass
        return rows


def main():
    kind, where = sys.argv[1:]
    both = [connect(kind, where) for _ in range(2)]
    for i, sql in enumerate(sys.stdin.buffer.read().decode().split('\0')):
        m = re.match(r'([12]): ', sql)
        (c, error), sql = both[int(m.group(1)) - 1 if m else i % 2], sql[m.end():] if m else sql
        try:
            print('#', sql, '->', send(c, sql))
        except (error, UnicodeError, ValueError, NotImplementedError) as e:   # (what the driver itself cannot read)
            print('#', sql, '-> error', e)
    for c, _ in both:
        c.close()


main()
