#!/usr/bin/env python3
"""Figures 8, 12, 13 and 15 of Viper (EuroSys 2023), at its sizes (bench/run calls this):

usage: RATEL=build/ratel bench/viper_figures.py [--quick] [8] [12] [13] [15]

BlindW-RW: half of the transactions only read, half only write, 8 operations, 2 000 keys, 24 clients.
Level: Adya SI. BENCH_LIMIT is the CPU time for one cell (60 s; Viper's is 600 s).
"""
import sys
import tempfile

from paper_figures import NOTE, Answer, generate, stand_alone

BLINDW = ['--keys', 2000, '--ops', 8, '--no-times']
BC = ['--strategy', 'bc', '--pass', 'all']
Z3_GSI = ['--backend', 'z3', '--encoding', 'gsi']
Z3_ASI = ['--backend', 'z3', '--encoding', 'adya']
# Figure 13, seconds: trials of GSI+Z3 and ASI+Z3, each with and without heuristic pruning
PUBLISHED_13 = {100: [('0.95', '0.91', '317.56', '133.01'), ('1.09', '1.15', '255.57', '50.17'),
                      ('0.94', '1.14', '21.41', '20.72')],
                200: [('10.30', '7.89', '119.76', '104.32'), ('6.03', '9.35', '91.07', '92.62'),
                      ('9.25', '11.15', '94.14', '99.89')],
                400: [('397.48', '393.41', 'TO', 'TO'), ('413.78', '491.17', 'TO', 'TO'),
                      ('TO', 'TO', 'TO', 'TO')]}
PUBLISHED_15 = {(2000, 'G1c'): '0.10', (2000, 'long-fork'): '0.12', (2000, 'G-SIb'): '3.61 to 52.91',
                (5000, 'G1c'): '0.26', (5000, 'long-fork'): '0.43',
                (5000, 'G-SIb'): '40.55, 183.07, 319.32, TO, TO'}


def figure_8(say, table, folder, quick):
    say('## Viper, Figure 8: Adya SI of BlindW-RW, by size')
    say()
    published = {400: 'ASI+Mono 2900 times as long as Viper', 10000: 'Viper 439.7'}
    rows, given_up = [], set()
    for txns in (100, 200, 400) if quick else (100, 200, 400, 1000, 2000, 5000, 10000):
        path = generate(folder, 'blindw-rw', txns, *BLINDW)
        row = [txns, Answer(path, 'adya-si').told(), Answer(path, 'adya-si', *BC).told()]
        for name, way in (('gsi', Z3_GSI), ('asi', Z3_ASI)):
            a = None if name in given_up else Answer(path, 'adya-si', *way)
            if a is None or a.verdict == 'undecided':
                given_up.add(name)
            row.append(a.told() if a else 'not tried')
        rows.append(row + [published.get(txns, 'a figure')])
    table(['transactions', 'Ratel', 'Ratel, strategy bc (Viper\'s idea)', 'GSI+Z3', 'ASI+Z3',
           'published'], rows)


def figure_12(say, table, folder, quick):
    say('## Viper, Figure 12: Adya SI of BlindW-RW, by clients')
    say()
    rows = []
    for clients in (8, 64) if quick else (8, 16, 24, 32, 48, 64):
        paths = [generate(folder, 'blindw-rw', n, *BLINDW, sessions=clients) for n in (2000, 5000, 8000)]
        rows.append([clients] + [Answer(p, 'adya-si').cell() for p in paths] +
                    [Answer(p, 'adya-si', *BC).cell() for p in paths])
    table(['clients', '2K', '5K', '8K', '2K, bc', '5K, bc', '8K, bc'], rows)
    say('Published, as text: nearly the same for 2K and 5K at all numbers of clients, falling for 8K.')
    say()


def figure_13(say, table, folder, quick):
    say('## Viper, Figure 13: two baselines on Z3, BlindW-RW, three trials')
    say()
    rows, given_up = [], set()
    for txns in (25, 50, 100) if quick else (25, 50, 75, 100, 200, 400):
        for trial in range(3):
            path = generate(folder, 'blindw-rw', txns, *BLINDW, seed=trial + 1)
            row = [txns, trial + 1, Answer(path, 'adya-si').cell()]
            for name, way in (('gsi', Z3_GSI), ('asi', Z3_ASI)):
                a = None if (name, txns) in given_up else Answer(path, 'adya-si', *way)
                if a and a.verdict == 'undecided' and trial:
                    given_up.add((name, txns))
                row.append(a.cell() if a else 'not tried')
            published = PUBLISHED_13.get(txns)
            rows.append(row + (list(published[trial]) if published else ['not published'] + [''] * 3))
    table(['transactions', 'trial', 'Ratel', 'GSI+Z3 here', 'ASI+Z3 here', 'published Z3-GSI',
           'Z3-GSI-OPT', 'Z3-ASI', 'Z3-ASI-OPT'], rows)
    say('The variants -OPT (heuristic pruning before Z3) are not built here: the paper finds that they')
    say('help little, and Ratel\'s strategy bc has that pruning before its own solver.')
    say()


def figure_15(say, table, folder, quick):
    say('## Viper, Figure 15: planted anomalies in BlindW-RW, five seeds each')
    say()
    say('G1c and long-fork are planted on keys of their own. The G-SIb (one anti-dependency: a lost')
    say('update, a read skew) is planted hidden: on keys that others write, with the order of the')
    say('versions to be found out, and decided with the passes that shortcut searches on and off.')
    say()
    kinds = {'G1c': ['circular-information-flow'], 'long-fork': ['long-fork'],
             'G-SIb': ['lost-update', 'read-skew']}
    off = ['--pass', '-derive,-settle,-settle-paths,-trial-run,-serial-first,-chain-first']
    rows = []
    for txns in (2000,) if quick else (2000, 5000):
        for name, anomalies in kinds.items():
            plant = ['--plant', 'hidden'] if name == 'G-SIb' else []
            plain, bare, bc, verdicts, conflicts = [], [], [], set(), 0
            for seed in range(1, 6):
                a = anomalies[seed % len(anomalies)]
                path = generate(folder, 'blindw-rw', txns, *BLINDW, '--anomaly', a, *plant, seed=seed)
                first, second, third = (Answer(path, 'adya-si', *way) for way in ([], off, BC))
                plain.append(first.cell())
                bare.append(second.cell())
                bc.append(third.cell())
                conflicts = max(conflicts, second.json.get('solver', {}).get('conflicts', 0))
                verdicts |= {x.verdict for x in (first, second, third)}
            rows.append([txns, name, ', '.join(plain), ', '.join(bare), ', '.join(bc), conflicts,
                         '/'.join(sorted(verdicts)), PUBLISHED_15[txns, name]])
    table(['transactions', 'anomaly', 'Ratel', 'without deriving passes', 'strategy bc',
           'most conflicts of the search', 'verdicts', 'Viper'], rows)


def bench_viper(say, table, quick, only=()):
    parts = {'8': figure_8, '12': figure_12, '13': figure_13, '15': figure_15}
    say(NOTE)
    say()
    with tempfile.TemporaryDirectory(prefix='ratel-bench-viper-') as folder:
        for name, part in parts.items():
            if not only or name in only:
                part(say, table, folder, quick)


if __name__ == '__main__':
    sys.exit(stand_alone(bench_viper))
