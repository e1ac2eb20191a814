#!/usr/bin/env python3
"""A client that asks for isolation in every way, and asks the database which isolation it has.

usage: isolation_client.py DSN [TRACE]        records itself with ratel_trace.wrap if TRACE is given

differences(log) tells where a log of it says another isolation than the database did.
"""
import json
import sys

RANKS = ['read uncommitted', 'read committed', 'repeatable read', 'serializable']
QUESTION = 'SHOW transaction_isolation'


def differences(path):
    """(transactions that were asked, those that the log calls stronger than they are, weaker ones)"""
    usual, asked, stronger, weaker = None, 0, [], []
    with open(path, encoding='utf-8') as f:
        for o in map(json.loads, f):
            if 'ratel_sql' in o:
                usual = o.get('isolation', 'read committed')
            for s in o.get('statements', []):
                if s['sql'] != QUESTION or not s.get('rows'):
                    continue
                real, said = s['rows'][0][0], o.get('isolation', usual)
                asked += 1
                if said != real:
                    (stronger if RANKS.index(said) > RANKS.index(real) else weaker).append((real, said, o))
    return asked, stronger, weaker


def main():
    import psycopg2   # pylint: disable=import-outside-toplevel
    c = psycopg2.connect(sys.argv[1])
    if len(sys.argv) > 2:
        import ratel_trace   # pylint: disable=import-outside-toplevel
        c = ratel_trace.wrap(c, sys.argv[2])
    cur = c.cursor()

    def ask(*statements, end=c.commit):
        for s in statements:
            cur.execute(s)
        cur.execute(QUESTION)
        cur.fetchone()
        if end:
            end()
    ask()
    c.set_session(isolation_level='SERIALIZABLE')
    ask()
    c.set_session(isolation_level='REPEATABLE READ', autocommit=True)
    ask(end=None)
    c.autocommit = False
    ask()
    c.set_isolation_level(0)   # the old way to say autocommit
    ask(end=None)
    ask('BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY', end=lambda: cur.execute('COMMIT AND CHAIN'))
    ask(end=lambda: cur.execute('ROLLBACK'))
    c.autocommit = False
    c.set_isolation_level(None)
    ask()
    with c:
        ask('SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY', end=None)
    ask("SET default_transaction_isolation = 'serializable'", end=c.rollback)
    ask()
    c.autocommit = True
    ask('SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ', end=None)
    ask('RESET ALL', end=None)
    ask("SET default_transaction_isolation TO 'serializable'", end=None)
    ask('DISCARD ALL', end=None)
    ask("SELECT set_config('default_transaction_isolation', 'repeatable read', false)", end=None)   # may be called weaker
    c.close()


if __name__ == '__main__':
    main()
