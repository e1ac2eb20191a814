#!/usr/bin/env python3
"""Where each back end gives up (bench/run calls this; also by itself):

usage: RATEL=build/ratel bench/backends.py [--quick] [LEVEL ...]

Histories of a simulated store, without client times, 8 operations in a transaction, 24 sessions, as
many keys as transactions; every back end and encoding doubles the transactions until one answer takes
more than BENCH_LIMIT or is not given, or until the largest size. Times are user seconds of the process,
one thread, so that a loaded machine changes them little. `own` decides with its defaults and, in a second
row, with the lazy search alone: without the orders, levels and rules that it tries before searching.
"""
import sys
import tempfile

from paper_figures import LIMIT, Answer, generate

WAYS = {
    'own': ['--backend', 'own'],
    'own, search alone': ['--backend', 'own', '--pass', 'none'],
    'z3': ['--backend', 'z3'],
    'z3, adya': ['--backend', 'z3', '--encoding', 'adya'],
    'z3, viper': ['--backend', 'z3', '--encoding', 'viper'],
    'z3, polysi': ['--backend', 'z3', '--encoding', 'polysi'],
    'cadical': ['--backend', 'cadical'],
    'cadical, viper': ['--backend', 'cadical', '--encoding', 'viper'],
    'cadical, polysi': ['--backend', 'cadical', '--encoding', 'polysi'],
}
MEMORY = 2000  # MiB
LEVELS = ['serializable', 'snapshot-isolation', 'causal']


def measure(path, level, way, limit):
    answer = Answer(path, level, *way, '--memory', MEMORY, limit=limit)
    reason = answer.json.get('reason', '')
    for word in ('clauses', 'memory'):
        if answer.verdict == 'undecided' and word in reason:
            return 'too many clauses' if word == 'clauses' else f'> {MEMORY} MiB', False
    return answer.cell(), answer.verdict != 'undecided'


def bench_backends(say, table, quick, levels=None):
    limit = min(LIMIT, 5) if quick else LIMIT
    sizes = [25, 50, 100, 200] if quick else [25, 50, 100, 200, 400, 800, 1600, 3200, 100000]
    say('## Back ends: user seconds, and where each gives up')
    say()
    say(f'{limit} s of CPU and {MEMORY} MiB for a cell. Empty: a smaller one had reached a limit.')
    say()
    with tempfile.TemporaryDirectory() as folder:
        paths = [generate(folder, 'blindw-rw', n, '--keys', n, '--ops', 8, '--no-times',
                          isolation='serializable') for n in sizes]
        for level in levels or LEVELS:
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
    bench_backends(lambda line='': print(line, flush=True), table, '--quick' in sys.argv,
                   [word for word in sys.argv[1:] if word != '--quick'])


if __name__ == '__main__':
    main()
