#!/usr/bin/env python3
"""`ratel audit` against the published numbers of Troubadour (bench/run calls this; also by itself):

usage: RATEL=build/ratel bench/audit.py [--quick] [--keep DIR] [TEXT...]

Logs are recorded from a PostgreSQL of our own: the two of 24 hours (bank, 10% reads, and TPC-C at the
published small scale) with 2 sessions at repeatable read, audited at strong SI; Twitter, RUBiS and
TPC-C with 8 sessions, as many transactions as fifty times what the published tool checks in five
minutes with 2 sessions, audited for at most five minutes at what each isolation promises. Without
PostgreSQL the bank's log is made here, serial, and the others are left out. --quick takes a
fiftieth. TEXT: only the rows whose name has it. --keep DIR: logs stay there and are used again.
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
FIVE = 300
DAY = [   # name, workload, knobs, transactions, published seconds, promised seconds
    ('bank, 24 h', 'bank-sql', ['--set', 'reads=0.1', '--set', 'blind=0'], 1096548, 1.76 * 3600, 180),
    ('TPC-C, 24 h', 'tpcc-sql', [], 60022, 89.2 * 3600, 360),
]
PUBLISHED = {   # transactions in 5 minutes
    'twitter-sql': {'serializable': 2860, 'repeatable-read': 2810, 'read-committed': 496},
    'rubis-sql': {'serializable': 451, 'repeatable-read': 397, 'read-committed': 311},
    'tpcc-sql': {'serializable': 445, 'repeatable-read': 394, 'read-committed': 121},
}
TIMES = 50   # promised
HEAD = ['log', 'level', 'transactions', 'verdict', 'seconds', 'MiB', 'published', 'times', 'promised', '']


def update(sign, x, a):
    return (f'{{"sql":"UPDATE accounts SET balance = balance {sign} $1 WHERE id = $2",'
            f'"params":[{x},{a}],"count":1}}')


def made_bank(path, n):
    rng = random.Random(1)
    cents = [10000] * 1001
    with open(path, 'w', encoding='utf-8') as f:
        f.write('{"ratel_sql":1,"level":"strong-si","setup":["CREATE TABLE accounts (id int PRIMARY KEY, '
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


def run_once(path, workload, isolation, sessions, txns, knobs):
    p = subprocess.run([RATEL, 'run', '--json', '--db', 'postgres:temp', '--workload', workload, '--isolation', isolation,
                        '--sessions', str(sessions), '--txns', str(txns), '-o', path, *knobs],
                       capture_output=True, text=True, check=False)
    return json.loads(p.stdout)['committed'] if p.returncode == 0 else 0


def record(path, workload, isolation, sessions, txns, knobs=()):
    """A log of about so many committed transactions; false if there is no server."""
    if os.path.exists(path):
        return True
    probe = 1000
    share = run_once(path, workload, isolation, sessions, probe, knobs) / probe
    if not share:
        return False
    return bool(run_once(path, workload, isolation, sessions, int(txns / share * 1.02) + 1, knobs))


def audit(path, level=None):
    p = subprocess.run([RATEL, 'audit', '--json', '-q', '--time', str(FIVE), path] +
                       (['--level', level] if level else []), capture_output=True, text=True, check=False)
    return json.loads(p.stdout) if p.stdout else None


def row(name, o, published, times, promised, kept):
    if not o or 'verdict' not in o:
        return [name, '-', '-', 'not here', '-', '-', published, '', promised, '']
    kept = kept and o['verdict'] == 'holds'
    return [name, o['level'], o['txns'], o['verdict'], f'{o["seconds"]:.1f}', o['peak_rss_kib'] // 1024,
            published, f'{times:.0f}', promised, 'ok' if kept else 'MISSED']


def day(home, part, name, workload, knobs, txns, published, promised):
    n = txns // part
    path = os.path.join(home, f'{workload}-day-{n}.jsonl')
    if not record(path, workload, 'repeatable-read', 2, n, knobs):
        if workload != 'bank-sql':
            return row(name, None, f'{published:.0f} s', 0, f'<= {promised} s', False)
        made_bank(path, n)
    o = audit(path, 'strong-si')
    seconds = o['seconds'] * txns / o['txns'] if o and o.get('txns') else 1
    return row(name, o, f'{published:.0f} s for {txns}', published / max(seconds, 1e-3), f'<= {promised} s',
               seconds <= promised)


def five_minutes(home, part, workload, isolation, published):
    n = published * TIMES // part
    path = os.path.join(home, f'{workload}-{isolation}-{n}.jsonl')
    name = f'{workload}, {isolation}'
    if not record(path, workload, isolation, 8, n):
        return row(name, None, f'{published} in {FIVE} s', 0, f'>= {TIMES}', False)
    o = audit(path)
    times = o['txns'] / max(o['seconds'], 1e-3) * FIVE / published if o and o.get('verdict') == 'holds' else 0
    return row(name, o, f'{published} in {FIVE} s', times, f'>= {TIMES}', times >= TIMES)


def bench_audit(say, table, quick, only=(), keep=None):
    rows, part = [], 50 if quick else 1
    with tempfile.TemporaryDirectory(prefix='ratel-bench-') as temporary:
        home = keep or temporary
        os.makedirs(home, exist_ok=True)
        for d in DAY:
            if not only or any(t in d[0] for t in only):
                rows.append(day(home, part, *d))
        for workload, levels in PUBLISHED.items():
            for isolation, published in levels.items():
                if not only or any(t in f'{workload}, {isolation}' for t in only):
                    rows.append(five_minutes(home, part, workload, isolation, published))
    say('## Audit: against the published times of Troubadour; times: how much faster')
    say()
    table(HEAD, rows)
    say()


def main():
    words = sys.argv[1:]
    keep = words.pop(words.index('--keep') + 1) if '--keep' in words else None
    only = [w for w in words if not w.startswith('--')]
    bench_audit(say_line, plain_table, '--quick' in words, only, keep)
    return 0


if __name__ == '__main__':
    sys.exit(main())
