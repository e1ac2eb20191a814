#!/usr/bin/env python3
"""Figures 5 and 15 of VeriStrong, at its sizes (bench/run calls this):

usage: RATEL=build/ratel bench/veristrong_figures.py [--quick] [5] [15]

Serializability of the paper's six workloads, 10 000 transactions, 20 operations each where a workload
leaves that open, 20 sessions, 5 000 keys, by the strategy polygraph without its choice of polarity
(the paper's variant (i)). BENCH_LIMIT is the CPU time for one cell (60 s; the paper's is 600 s).
"""
import sys
import tempfile

from paper_figures import NOTE, Answer, generate, stand_alone

YCSB = ['--keys', 5000, '--ops', 8]
WORKLOADS = {'G-TPCC': ('tpcc', []), 'G-Twitter': ('twitter', []), 'G-RUBiS': ('rubis', []),
             'RH': ('ycsb-rh', YCSB), 'BL': ('ycsb-bl', YCSB), 'WH': ('ycsb-wh', YCSB),
             'HD': ('ycsb-hd', YCSB)}
# Table 1: conflicts without the choice of polarity
CONFLICTS = {'G-TPCC': 0, 'G-Twitter': 99, 'G-RUBiS': 246, 'RH': 0, 'BL': 497, 'WH': 1427, 'HD': 2047}
WIDTHS = {1: '-cycles-2', 2: 'cycles-2', 3: 'cycles-2,cycles-3', 4: 'cycles-2,cycles-3,cycles-4'}


def history_of(folder, name, txns):
    workload, more = WORKLOADS[name]
    return generate(folder, workload, txns, *more, '--no-times', isolation='serializable', sessions=20)


def histories(folder, quick):
    for name in WORKLOADS:
        yield name, history_of(folder, name, 1000 if quick else 10000)


def ask(path, passes):
    return Answer(path, 'ser', '--stats', '--strategy', 'polygraph', '--pass',
                  f'-topological,-chain-first,{passes}')


def figure_5(say, table, folder, quick):
    say('## VeriStrong, Figure 5: widths of the cycles of conflicts, without clauses for cycles in advance')
    say()
    say('Each workload at 10 000 transactions, as in the paper, and at sizes below, up to the first one that')
    say('reaches the limit: without pruning, the widths show only there.')
    say()
    ways = {'no pruning': '-cycles-2,-prune-ww,-prune-wr,-prune-rw', 'pruning': '-cycles-2'}
    rows = []
    for name in WORKLOADS:
        for way, passes in ways.items():
            for txns in (500, 1000) if quick else (500, 1000, 2000, 5000, 10000):
                answer = ask(history_of(folder, name, txns), passes)
                solver = answer.json.get('solver', {})
                widths = solver.get('conflict_widths', [])
                total = sum(widths)
                shares = [f'{100 * w / total:.0f}%' if total else '-' for w in (widths or [0] * 8)[:8]]
                rows.append([name, way, txns, answer.told(), solver.get('conflicts', 0), total, *shares,
                             CONFLICTS[name] if txns == 10000 else ''])
                if answer.verdict == 'undecided':
                    break
    table(['workload', '', 'transactions', 'user s', 'conflicts', 'cycles',
           *(f'width {i}' for i in range(1, 8)), 'wider', 'published conflicts'], rows)
    say('Width: how many chosen edges are on the cycle. The figure\'s own numbers are a drawing; what')
    say('the paper says of it is that width 2 covers most conflicts. Published conflicts: its Table 1,')
    say('without the choice of polarity.')
    say()


def figure_15(say, table, folder, quick):
    say('## VeriStrong, Figure 15: clauses for cycles up to a width, in advance')
    say()
    rows = []
    for name, path in histories(folder, quick):
        if name != 'G-TPCC':
            rows.append([name] + [ask(path, passes).cell() for passes in WIDTHS.values()])
    table(['workload', *(f'w = {w}' for w in WIDTHS)], rows)
    say('Published, as text: w = 2 is the best for all six workloads but RH, which has hardly any cycles.')
    say()


def bench_veristrong(say, table, quick, only=()):
    parts = {'5': figure_5, '15': figure_15}
    say(NOTE)
    say()
    with tempfile.TemporaryDirectory(prefix='ratel-bench-veristrong-') as folder:
        for name, part in parts.items():
            if not only or name in only:
                part(say, table, folder, quick)


if __name__ == '__main__':
    sys.exit(stand_alone(bench_veristrong))
