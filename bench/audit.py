#!/usr/bin/env python3
"""`ratel audit` against the published times of Troubadour (bench/run calls this; also by itself):

usage: RATEL=build/ratel bench/audit.py [--quick]

The bank log is made here: serial, two sessions, 1 000 accounts, 10% reads, as long as the published
one. The others are recorded from a PostgreSQL of our own with 8 sessions, if there is one, and
compared with how many transactions the published tool checks in 5 minutes with 2 sessions.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RATEL = os.path.abspath(os.environ.get('RATEL', os.path.join(HERE, '..', 'build', 'ratel')))
BANK = 1096548
BANK_PUBLISHED = 1.76 * 3600
PUBLISHED = {   # transactions in 5 minutes
    'twitter-sql': {'serializable': 2860, 'repeatable-read': 2810, 'read-committed': 496},
    'rubis-sql': {'serializable': 451, 'repeatable-read': 397, 'read-committed': 311},
    'tpcc-sql': {'serializable': 445, 'repeatable-read': 394, 'read-committed': 121},
}
HEAD = ['log', 'level', 'transactions', 'verdict', 'seconds', 'MiB', 'published', 'times']


def update(sign, x, a):
    return (f'{{"sql":"UPDATE accounts SET balance = balance {sign} $1 WHERE id = $2",'
            f'"params":[{x},{a}],"count":1}}')


def bank(path, n):
    rng = random.Random(1)
    cents = [10000] * 1001
    with open(path, 'w', encoding='utf-8') as f:
        f.write('{"ratel_sql":1,"setup":["CREATE TABLE accounts (id int PRIMARY KEY, '
                'balance numeric(12,2) NOT NULL)"]}\n')
        f.write(json.dumps({'table': 'accounts', 'rows': [[i, 100] for i in range(1, 1001)]}) + '\n')
        for i in range(n):
            a, b, x, k = rng.randint(1, 1000), rng.randint(1, 1000), rng.randint(1, 50), rng.randrange(10)
            if k < 4:
                s = update('+', x, a)
                cents[a] += 100 * x
            elif k < 9:
                s = update('+', x, a) + ',' + update('-', x, b)
                cents[a] += 100 * x
                cents[b] -= 100 * x
            else:
                v = abs(cents[a])
                s = (f'{{"sql":"SELECT balance FROM accounts WHERE id = $1","params":[{a}],'
                     f'"rows":[["{"-" if cents[a] < 0 else ""}{v // 100}.{v % 100:02}"]]}}')
            f.write(f'{{"id":{i + 1},"session":{i % 2},"commit_ts":{10 * i + 8},"begin":{10 * i},'
                    f'"end":{10 * i + 8},"statements":[{s}]}}\n')


def audit(path, level=None):
    p = subprocess.run([RATEL, 'audit', '--json', '-q', '--time', '300', path] +
                       (['--level', level] if level else []), capture_output=True, text=True)
    return json.loads(p.stdout) if p.stdout else None


def row(name, o, published, times):
    if not o or 'verdict' not in o:
        return [name, '-', '-', 'not here', '-', '-', published, '']
    return [name, o['level'], o['txns'], o['verdict'], f'{o["seconds"]:.1f}', o['peak_rss_kib'] // 1024,
            published, times]


def bench_audit(say, table, quick):
    rows = []
    with tempfile.TemporaryDirectory(prefix='ratel-bench-') as home:
        path = os.path.join(home, 'log.jsonl')
        n = 100000 if quick else BANK
        bank(path, n)
        o = audit(path, 'strong-si')
        share = BANK_PUBLISHED * n / BANK
        rows.append(row('bank', o, f'{share:.0f} s', f'{share / o["seconds"]:.0f}' if o else ''))
        for workload, levels in PUBLISHED.items():
            for isolation, published in levels.items():
                subprocess.run([RATEL, 'run', '--db', 'postgres:temp', '--workload', workload, '--isolation', isolation,
                                '--sessions', '8', '--txns', '1000' if quick else '5000', '-q', '-o', path], check=False)
                o = audit(path)
                rate = o['txns'] / o['seconds'] * 300 if o and o.get('seconds') else 0
                rows.append(row(f'{workload}, {isolation}', o, f'{published} in 300 s', f'{rate / published:.0f}'))
    say('## Audit: against the published times (strict SI: 89 h for 60 022 of TPC-C); times: how much faster')
    say()
    table(HEAD, rows)
    say()


def main():
    def table(head, rows):
        for r in [head] + rows:
            print(' | '.join(map(str, r)))

    bench_audit(lambda line='': print(line, flush=True), table, '--quick' in sys.argv)
    return 0


if __name__ == '__main__':
    sys.exit(main())
