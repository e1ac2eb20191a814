"""Two tables of bench/run: every NP-complete level on every kind of operation (`levels`), and the
ways to encode snapshot isolation (`encodings`).

Histories come from a simulated store of the level itself where there is one (else of the nearest
stronger), without client times, so that nothing is accepted by walking along them. Obligations are
reads, returned rows and covered absent keys; choices those with several possible writers.
"""
import json
import os

SESSIONS, KEYS, SECONDS = 24, 10_000, 60
WORKLOADS = ['blindw-rw', 'random-range', 'random-bench', 'tpcc', 'fs-metadata']
# level: the store that its histories come from
LEVELS = {
    'serializable': 'serializable', 'snapshot-isolation': 'snapshot-isolation',
    'repeatable-read': 'repeatable-read', 'cursor-stability': 'repeatable-read',
    'prefix': 'prefix', 'parallel-snapshot-isolation': 'parallel-snapshot-isolation',
    'consistent-view': 'parallel-snapshot-isolation',
    'monotonic-view': 'parallel-snapshot-isolation',
    'update-atomic': 'parallel-snapshot-isolation', 'no-lost-update': 'no-lost-update',
    'update-serializable': 'stale-serializable', 'causal': 'causal', 'read-atomic': 'read-atomic',
    'monotonic-atomic-view': 'read-atomic',
}
WORST, GROWTH = 50, 25   # times the first cell, per obligation; ten times the transactions
ENCODINGS = {
    'lazy, begin/commit': ['--si-encoding', 'bc'],
    'lazy, induced (PolySI)': ['--si-encoding', 'induced'],
    'lazy, begin/commit, no serial try': ['--si-encoding', 'bc', '--pass', '-serial-first'],
    'lazy, induced, no serial try': ['--si-encoding', 'induced', '--pass', '-serial-first'],
    'begin/commit polygraph (Viper)': ['--strategy', 'bc'],
    'polygraph (VeriStrong)': ['--strategy', 'polygraph'],
}


class Cells:
    """Histories and what there is to explain in them, each made and counted once."""
    def __init__(self, ratel, run, folder):
        self.ratel, self.run, self.folder, self.counts, self.rate = ratel, run, folder, {}, None

    def history(self, workload, store, txns):
        path = os.path.join(self.folder, f'levels-{workload}-{store}-{txns}.rbin')
        if not os.path.exists(path):
            self.run([self.ratel, 'gen', '-w', workload, '-i', store, '-n', str(txns), '-s',
                      str(SESSIONS), '-k', str(KEYS), '--seed', '1', '--no-times', '--to',
                      'ratel-bin', '-q', '--truth', os.devnull, '-o', path])
        if path not in self.counts:
            dump = path + '.asg'
            self.run([self.ratel, 'check', '-q', '--dump', 'asg', '-o', dump, path])
            with open(dump, encoding='utf-8') as f:
                words = f.readline().split()   # asg nodes N installs N reads N open N ...
            os.remove(dump)
            self.counts[path] = (int(words[words.index('reads') + 1]),
                                 int(words[words.index('open') + 1]))
        return path, *self.counts[path]

    def md5sum(self, path):
        """CPU seconds that md5sum takes a file: by its size, from one long run, since the files are
        too small to be timed themselves."""
        if self.rate is None:
            block = os.urandom(1 << 20)
            large = os.path.join(self.folder, 'md5sum.bytes')
            with open(large, 'wb') as f:
                for _ in range(256):
                    f.write(block)
            self.rate = self.run(['md5sum', large]).cpu / os.path.getsize(large)
            os.remove(large)
        return self.rate * os.path.getsize(path)

    def check(self, level, path, words, rounds):
        runs = [self.run([self.ratel, 'check', '--json', '-q', '--time', str(SECONDS), '--level',
                          level, *words, path]) for _ in range(rounds)]
        run = min(runs, key=lambda r: r.cpu)
        return run, json.loads(run.text.splitlines()[0])


def seconds(run, answer):
    """What is shown, and whether it is an answer at all."""
    late = answer['verdict'] == 'undecided'
    why = answer.get('reason', '')
    if late and 'time' not in why:
        return 'refused', False
    return (f'> {SECONDS}' if late else f'{run.cpu:.2f}'), not late


def bench_levels(say, table, cells, quick, rounds):
    sizes = [1_000, 10_000] if quick else [10_000, 100_000]
    reference = {}
    small = {}
    for txns in sizes:
        say(f'## Levels by workloads, {txns} transactions, {KEYS} keys, no client times')
        say()
        rows = []
        for level, store in LEVELS.items():
            for workload in WORKLOADS:
                path, obligations, choices = cells.history(workload, store, txns)
                run, answer = cells.check(level, path, [], rounds if txns == sizes[0] else 1)
                text, decided = seconds(run, answer)
                each = run.cpu / max(obligations, 1)
                reference.setdefault(txns, each)
                times = each / reference[txns]
                before = small.get((level, workload)) if decided else None
                growth = run.cpu / before if before else None
                if decided:
                    small.setdefault((level, workload), run.cpu)
                missed = not decided or times > WORST or (growth and growth > GROWTH)
                rows.append([f'{level}, {workload}', answer['verdict'], text,
                             f'{run.peak / 2**20:.0f}', obligations, choices,
                             answer['solver']['conflicts'], f'{each * 1e9:.0f}',
                             f'{run.cpu / cells.md5sum(path):.1f}', f'{times:.1f}',
                             f'{growth:.1f}' if growth else '', 'MISSED' if missed else 'ok'])
        table(['level, workload', 'verdict', 'CPU s', 'MiB', 'obligations', 'choices',
               'conflicts', 'ns each', 'x md5sum', f'x first (<= {WORST})',
               f'growth (<= {GROWTH})', ''], rows)


def bench_encodings(say, table, cells, quick, rounds):
    for workload in ('blindw-rw', 'random-bench', 'ycsb', 'tpcc'):
        for store in ('snapshot-isolation', 'parallel-snapshot-isolation'):
            txns = 1_000 if quick else 10_000
            path, obligations, choices = cells.history(workload, store, txns)
            say(f'## Encodings of snapshot isolation: {workload} from a {store} store, {txns} '
                f'transactions, {obligations} obligations, {choices} choices')
            say()
            rows = []
            for name, words in ENCODINGS.items():
                run, answer = cells.check('snapshot-isolation', path, words, 1)
                text, _ = seconds(run, answer)
                solver = answer['solver']
                rows.append([name, answer['verdict'], text, f'{run.peak / 2**20:.0f}',
                             solver['vars'], solver['clauses'], solver['conflicts']])
            table(['encoding', 'verdict', 'CPU s', 'MiB', 'variables', 'clauses', 'conflicts'],
                  rows)
