#!/usr/bin/env python3
"""The 46 problems of Isolde's paper (bench/run calls this; also by itself):

usage: RATEL=build/ratel bench/synth.py [--quick]

10 transactions (--quick: 5), 5 keys, 5 values, Isolde's restrictions; proofs for all sizes switched off,
so that every answer is searched. Isolde's column is its own record (test/synth/problems.tsv), on another
machine; ours is the wall time of the process. Promised: no problem above 5 s, 60 s for all, at most 5
candidates where there is no history.
"""
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RATEL = os.path.abspath(os.environ.get('RATEL', os.path.join(HERE, '..', 'build', 'ratel')))
PROBLEMS = os.path.join(HERE, '..', 'test', 'synth', 'problems.tsv')
HEAD = ['problem', 'answer', 'seconds', 'candidates', 'clauses', 'Isolde s', 'Isolde candidates', '']


def solve(allow, forbid, txns):
    start = time.monotonic()
    p = subprocess.run([RATEL, 'synth', '--allow', allow, '--forbid', forbid, '--txns', str(txns),
                        '--isolde', '--no-proof', '--json', '--time', '60'],
                       capture_output=True, text=True)
    return time.monotonic() - start, json.loads(p.stdout)


def bench_synth(say, table, quick):
    txns = 5 if quick else 10
    rows, total = [], 0
    with open(PROBLEMS, encoding='utf-8') as f:
        for line in f:
            if line.startswith('#'):
                continue
            no, allow, forbid, least, ms, candidates = line.rstrip('\n').split('\t')
            seconds, o = solve(allow, forbid, txns)
            total += seconds
            right = o['result'] == ('history' if int(least) else 'none-up-to-scope')
            few = int(least) or o['candidates'] <= 5
            answer = f'history of {o["size"]}' if 'size' in o else o['result']
            rows.append([f'{no} {allow}, not {forbid}', answer, f'{seconds:.2f}', o['candidates'],
                         o['solver']['clauses'], '-' if ms == '-' else f'{int(ms) / 1000:.2f}',
                         candidates, 'ok' if right and few and seconds <= 5 else 'MISSED'])
    say(f'## Synthesis: the problems of Isolde\'s paper, {txns} transactions, 5 keys, 5 values')
    say()
    table(HEAD, rows)
    say(f'All: {total:.1f} s, {"ok" if total <= 60 else "MISSED"} (60).')
    say()


def main():
    def table(head, rows):
        for row in [head] + rows:
            print(' | '.join(map(str, row)))

    bench_synth(print, table, '--quick' in sys.argv)
    return 0


if __name__ == '__main__':
    sys.exit(main())
