#!/usr/bin/env python3
"""What each pass of the strategy bc is worth (bench/run calls this; also by itself):

usage: RATEL=build/ratel bench/bc.py [--quick]

Snapshot isolation of histories from a simulated store, without client times: each with all passes,
with each one missing, with none, and by the strategy lazy. Constraints are what bc gave to the
solver; k is the distance of heuristic edges at which it was decided (none: without them); order,
write, prune and solve are wall seconds.
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RATEL = os.path.abspath(os.environ.get('RATEL', os.path.join(HERE, '..', 'build', 'ratel')))
PASSES = ['heuristic-edges', 'session-ties', 'combine-writes', 'coalesce', 'prune-known']
SECONDS = 20
# name: arguments of gen; transactions are cut to 2000 by --quick
HISTORIES = {
    'blindw-rw, 5k, 1000 keys': ['blindw-rw', 5000, '--keys', 1000, '--ops', 8],
    'blindw-rw, 10k, 2000 keys': ['blindw-rw', 10000, '--keys', 2000, '--ops', 8],
    'rw-register, 5k': ['rw-register', 5000],
    'bank, 500, duplicate values': ['bank', 500],
    'blindw-rw, 2k, lost update': ['blindw-rw', 2000, '--keys', 1000, '--ops', 8,
                                   '--anomaly', 'lost-update'],
    'blindw-rw, 2k, causal store': ['blindw-rw', 2000, '--keys', 1000, '--ops', 8,
                                    '--isolation', 'causal'],
}
HEAD = ['passes', 'verdict', 'constraints', 'conflicts', 'k', 'order', 'write', 'prune', 'solve']


def generate(folder, name, txns, workload, *rest):
    path = os.path.join(folder, f'{name}.jsonl'.replace(' ', '-').replace(',', ''))
    command = [RATEL, 'gen', '--workload', workload, '--isolation', 'snapshot-isolation', '--txns',
               txns, '--sessions', 24, '--seed', 1, '--no-times', '--to', 'ratel', '-q',
               '--truth', os.devnull, '-o', path, *rest]
    subprocess.run([str(x) for x in command], check=True)
    return path


def measure(path, label, *args):
    command = [RATEL, 'check', '--json', '-q', '--level', 'snapshot-isolation', '--time',
               str(SECONDS), *args, path]
    p = subprocess.run(command, capture_output=True, text=True, check=False)
    if p.returncode not in (0, 1, 2):
        sys.exit(f'bench: exit {p.returncode}: {" ".join(command)}')
    a = json.loads(p.stdout)
    if a['verdict'] == 'undecided':
        return [label, f'> {SECONDS} s'] + [''] * (len(HEAD) - 2)
    stages = a.get('stages', {})
    rounds = [int(x.rsplit('-', 1)[1]) for x in stages if x.startswith('solve-k-')]
    k = 'none' if 'solve' in stages or not rounds else max(rounds)
    solving = sum(s for x, s in stages.items() if x.startswith('solve'))
    cells = [stages.get('order', 0), stages.get('write', 0),
             stages.get('prune', 0) + stages.get('settle', 0), solving]
    return [label, a['verdict'], a['solver']['clauses'], a['solver']['conflicts'], k,
            *(f'{s:.3f}' for s in cells)]


def bench_bc(say, table, quick):
    with tempfile.TemporaryDirectory(prefix='ratel-bench-bc-') as folder:
        for name, (workload, txns, *rest) in HISTORIES.items():
            if quick and txns > 2000:
                txns = 2000
            path = generate(folder, name, txns, workload, *rest)
            say(f'## Strategy bc, snapshot isolation: {name}' + (f' ({txns})' if quick else ''))
            say()
            bc = ['--strategy', 'bc', '--pass']
            rows = [measure(path, 'all', *bc, 'all')]
            rows += [measure(path, f'-{p}', *bc, f'-{p}') for p in PASSES]
            rows.append(measure(path, 'none', *bc, 'none'))
            rows.append(measure(path, '(lazy)'))
            table(HEAD, rows)


if __name__ == '__main__':
    def show(head, rows):
        for row in [head] + rows:
            print('  '.join(str(c).rjust(16) for c in row))
        print()
    bench_bc(lambda line='': print(line, flush=True), show, '--quick' in sys.argv)
