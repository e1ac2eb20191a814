#!/usr/bin/env python3
"""Every construct of the language of levels against the nearest built-in level (doc/synth.md):

usage: RATEL=build/ratel bench/iso_constructs.py [--quick] [--rounds N] [--size N,...] [--only WORD]

Each construct stands in a small level of its own, decided with the recognition of built-in levels
switched off, on histories that hold: of a simulated store that is no stronger than the level where there
is one, and, up to 10 000 transactions, of a serializable one. A cell is the user seconds of the level as
text, the least of N rounds, and how many times that of the built-in level, whose rounds alternate with it.
The aim is at most 3. Reading the history is in both.
"""
import argparse
import os
import sys
import tempfile

os.environ.setdefault('BENCH_LIMIT', '120')
from paper_figures import Answer, generate  # noqa: E402

MOST = 3
WORKLOADS = {'blindw-rw': [], 'ycsb-bl': ['--ops', 8], 'random-range': []}
SCANS_UPTO = 10000  # random-range: built-in levels of sessions take minutes above
# construct, over, axioms, nearest built-in level, the store that is no stronger, client times
CONSTRUCTS = [
    ('one letter: so', 'co', 'commit(so);', 'read-your-writes', 'causal', 0),
    ('one letter: wr', 'co', 'commit(wr);', 'read-atomic', 'read-atomic', 0),
    ('one letter: ww', 'co', 'commit(ww);', 'update-atomic', 'parallel-snapshot-isolation', 0),
    ('one letter: co', 'co', 'commit(co);', 'serializable', 'serializable', 0),
    (';', 'co', 'commit(wr ; so);', 'monotonic-reads', 'causal', 0),
    ('; of three', 'co', 'commit(wr ; so ; wr);', 'causal', 'causal', 0),
    ('|', 'co', 'commit(so | wr);', 'read-atomic', 'read-atomic', 0),
    ('?', 'co', 'commit((so | wr) ; wr? ; so?);', 'causal', 'causal', 0),
    ('+', 'co', 'commit((so | wr)+);', 'causal', 'causal', 0),
    ('*', 'co', 'commit((so | wr)* ; wr);', 'causal', 'causal', 0),
    ('+ and ;', 'co', 'commit((so | wr)+ ; ww);', 'parallel-snapshot-isolation', 'parallel-snapshot-isolation', 0),
    ('+ with ww', 'co', 'commit((so | wr | ww)+);', 'parallel-snapshot-isolation', 'parallel-snapshot-isolation', 0),
    ('two + in a row', 'co', 'commit(wr+ ; so+);', 'causal', 'causal', 0),
    ('four steps', 'co', 'commit(so? ; wr ; so ; wr);', 'causal', 'causal', 0),
    ('id', 'co', 'commit((so | wr) ; (id | so));', 'causal', 'causal', 0),
    ('co? ;', 'co', 'commit(co? ; (so | wr));', 'prefix', 'prefix', 0),
    ('co? ; and ww', 'co', 'commit(co? ; (so | wr | ww));', 'snapshot-isolation', 'snapshot-isolation', 0),
    ('test [upd] at the end', 'co', 'commit((so | wr)+ ; [upd]);', 'causal', 'causal', 0),
    ('test [ro] at the end', 'co', 'commit((so | wr)+ ; [ro]);', 'causal', 'causal', 0),
    ('test inside of +', 'co', 'commit(([upd] ; (so | wr))+);', 'causal', 'causal', 0),
    ('test, co', 'co', 'commit(co ; [upd]);', 'update-serializable', 'stale-serializable', 0),
    ('& (S x S)', 'co', 'commit(((so | wr) & (upd x upd))+);', 'causal', 'causal', 0),
    ('\\ (S x S)', 'co', 'commit(((so | wr) \\ (ro x upd))+);', 'causal', 'causal', 0),
    ('set of sets', 'co', 'commit((so | wr)+ ; [(upd | ro) \\ init]);', 'causal', 'causal', 0),
    ('named relation', 'co', 'commit(seen+);', 'causal', 'causal', 0),
    ('two axioms', 'co', 'commit(so | wr); commit(wr ; so ; wr);', 'causal', 'causal', 0),
    ('and', 'co', 'commit(so) and commit(wr);', 'read-atomic', 'read-atomic', 0),
    ('po', 'co', 'commit(wr ; po);', 'monotonic-atomic-view', 'read-committed', 0),
    ('po?', 'co', 'commit((so | wr | ww)+ ; po?);', 'monotonic-view', 'parallel-snapshot-isolation', 0),
    ('+ and po', 'co', 'commit((so | wr)+ ; po);', 'monotonic-view', 'causal', 0),
    ('irreflexive(P ; rw)', 'co', 'irreflexive((so | wr)+ ; rw);', 'causal', 'causal', 0),
    ('irreflexive(rw ; P)', 'co', 'irreflexive(rw ; (so | wr | ww)+);', 'parallel-snapshot-isolation',
     'parallel-snapshot-isolation', 0),
    ('irreflexive, two rw', 'co', 'irreflexive(rw ; (so | wr | ww)+ ; rw);', 'serializable', 'serializable', 0),
    ('acyclic, all edges', 'co', 'acyclic(so | wr | ww | rw);', 'serializable', 'serializable', 0),
    ('acyclic, rw at most once in a row', 'co', 'acyclic((so | wr | ww) ; rw?);', 'snapshot-isolation',
     'snapshot-isolation', 0),
    ('acyclic, no rw', 'co', 'acyclic(so | wr | ww);', 'read-committed', 'read-committed', 0),
    ('acyclic, wr and rw', 'co', 'acyclic(wr | rw);', 'serializable', 'serializable', 0),
    ('acyclic among updates', 'co', 'acyclic([upd] ; (so | wr | ww | rw) ; [upd]);', 'update-serializable',
     'stale-serializable', 0),
    ('acyclic(rw-item)', 'co', 'acyclic(so | wr | ww | rw-item);', 'repeatable-read', 'repeatable-read', 0),
    ('acyclic(rw-pred)', 'co', 'acyclic(so | wr | ww | rw-pred);', 'serializable', 'serializable', 0),
    ('irreflexive(P ; rw-pred)', 'co', 'irreflexive((so | wr)+ ; rw-pred);', 'causal', 'causal', 0),
    ('irreflexive(P ; rw-item)', 'co', 'irreflexive((so | wr)+ ; rw-item);', 'causal', 'causal', 0),
    ('one key: ww[x] ; rw-item[x]', 'co', 'all x:key | irreflexive(ww[x] ; rw-item[x]);', 'cursor-stability',
     'repeatable-read', 0),
    ('one key: ww[x] ; rw[x]', 'co', 'all x:key | irreflexive(ww[x] ; rw[x]);', 'cursor-stability',
     'snapshot-isolation', 0),
    ('X in co', 'co', 'so | wr in co;', 'read-committed', 'read-committed', 0),
    ('rw in co', 'co', 'rw in co;', 'serializable', 'serializable', 0),
    ('rt in co, commit(co)', 'co', 'rt in co; commit(co);', 'strict-serializable', 'serializable', 1),
    ('commit with rt', 'co', 'commit((so | wr | rt)+);', 'realtime-causal', 'snapshot-isolation', 1),
    ('commit(rt)', 'co', 'commit(rt);', 'realtime-read-atomic', 'snapshot-isolation', 1),
    ('rt, wr and ww', 'co', 'commit((so | rt | wr | ww)+);', 'forward-consistent-view', 'snapshot-isolation', 1),
    ('acyclic with rt', 'co', 'acyclic(so | wr | ww | rw | rt);', 'strict-serializable', 'serializable', 1),
    ('rt \\ so', 'co', 'commit((wr | rt \\ so)+);', 'realtime-causal', 'snapshot-isolation', 1),
    ('so^-1 inside of a difference', 'co', 'commit((wr | rt \\ (so | so^-1))+);', 'realtime-causal',
     'snapshot-isolation', 1),
    ('so & rt', 'co', 'commit(wr | so & rt);', 'realtime-read-atomic', 'snapshot-isolation', 1),
    ('vis: nothing more', 'vis, ar', 'true;', 'read-atomic', 'read-atomic', 0),
    ('vis: transitive(vis)', 'vis, ar', 'transitive(vis);', 'causal', 'causal', 0),
    ('vis ; vis in vis', 'vis, ar', 'vis ; vis in vis;', 'causal', 'causal', 0),
    ('X ; vis in vis', 'vis, ar', 'so ; vis in vis;', 'causal', 'causal', 0),
    ('vis ; X in vis', 'vis, ar', 'vis ; so in vis;', 'causal', 'causal', 0),
    ('ar ; vis in vis', 'vis, ar', 'ar ; vis in vis;', 'prefix', 'prefix', 0),
    ('X in vis', 'vis, ar', 'wr ; so ; wr in vis;', 'causal', 'causal', 0),
    ('rt in vis', 'vis, ar', 'rt in vis;', 'realtime-read-atomic', 'snapshot-isolation', 1),
    ('NOCONFLICT', 'vis, ar', 'all x:key, a,b:W[x] | a != b => vis(a,b) or vis(b,a);', 'update-atomic',
     'parallel-snapshot-isolation', 0),
    ('NOCONFLICT, transitive', 'vis, ar', 'transitive(vis); all x:key, a,b:W[x] | a != b => vis(a,b) or vis(b,a);',
     'parallel-snapshot-isolation', 'parallel-snapshot-isolation', 0),
    ('PREFIX and NOCONFLICT', 'vis, ar', 'ar ; vis in vis; all x:key, a,b:W[x] | a != b => vis(a,b) or vis(b,a);',
     'snapshot-isolation', 'snapshot-isolation', 0),
    ('total(vis, txn)', 'vis, ar', 'total(vis, txn);', 'serializable', 'serializable', 0),
    ('total(vis, upd)', 'vis, ar', 'total(vis, upd);', 'update-serializable', 'stale-serializable', 0),
    ('ww in vis', 'vis, ar', 'ww in vis;', 'update-atomic', 'parallel-snapshot-isolation', 0),
]
NEEDS_TIMES = ('cc and bc', 'vis, ar', 'cc in ar; empty(vis & bc^-1);', 'prefix-consistent-snapshot-isolation',
               'snapshot-isolation', 1)


def level_file(folder, number, row):
    path = os.path.join(folder, f'{number}.iso')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(f'rel seen = so | wr;\nlevel mine over {row[1]} {{\n    {row[2]}\n}}\n')
    return path


def measure(path, text, nearest, rounds):
    """The least user seconds of both, their answers and why, rounds alternating."""
    best = [None, None]
    for _ in range(rounds):
        for i, (level, more) in enumerate(((nearest, []), (text, ['--pass', '-recognise-levels']))):
            a = Answer(path, level, *more)
            if best[i] is None or a.cpu < best[i].cpu:
                best[i] = a
            if a.verdict == 'undecided':
                break
    return best


def cell_of(built_in, text):
    if built_in.verdict != 'holds':
        return f'{built_in.told()} built in', 0
    if text.verdict != 'holds':
        return f'{text.told()} {text.json.get("reason", "")}', MOST + 1
    ratio = text.cpu / max(built_in.cpu, 0.01)
    return f'{text.cpu:.2f} ({ratio:.1f})', ratio


def bench_constructs(say, table, sizes, rounds, only):
    rows_of = [r for r in CONSTRUCTS + [NEEDS_TIMES] if not only or only in r[0] or only in r[2]]
    for txns in sizes:
        say(f'## {txns} transactions')
        say()
        missed, worst = [], (0, '')
        workloads = {w: x for w, x in WORKLOADS.items() if w != 'random-range' or txns <= SCANS_UPTO}
        with tempfile.TemporaryDirectory(prefix='ratel-bench-iso-') as folder:
            rows = []
            for number, row in enumerate(rows_of):
                name, _, axioms, nearest, store, times = row
                text = level_file(folder, number, row)
                for isolation in dict.fromkeys((store, 'serializable') if txns <= SCANS_UPTO else (store,)):
                    cells = []
                    for workload, more in workloads.items():
                        path = generate(folder, workload, txns, *more, *([] if times else ['--no-times']),
                                        isolation=isolation)
                        cell, ratio = cell_of(*measure(path, text, nearest, rounds))
                        cells.append(cell)
                        worst = max(worst, (ratio, f'{name}, {isolation}, {workload}'))
                        if ratio > MOST:
                            missed.append(f'{name}, {isolation}, {workload}: {cell}')
                    rows.append([name, f'`{axioms}`'.replace('|', '\\|'), nearest, isolation, *cells])
                    print(name, isolation, *cells, sep='\t', file=sys.stderr, flush=True)
        table(['construct', 'level', 'nearest built-in', 'store', *workloads], rows)
        say(f'Largest ratio: {worst[0]:.1f} ({worst[1]}). Above {MOST}: {len(missed)}.')
        for line in missed:
            say(f'- {line}')
        say()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--size', default='10000,100000')
    parser.add_argument('--only', default='')
    args = parser.parse_args()

    def table(head, rows):
        for row in [head, ['---'] * len(head), *rows]:
            print('| ' + ' | '.join(map(str, row)) + ' |', flush=True)
        print()
    sizes = [1000] if args.quick else [int(n) for n in args.size.split(',')]
    bench_constructs(lambda line='': print(line, flush=True), table, sizes, args.rounds, args.only)


if __name__ == '__main__':
    main()
