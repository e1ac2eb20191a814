#!/usr/bin/env python3
"""What recording costs: throughput of `ratel run` with and without it, in turns, the best of each
and the medians (bench/run calls this; also by itself):

usage: RATEL=build/ratel bench/record.py [--quick] [--sessions=N] [URL...]

Promised: at most 10% of the throughput of the same driver with a server, 50% with SQLite in memory.
The recorder is a process that wants a core too, so the numbers of a busy machine mean little.
"""
import json
import os
import statistics
import subprocess
import sys

from plain_output import plain_table, say_line

HERE = os.path.dirname(os.path.abspath(__file__))
RATEL = os.path.abspath(os.environ.get('RATEL', os.path.join(HERE, '..', 'build', 'ratel')))
PROMISED = {'sqlite::memory:': 0.5, 'postgres:temp': 0.1, 'mariadb:temp': 0.1}
HEAD = ['database', 'workload', 'not recorded/s', 'recorded/s', 'cost', 'cost of medians', 'promised', '']
WORKLOADS = 'blindw-rw', 'ycsb'   # hot keys would measure who waits for whom


def rate(url, workload, seconds, *more):
    """Committed transactions a second, or None if there is no such database here."""
    p = subprocess.run([RATEL, 'run', '--db', url, '--workload', workload, '--for', f'{seconds}s',
                        '--json', '-q', '-o', '/dev/null', *more], capture_output=True, text=True)
    if p.returncode != 0:
        return None
    told = json.loads(p.stdout)
    return told['committed'] / told['seconds']


def bench_record(say, table, quick, urls=(), sessions=8):
    seconds, turns = (1, 4) if quick else (2, 7)
    rows = []
    for url in urls or PROMISED:
        for workload in WORKLOADS:
            many = '--sessions', str(sessions)
            pairs = [(rate(url, workload, seconds, '--no-record', *many), rate(url, workload, seconds, *many))
                     for _ in range(turns)]
            if None in pairs[0]:
                rows.append([url, workload, '-', '-', '-', '-', '', 'not here'])
                continue
            without, recorded = (max(column) for column in zip(*pairs))
            usual, when_recorded = (statistics.median(column) for column in zip(*pairs))
            cost, promise = 1 - recorded / without, PROMISED.get(url)
            rows.append([url, workload, f'{without:.0f}', f'{recorded:.0f}', f'{cost:.0%}',
                         f'{1 - when_recorded / usual:.0%}', '' if promise is None else f'{promise:.0%}',
                         'MISSED' if promise is not None and cost > promise else 'ok'])
    say(f'## Recording: the best of {turns} runs of {seconds} s each way, in turns, {sessions} sessions')
    say()
    table(HEAD, rows)
    say()


def main():
    sessions = [int(a.split('=')[1]) for a in sys.argv if a.startswith('--sessions=')]
    bench_record(say_line, plain_table, '--quick' in sys.argv,
                 [a for a in sys.argv[1:] if not a.startswith('--')], *sessions)
    return 0


if __name__ == '__main__':
    sys.exit(main())
