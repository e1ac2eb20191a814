#!/usr/bin/env python3
"""`ratel audit` where states are left open, against Troubadour's published experiments (bench/run calls
this; also by itself):

usage: RATEL=build/ratel bench/audit_symbolic.py [--quick]

Transfers that tell nothing, then one read (its figure 8); key-value logs with duplicates (8.2); the bank
server with more or fewer rows, blind writes and reads (figure 9); its four heuristics, each off (figure
10). The logs are made here: test/audit/logs.py.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RATEL = os.path.abspath(os.environ.get('RATEL', os.path.join(HERE, '..', 'build', 'ratel')))
sys.path.insert(0, os.path.join(HERE, '..', 'test', 'audit'))
import logs  # noqa: E402
from plain_output import plain_table, say_line  # noqa: E402

LEVELS = ['serializable', 'snapshot-isolation', 'read-committed']
ABLATION = ['all', '-index', '-window', '-concretize', '-stronger', '-search', '-search,-index', '-search,-window',
            '-search,-concretize', '-search,-lists']


def audit(home, log, *args, limit=60):
    path = os.path.join(home, 'log.jsonl')
    with open(path, 'w', encoding='utf-8') as f:
        f.writelines(json.dumps(o) + '\n' for o in log)
    p = subprocess.run([RATEL, 'audit', '--json', '-q', '--time', str(limit), *args, path], capture_output=True, text=True)
    return json.loads(p.stdout) if p.stdout else {'verdict': 'not here', 'seconds': 0, 'peak_rss_kib': 0}


def transfers(home, say, table, quick):
    rows = []
    for k in range(10, 61, 25 if quick else 10):
        right = audit(home, logs.transfers(k, 400 if k > 10 else 390), '--level', 'rc')
        wrong = audit(home, logs.transfers(k, 66), '--level', 'rc')
        rows.append([k, right['verdict'], f'{right["seconds"]:.3f}', wrong['verdict'], f'{wrong["seconds"]:.3f}', '< 2 s'])
    say('## Audit: k - 1 transfers that tell nothing, then a read; read committed')
    say()
    table(['k', 'right', 'seconds', 'wrong', 'seconds', 'published'], rows)
    say()


def key_values(home, say, table, quick):
    seconds, right = [], 0
    for seed in range(20 if quick else 100):
        log, want = logs.key_values(random.Random(seed))
        o = audit(home, log, '--level', 'rc')
        seconds.append(o['seconds'])
        right += o['verdict'] == want
    say('## Audit: logs of 50 key-value transactions with duplicates, read committed')
    say()
    table(['logs', 'decided right', 'ms each', 'ms at most', 'published'],
          [[len(seconds), right, f'{1000 * sum(seconds) / len(seconds):.1f}', f'{1000 * max(seconds):.1f}',
            '100 of 100, 9 300 ms each']])
    say()


SWEEPS = [('rows accessed', 'share', [0.002, 0.01, 0.1, 0.5, 1.0]), ('blind writes', 'blind', [0.0, 0.25, 0.5, 0.75, 1.0]),
          ('only reading', 'reads', [0.0, 0.2, 0.5, 0.8, 1.0])]


def sweeps(home, say, table, quick):
    n, rows = 500 if quick else 5000, []
    for what, name, values in SWEEPS:
        for v in values[::2] if quick else values:
            row = [what, f'{100 * v:g} %']
            for level in LEVELS:
                o = audit(home, logs.bank(random.Random(7), n, level, **{name: v}), '--level', level)
                row += [o['verdict'], f'{o["seconds"]:.2f}']
            rows.append(row)
    say(f'## Audit: the bank server, {n} transactions (published: about 10^2 to 10^4 in 300 s)')
    say()
    table(['what', 'share'] + [h for level in LEVELS for h in (level, 'seconds')], rows)
    say()


def ablation(home, say, table, quick):
    n, rows = 100 if quick else 300, []
    for share in (0.01, 1.0):
        for passes in ABLATION:
            row = [f'{100 * share:g} %', passes]
            for level in LEVELS:
                log = logs.bank(random.Random(7), n, level, share=share, blind=0.5)
                o = audit(home, log, '--level', level, '--pass', passes, limit=10 if quick else 60)
                row += [o['verdict'], f'{o["seconds"]:.2f}']
            rows.append(row)
    say(f'## Audit: passes off, bank server, {n} transactions, half of the writes blind; -search leaves all choices open')
    say()
    table(['rows', 'passes'] + [h for level in LEVELS for h in (level, 'seconds')], rows)
    say()


def bench_symbolic(say, table, quick):
    with tempfile.TemporaryDirectory(prefix='ratel-bench-') as home:
        for part in (transfers, key_values, sweeps, ablation):
            part(home, say, table, quick)


def main():
    bench_symbolic(say_line, plain_table, '--quick' in sys.argv)
    return 0


if __name__ == '__main__':
    sys.exit(main())
