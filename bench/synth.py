#!/usr/bin/env python3
"""The 46 problems of Isolde's paper (bench/run calls this; also by itself):

usage: RATEL=build/ratel bench/synth.py [--quick]

10 transactions (--quick: 5), 5 keys, 5 values, Isolde's restrictions; proofs for all sizes switched off,
so that every answer is searched. Isolde's column is its own record (test/synth/problems.tsv), on another
machine; ours is the user time of the process, one thread. Promised: no problem above 5 s, 60 s for all, at most 5
candidates where there is no history. Then what each idea is worth: the same at 5 transactions with one
switched off, 5 s a problem; and with the other engine, if the build has it.
"""
import json
import os
import resource
import subprocess
import sys

from plain_output import plain_table, say_line

HERE = os.path.dirname(os.path.abspath(__file__))
RATEL = os.path.abspath(os.environ.get('RATEL', os.path.join(HERE, '..', 'build', 'ratel')))
PROBLEMS = os.path.join(HERE, '..', 'test', 'synth', 'problems.tsv')
HEAD = ['problem', 'answer', 'seconds', 'candidates', 'clauses', 'Isolde s', 'Isolde candidates', '']


SWITCHES = [[], ['--no-smart'], ['--no-least'], ['--no-fixed'], ['--no-learn'], ['--brute-force'],
            ['--engine', 'cadical']]


def problems():
    with open(PROBLEMS, encoding='utf-8') as f:
        for line in f:
            if not line.startswith('#'):
                yield line.rstrip('\n').split('\t')


def solve(allow, forbid, txns, *switches, limit=60):
    start = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    p = subprocess.run([RATEL, 'synth', '--allow', allow, '--forbid', forbid, '--txns', str(txns),
                        '--isolde', '--no-proof', '--json', '--time', str(limit), *switches],
                       capture_output=True, text=True)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - start
    return spent, json.loads(p.stdout) if p.stdout else None


def bench_switches(say, table):
    rows = []
    for switch in SWITCHES:
        solved = candidates = clauses = total = 0
        for _, allow, forbid, least, _, _ in problems():
            seconds, o = solve(allow, forbid, 5, *switch, limit=5)
            if o is None:
                break
            total += seconds
            clauses += o['solver']['clauses']
            candidates += o['candidates']
            solved += o['result'] == ('history' if int(least) else 'none-up-to-scope')
        name = ' '.join(switch) or 'all'
        rows.append([name] + (['not in this build', '', '', ''] if o is None else
                              [f'{solved} of 46', f'{total:.1f}', candidates, clauses]))
    say('## Synthesis: what each idea is worth, 5 transactions, 5 s a problem')
    say()
    table(['', 'solved', 'seconds', 'candidates', 'clauses'], rows)
    say()


def bench_synth(say, table, quick):
    txns = 5 if quick else 10
    rows, total = [], 0
    for no, allow, forbid, least, ms, candidates in problems():
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
    if not quick:
        bench_switches(say, table)


def main():
    bench_synth(say_line, plain_table, '--quick' in sys.argv)
    return 0


if __name__ == '__main__':
    sys.exit(main())
