#!/usr/bin/env python3
"""Where each back end gives up (bench/run calls this; also by itself):

usage: RATEL=build/ratel bench/backends.py [--quick]

Histories of a simulated store, without client times, 8 operations in a transaction, 24 sessions, as
many keys as transactions; every back end and encoding doubles the transactions until one answer takes
more than SECONDS or is not given. Times are wall seconds of the process.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RATEL = os.path.abspath(os.environ.get('RATEL', os.path.join(HERE, '..', 'build', 'ratel')))
WAYS = {
    'own': ['--backend', 'own'],
    'z3': ['--backend', 'z3'],
    'z3, adya': ['--backend', 'z3', '--encoding', 'adya'],
    'z3, viper': ['--backend', 'z3', '--encoding', 'viper'],
    'z3, polysi': ['--backend', 'z3', '--encoding', 'polysi'],
    'cadical': ['--backend', 'cadical'],
    'cadical, viper': ['--backend', 'cadical', '--encoding', 'viper'],
    'cadical, polysi': ['--backend', 'cadical', '--encoding', 'polysi'],
}
LEVELS = ['serializable', 'snapshot-isolation', 'causal']


def generate(folder, txns):
    path = os.path.join(folder, f'{txns}.jsonl')
    subprocess.run([RATEL, 'gen', '--workload', 'blindw-rw', '--isolation', 'serializable', '--txns',
                    str(txns), '--sessions', '24', '--keys', str(txns), '--ops', '8', '--seed', '1',
                    '--no-times', '--to', 'ratel', '-q', '--truth', os.devnull, '-o', path], check=True)
    return path


def measure(path, level, way, limit):
    start = time.monotonic()
    command = [RATEL, 'check', '--json', '-q', '--level', level, '--time', str(limit), *way, path]
    try:
        p = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3 * limit)
    except subprocess.TimeoutExpired:
        return f'> {limit} s', False
    took = time.monotonic() - start
    if p.returncode not in (0, 1):
        reason = json.loads(p.stdout)['reason'] if p.stdout else p.stderr.strip()
        return ('too many clauses' if 'clauses' in reason else f'> {limit} s'), False
    return f'{took:.2f}', took <= limit


def bench_backends(say, table, quick):
    limit, sizes = (5, [25, 50, 100, 200]) if quick else (60, [25, 50, 100, 200, 400, 800, 1600])
    say('## Back ends: seconds, and where each gives up')
    say()
    with tempfile.TemporaryDirectory() as folder:
        paths = [generate(folder, n) for n in sizes]
        for level in LEVELS:
            rows = []
            for name, way in WAYS.items():
                if '--encoding' in way and level != 'snapshot-isolation':
                    continue
                cells, going = [], True
                for path in paths:
                    cell, going = measure(path, level, way, limit) if going else ('', False)
                    cells.append(cell)
                rows.append([name, *cells])
            table([level, *(f'{n} transactions' for n in sizes)], rows)
            say()


def main():
    def table(head, rows):
        for row in [head, ['---'] * len(head), *rows]:
            print('| ' + ' | '.join(map(str, row)) + ' |', flush=True)
    bench_backends(lambda line='': print(line, flush=True), table, '--quick' in sys.argv)


if __name__ == '__main__':
    main()
