#!/usr/bin/env python3
"""One wrong answer late in a long log of READ COMMITTED: how long `ratel audit` takes to find it.

usage: RATEL=build/ratel bench/audit_rc.py [TXNS ...]     default: 1000 5000 20000

Transactions like TPC-B's (an UPDATE of an account, a SELECT of it, a teller, a branch, a row of the
history with now()) and one in five that only reads, of 8 sessions whose commits overlap; 50
transactions before the end one answer is changed. Each log is audited at statement-snapshot with
commit timestamps and without them; processor time of ratel.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

from plain_output import plain_table, say_line

HERE = os.path.dirname(os.path.abspath(__file__))
RATEL = os.path.abspath(os.environ.get('RATEL', os.path.join(HERE, '..', 'build', 'ratel')))
ACCOUNTS, TELLERS, SESSIONS = 1000, 10, 8
TABLES = [{'ratel_sql': 1, 'setup': [f'CREATE TABLE {t} (id int PRIMARY KEY, b int)' for t in ('a', 't', 'br')] +
           ['CREATE TABLE h (id int, d int, at timestamp)']},
          {'table': 'a', 'rows': [[i, 0] for i in range(1, ACCOUNTS + 1)]},
          {'table': 't', 'rows': [[i, 0] for i in range(1, TELLERS + 1)]}, {'table': 'br', 'rows': [[1, 0]]}]


def made_log(n):
    rng, accounts, tellers, log = random.Random(5), [0] * (ACCOUNTS + 1), [0] * (TELLERS + 1), []
    for i in range(n):
        a, t, d, at = rng.randint(1, ACCOUNTS), rng.randint(1, TELLERS), rng.randint(-50, 50), 10 * i
        if rng.random() < 0.2:
            s = [{'sql': 'SELECT b FROM a WHERE id = $1', 'params': [a], 'rows': [[accounts[a]]]},
                 {'sql': 'SELECT sum(b) FROM t', 'rows': [[sum(tellers)]]}]
        else:
            accounts[a] += d
            tellers[t] += d
            s = [{'sql': 'UPDATE a SET b = b + $1 WHERE id = $2', 'params': [d, a], 'count': 1},
                 {'sql': 'SELECT b FROM a WHERE id = $1', 'params': [a], 'rows': [[accounts[a]]]},
                 {'sql': 'UPDATE t SET b = b + $1 WHERE id = $2', 'params': [d, t], 'count': 1},
                 {'sql': 'UPDATE br SET b = b + $1 WHERE id = 1', 'params': [d], 'count': 1},
                 {'sql': 'INSERT INTO h VALUES ($1, $2, now())', 'params': [a, d], 'count': 1}]
        log.append({'id': f't{i}', 'session': i % SESSIONS, 'times': [at - 15, at, at + 11, at + 18], 'commit_ts': at + 12,
                    'statements': [dict(x, t=[at + 2 * k + 1, at + 2 * k + 2]) for k, x in enumerate(s)]})
    return log


WRONG = [   # what, statements of its transaction, the statement, its answer
    ('nothing', 5, 1, lambda s: {}),
    ('a value that nobody wrote, after its UPDATE', 5, 1, lambda s: {'rows': [[123456]]}),
    ('what the UPDATE before it read', 5, 1, lambda s: {'rows': [[s[1]['rows'][0][0] - s[0]['params'][0]]]}),
    ('an UPDATE that found no row', 5, 2, lambda s: {'count': 0}),
    ('a value that nobody wrote, of a reader', 2, 0, lambda s: {'rows': [[123456]]}),
    ('a row that a reader did not find', 2, 0, lambda s: {'rows': []}),
    ('a sum that nothing gives, of a reader', 2, 1, lambda s: {'rows': [[99999999]]}),
]


def judged(path, log, wrong, stamps):
    _, length, at, answer = wrong
    log = json.loads(json.dumps(log))
    place = max(i for i in range(len(log) - 50) if len(log[i]['statements']) == length)
    s = log[place]['statements']
    s[at].update(answer(s))
    with open(path, 'w', encoding='utf-8') as f:
        for o in TABLES + log:
            if not stamps:
                o.pop('commit_ts', None)
            f.write(json.dumps(o) + '\n')
    before = os.times()
    p = subprocess.run([RATEL, 'audit', '--json', '--level', 'statement-snapshot', '--time', '300', path],
                       capture_output=True, text=True, check=False)
    after = os.times()
    took = after.children_user + after.children_system - before.children_user - before.children_system
    return f'{json.loads(p.stdout)["verdict"]} {took:.2f}'


def main():
    sizes = [int(n) for n in sys.argv[1:]] or [1000, 5000, 20000]
    logs = {n: made_log(n) for n in sizes}
    with tempfile.TemporaryDirectory(prefix='ratel-bench-') as home:
        path = os.path.join(home, 'log.jsonl')
        rows = [[wrong[0], 'commit_ts' if stamps else 'times'] + [judged(path, logs[n], wrong, stamps) for n in sizes]
                for wrong in WRONG for stamps in (True, False)]
    say_line('## One wrong answer at READ COMMITTED: verdict and CPU s')
    say_line()
    plain_table(['wrong answer', 'order from'] + [f'{n} transactions' for n in sizes], rows)
    return 0


if __name__ == '__main__':
    sys.exit(main())
