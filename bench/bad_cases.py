"""Bad cases: small histories of shapes that are known to be hard for some stage of some level.

    bench/bad_cases.py                      the names of the shapes
    bench/bad_cases.py SHAPE [N] [SEED]     a history of about N operations (20 000) to standard output
    RATEL=build/ratel bench/bad_cases.py again RESULTS [SECONDS]
                                            measures the cells again that were late in a results file
    RATEL=build/ratel bench/bad_cases.py all [SECONDS]
                                            measures every shape at every level

Each shape is a function that runs transactions on a small store, one after the other, and records
what they saw; sessions and outcomes are then dealt out so that the checker knows as little as
possible. All of them are serializable unless their name says otherwise, and a shape whose name ends
in `-broken` is the shape with one read changed, so that a contradiction is hidden in it.
"""
import json
import os
import random
import resource
import subprocess
import sys
import tempfile

SHAPES = {}
OPS = 20000


def shape(f):
    SHAPES[f.__name__.replace('_', '-')] = f
    return f


class Store:
    """Runs transactions one by one and writes down what they saw. Times are those of that order."""
    def __init__(self, init=0, times=False):
        self.head = {'ratel': 1, 'init': init}
        self.init, self.times = init, times
        self.value, self.txns, self.fresh = {}, [], 0

    def new(self):
        self.fresh += 1
        return self.fresh

    def get(self, key):
        return self.value.get(key, self.init)

    def run(self, session, ops, status='committed', begin=None, end=None):
        """ops: ('r', key), ('w', key, value), ('d', key), ('s', lo, hi) for a scan."""
        done, own = [], dict(self.value)
        for op in ops:
            kind, key = op[0], op[1]
            if kind == 'r':
                done.append(['r', key, own.get(key, self.init)])
            elif kind == 'w':
                own[key] = op[2]
                done.append(['w', key, op[2]])
            elif kind == 'd':
                own[key] = None
                done.append(['d', key])
            elif kind == 'a':
                own[key] = list(own.get(key) or ()) + [op[2]]
                done.append(['append', key, op[2]])
            elif kind == 's':
                rows = [[k, own[k]] for k in sorted(own)
                        if op[1] <= k < op[2] and own[k] is not None]
                done.append(['scan', op[1], op[2], rows])
        txn = {'session': session, 'id': len(self.txns)}
        if status != 'committed':
            txn['status'] = status
        if self.times:
            now = 10 * len(self.txns)
            txn['begin'] = now if begin is None else begin
            txn['end'] = now + 5 if end is None else end
        txn['ops'] = done
        self.txns.append(txn)
        if status == 'committed':
            self.value = own

    def lines(self):
        return [self.head] + self.txns


# --- one key, or a few ---------------------------------------------------------------------------

@shape
def hot_key(rng, n):
    """One key, unique values, sessions of about two transactions."""
    s = Store()
    for _ in range(n // 2):
        ops = [('r', 0) if rng.random() < 0.6 else ('w', 0, s.new()) for _ in range(2)]
        s.run(rng.randrange(n // 4 + 1), ops)
    return s.lines()


@shape
def hot_key_long(rng, n):
    """One key, unique values, one session that does nearly everything."""
    s = Store()
    for _ in range(n // 2):
        ops = [('r', 0) if rng.random() < 0.5 else ('w', 0, s.new()) for _ in range(2)]
        s.run(0 if rng.random() < 0.95 else rng.randrange(1, 9), ops)
    return s.lines()


@shape
def hot_key_readers(rng, n):
    """One key, few writers, and very many readers of each version."""
    s = Store()
    for i in range(n):
        s.run(rng.randrange(n // 3 + 1), [('w', 0, s.new())] if i % 100 == 0 else [('r', 0)])
    return s.lines()


@shape
def hot_keys(rng, n):
    """Five keys that all transactions read and overwrite, many short sessions."""
    s = Store()
    for _ in range(n // 4):
        ops = [('r', rng.randrange(5)) if rng.random() < 0.5 else ('w', rng.randrange(5), s.new())
               for _ in range(4)]
        s.run(rng.randrange(n // 8 + 1), ops)
    return s.lines()


@shape
def hot_key_few_values(rng, n):
    """One key with three values, many sessions."""
    s = Store()
    for _ in range(n // 2):
        ops = [('r', 0) if rng.random() < 0.6 else ('w', 0, rng.randrange(3)) for _ in range(2)]
        s.run(rng.randrange(n // 20 + 1), ops)
    return s.lines()


@shape
def few_values(rng, n):
    """Twenty keys with three values each."""
    s = Store()
    for _ in range(n // 4):
        ops = [('r', rng.randrange(20)) if rng.random() < 0.5
               else ('w', rng.randrange(20), rng.randrange(3)) for _ in range(4)]
        s.run(rng.randrange(16), ops)
    return s.lines()


@shape
def flags(rng, n):
    """Two values a key, 200 keys, read and then flipped."""
    s = Store()
    for _ in range(n // 4):
        ops = []
        for key in rng.sample(range(200), 2):
            ops += [('r', key), ('w', key, 1 - s.get(key))]
        s.run(rng.randrange(24), ops)
    return s.lines()


@shape
def counter(rng, n):
    """One counter: every transaction reads it and adds one. A chain as long as the history."""
    s = Store()
    for _ in range(n // 2):
        s.run(rng.randrange(n // 4 + 1), [('r', 0), ('w', 0, s.get(0) + 1)])
    return s.lines()


@shape
def counters_that_return(rng, n):
    """Eight counters that go up and down: chains through values that come again."""
    s = Store()
    for _ in range(n // 2):
        key = rng.randrange(8)
        s.run(rng.randrange(12), [('r', key), ('w', key, (s.get(key) + rng.choice((1, -1))) % 50)])
    return s.lines()


@shape
def bank(rng, n):
    """Transfers between ten accounts, and reads of all of them."""
    s = Store(init=100)
    while n > 0:
        if rng.random() < 0.4:
            ops = [('r', k) for k in range(10)]
        else:
            a, b = rng.sample(range(10), 2)
            sum_ = min(s.get(a), 5)
            ops = [('r', a), ('r', b), ('w', a, s.get(a) - sum_), ('w', b, s.get(b) + sum_)]
        s.run(rng.randrange(10), ops)
        n -= len(ops)
    return s.lines()


@shape
def bank_innodb_weak(rng, n):
    """Transfers as InnoDB runs them: plain reads see a snapshot, locking reads and writes the newest
    version, so that updates are lost. Holds at InnoDB's levels, at hardly any other above
    read-committed."""
    s, running = Store(init=100), {}
    while n > 0:
        session = rng.randrange(10)
        if session not in running:
            running[session] = dict(s.value)
            continue
        snapshot = running.pop(session)
        if rng.random() < 0.5:
            ops = [['r', k, s.get(k), {'lock': True}] if rng.random() < 0.25 else
                   ['r', k, snapshot.get(k, 100)] for k in range(8)]
            writes = {}
        else:
            ops = [['r', k, s.get(k), {'lock': True}] if rng.random() < 0.25 else
                   ['r', k, snapshot.get(k, 100)] for k in rng.sample(range(8), 2)]
            sum_ = rng.randrange(1, 6)
            writes = {ops[0][1]: ops[0][2] - sum_, ops[1][1]: ops[1][2] + sum_}
            ops += [['w', k, v] for k, v in writes.items()]
        s.txns.append({'session': session, 'id': len(s.txns), 'ops': ops})
        s.value.update(writes)
        n -= len(ops)
    return s.lines()


# --- sessions and sizes --------------------------------------------------------------------------

def ordinary(rng, s, n, sessions, keys, size=8):
    for _ in range(n // size):
        ops = [('r', rng.randrange(keys)) if rng.random() < 0.5
               else ('w', rng.randrange(keys), s.new()) for _ in range(size)]
        s.run(sessions(), ops)


@shape
def session_each(rng, n):
    """Every transaction is a session of its own."""
    s = Store()
    ordinary(rng, s, n, lambda: len(s.txns), 200, 4)
    return s.lines()


@shape
def one_session(rng, n):
    s = Store()
    ordinary(rng, s, n, lambda: 0, 200, 4)
    return s.lines()


@shape
def giant_transaction(rng, n):
    """One transaction that reads and writes as much as all others together."""
    s = Store()
    ordinary(rng, s, n // 4, lambda: rng.randrange(16), n // 8 + 1, 4)
    s.run(1, [('r', k) for k in range(n // 8)] + [('w', k, s.new()) for k in range(n // 8)])
    ordinary(rng, s, n // 4, lambda: rng.randrange(16), n // 8 + 1, 4)
    return s.lines()


@shape
def giant_readers(rng, n):
    """Transactions that read everything, between small ones that write."""
    s = Store()
    keys = 300
    while n > 0:
        s.run(rng.randrange(40), [('w', rng.randrange(keys), s.new()) for _ in range(3)])
        if rng.random() < 0.05:
            s.run(rng.randrange(40), [('r', k) for k in range(keys)])
            n -= keys
        n -= 3
    return s.lines()


@shape
def blind_writers(rng, n):
    """Everybody overwrites the same ten keys; hardly anybody reads."""
    s = Store()
    for _ in range(n // 10):
        s.run(rng.randrange(100), [('w', k, s.new()) for k in range(10)])
        if rng.random() < 0.02:
            s.run(rng.randrange(100), [('r', k) for k in range(10)])
    return s.lines()


@shape
def chain_of_sessions(rng, n):
    """Each transaction reads what the one before it, in another session, wrote."""
    s = Store()
    for i in range(n // 2):
        s.run(i % 50, [('r', i), ('w', i + 1, s.new())])
    return s.lines()


@shape
def aborted_many(rng, n):
    s = Store()
    for _ in range(n // 4):
        ops = [('r', rng.randrange(50)) if rng.random() < 0.5
               else ('w', rng.randrange(50), s.new()) for _ in range(4)]
        s.run(rng.randrange(16), ops, rng.choice(('committed', 'aborted', 'aborted')))
    return s.lines()


@shape
def lost_updates(rng, n):
    """Everybody, in a session of its own, reads the first value of one key and overwrites it."""
    s = Store()
    for i in range(n // 2):
        s.run(i, [('w', 'x', s.new())])
        s.txns[-1]['ops'].insert(0, ['r', 'x', 0])
    return s.lines()


# --- outcomes ------------------------------------------------------------------------------------

@shape
def unknown_circle(rng, n):
    """Unknown outcomes, all with one value that each reads from the others. Violated."""
    s = Store()
    for i in range(n // 4):
        s.run(i, [('w', 'x', 1), ('w', 'y', 1), ('r', 'z'), ('w', 'z', 1)], 'unknown')
        s.txns[-1]['ops'][2][2] = 1
    s.run(1, [('r', 'x'), ('r', 'y'), ('r', 'z')])
    s.txns[-1]['ops'] = [['r', k, 1] for k in 'xyz']
    return s.lines()


@shape
def unknown_same(rng, n):
    """Unknown outcomes with one value, one of which begins without reading it."""
    lines = unknown_circle(rng, n)
    lines[1 + rng.randrange(len(lines) - 2)]['ops'].pop(2)
    return lines


@shape
def unknown_many(rng, n):
    """Half of the outcomes are unknown, ten keys, values by ten."""
    s = Store()
    for _ in range(n // 4):
        ops = [('r', rng.randrange(10)) if rng.random() < 0.5
               else ('w', rng.randrange(10), rng.randrange(10)) for _ in range(4)]
        status = rng.choice(('committed', 'unknown'))
        s.run(rng.randrange(16), ops, status)
        if status == 'unknown' and rng.random() < 0.5:   # it did take effect
            for op in s.txns[-1]['ops']:
                if op[0] == 'w':
                    s.value[op[1]] = op[2]
    return s.lines()


@shape
def unknown_unique(rng, n):
    """The same with unique values."""
    s = Store()
    for _ in range(n // 4):
        ops = [('r', rng.randrange(10)) if rng.random() < 0.5
               else ('w', rng.randrange(10), s.new()) for _ in range(4)]
        status = rng.choice(('committed', 'unknown'))
        s.run(rng.randrange(16), ops, status)
        if status == 'unknown' and rng.random() < 0.5:
            for op in s.txns[-1]['ops']:
                if op[0] == 'w':
                    s.value[op[1]] = op[2]
    return s.lines()


# --- deletes, scans, lists -----------------------------------------------------------------------

@shape
def deletes(rng, n):
    """Ten keys that are written and deleted; absence has many writers."""
    s = Store(init=None)
    for _ in range(n // 4):
        ops = [('r', rng.randrange(10)) if rng.random() < 0.5 else ('d', rng.randrange(10))
               if rng.random() < 0.5 else ('w', rng.randrange(10), s.new()) for _ in range(4)]
        s.run(rng.randrange(16), ops)
    return s.lines()


@shape
def deletes_few_values(rng, n):
    """Deletes, and writes of two values."""
    s = Store(init=None)
    for _ in range(n // 4):
        ops = [('r', rng.randrange(10)) if rng.random() < 0.5 else ('d', rng.randrange(10))
               if rng.random() < 0.5 else ('w', rng.randrange(10), rng.randrange(2))
               for _ in range(4)]
        s.run(rng.randrange(100), ops)
    return s.lines()


@shape
def deletes_many_sessions(rng, n):
    """One key that is written and deleted, two transactions a session."""
    s = Store(init=None)
    for _ in range(n // 2):
        ops = [('r', 0) if rng.random() < 0.6 else ('d', 0) if rng.random() < 0.5
               else ('w', 0, s.new()) for _ in range(2)]
        s.run(rng.randrange(n // 4 + 1), ops)
    return s.lines()


@shape
def scans(rng, n):
    """Scans of 40 keys among writes and deletes."""
    s = Store(init=None)
    while n > 0:
        ops = []
        for _ in range(3):
            key = rng.randrange(40)
            ops.append(('s', 0, 40) if rng.random() < 0.2 else
                       ('d', key) if rng.random() < 0.3 else ('w', key, s.new()))
            n -= 20 if ops[-1][0] == 's' else 1
        s.run(rng.randrange(16), ops)
    return s.lines()


@shape
def lists_hot(rng, n):
    """Ten lists that grow, each replaced after 50 appends."""
    s, names = Store(init=None), list(range(10))
    while n > 0:
        i = rng.randrange(10)
        if len(s.value.get(names[i]) or ()) > 50:
            names[i] = max(names) + 1
        ops = [('a', names[i], s.new())] if rng.random() < 0.7 else [('r', names[i])]
        n -= 1 if ops[0][0] == 'a' else 10
        s.run(rng.randrange(30), ops)
    return s.lines()


@shape
def lists_ring(rng, n):
    """Everybody appends to a list and reads the next one without its neighbour's append: a cycle
    through half of the history, with as many different lists in it. Violated."""
    s = Store(init=None)
    keys = n // 4
    for k in range(keys):
        s.run(k % 8, [('a', k, s.new()), ('a', k, s.new())])
    seen = {k: list(s.value[k]) for k in range(keys)}
    for k in rng.sample(range(keys), keys):
        s.run(8 + k, [('a', k, s.new())])
        s.txns[-1]['ops'].append(['r', (k + 1) % keys, seen[(k + 1) % keys]])
    return s.lines()


@shape
def lists_deleted(rng, n):
    """Lists that are emptied again and again: no list that was read shows the order of all
    appends."""
    s, keys = Store(init=None), max(4, n // 60)
    while n > 0:
        k, x = rng.randrange(keys), rng.random()
        ops = [('d', k)] if x < 0.12 else [('a', k, s.new())] if x < 0.5 else [('r', k)]
        if x > 0.8:
            ops.append(('a', k, s.new()))
        n -= len(ops)
        s.run(rng.randrange(8), ops)
    return s.lines()


@shape
def lists_few_elements(rng, n):
    """The same with five lists and three different elements: nearly every append may stand nearly
    everywhere."""
    s = Store(init=None)
    while n > 0:
        ops = []
        for _ in range(rng.randrange(1, 5)):
            k, x = rng.randrange(5), rng.random()
            ops.append(('r', k) if x < 0.5 else ('d', k) if x < 0.56 else
                       ('a', k, rng.randrange(3)))
        n -= len(ops)
        s.run(rng.randrange(8), ops)
    return s.lines()


# --- times ---------------------------------------------------------------------------------------

@shape
def times_all_overlap(rng, n):
    """Ten keys with ten values; everybody begins before anybody ends."""
    s = Store(times=True)
    for i in range(n // 4):
        ops = [('r', rng.randrange(10)) if rng.random() < 0.5
               else ('w', rng.randrange(10), rng.randrange(10)) for _ in range(4)]
        s.run(i, ops, begin=i, end=10 ** 6 + i)
    return s.lines()


@shape
def times_few_values(rng, n):
    """Ten keys with three values; a hundred sessions overlap."""
    s = Store(times=True)
    for i in range(n // 4):
        ops = [('r', rng.randrange(10)) if rng.random() < 0.5
               else ('w', rng.randrange(10), rng.randrange(3)) for _ in range(4)]
        s.run(i % 100, ops, begin=10 * i - rng.randrange(500), end=10 * i + rng.randrange(500))
    return s.lines()


@shape
def times_mislead(rng, n):
    """Unique values; begins say the opposite of what happened, within a window."""
    s = Store(times=True)
    for i in range(n // 4):
        ops = [('r', rng.randrange(10)) if rng.random() < 0.5
               else ('w', rng.randrange(10), s.new()) for _ in range(4)]
        back = 10 * (i // 100 * 200 + 99 - i)
        s.run(i % 100, ops, begin=back - 1000, end=back + 2000)
    return s.lines()


@shape
def stale_readers_weak(rng, n):
    """One session reads every version of a key and passes it on; those who read from it read the
    key's first version. Holds at writes-follow-reads, not at causal."""
    s = Store()
    for i in range(n // 5):
        s.run(10 + 2 * i, [('w', 'k', i + 1)])
        s.run(0, [('r', 'k'), ('w', i, s.new())])
        s.run(11 + 2 * i, [('r', i), ('r', 'k')])
        s.txns[-1]['ops'][1][2] = 1
    return s.lines()


# --- one read changed ----------------------------------------------------------------------------

def broken(lines, rng):
    """One read returns another value that was written to its key."""
    written = {}
    for t in lines[1:]:
        for op in t['ops']:
            if op[0] == 'w' and t.get('status') is None:
                written.setdefault(op[1], set()).add(op[2])
    reads = [op for t in lines[1:] if t.get('status') is None for op in t['ops']
             if op[0] == 'r' and not isinstance(op[2], list)
             and len(written.get(op[1], set()) - {op[2]}) > 0]
    if reads:
        op = rng.choice(reads[len(reads) // 3:])
        op[2] = rng.choice(sorted(written[op[1]] - {op[2]}))
    return lines


def make(name, n=OPS, seed=1):
    rng = random.Random(seed)
    if name.endswith('-broken'):
        return broken(SHAPES[name[:-len('-broken')]](rng, n), rng)
    return SHAPES[name](rng, n)


def names():
    whole = ('lists-hot', 'lists-ring', 'lists-deleted', 'lists-few-elements', 'unknown-circle',
             'lost-updates')
    return list(SHAPES) + [s + '-broken' for s in SHAPES if s not in whole]


LEVELS = ['read-committed', 'read-atomic', 'causal', 'parallel-snapshot-isolation',
          'snapshot-isolation', 'serializable', 'strict-serializable', 'writes-follow-reads',
          'update-serializable', 'innodb-repeatable-read']
LIMIT = 10        # seconds, after which `undecided` is a fair answer
RATIO = 10        # times what an ordinary history of as many operations takes
LEAST = 0.05      # seconds that count as nothing


def bench_bad_cases(say, table, ratel, run, folder, quick):
    """Each shape at each level: CPU seconds, or `-` for undecided within the limit."""
    ops = OPS // 4 if quick else OPS
    plain = os.path.join(folder, 'plain.jsonl')
    run([ratel, 'gen', '-q', '--seed', '1', '--truth', os.devnull, '-n', str(ops // 8), '-o', plain])

    def ask(path, level):
        r = run([ratel, 'check', '-q', '--json', '--time', str(LIMIT), '--level', level, path])
        return json.loads(r.text.splitlines()[0])['verdict'], r.cpu

    base = {level: ask(plain, level)[1] for level in LEVELS}
    rows, slow = [['ordinary'] + [f'{base[level]:.2f}' for level in LEVELS] + ['']], 0
    for name in names():
        path, cells, missed = write(os.path.join(folder, 'bad.jsonl'), name, ops), [], 0
        for level in LEVELS:
            verdict, cpu = ask(path, level)
            late = cpu > max(RATIO * base[level], LEAST)
            allowed = verdict == 'undecided' and cpu < LIMIT + 1
            missed += late and not allowed
            slow += late and allowed
            cells.append('-' if verdict == 'undecided' else f'{cpu:.2f}' + ('*' if late else ''))
        rows.append([name] + cells + ['MISSED' if missed else 'ok'])
    say(f'## Bad cases of {ops} operations: CPU s; promised {RATIO}x an ordinary history (* more), '
        f'or undecided (-) within {LIMIT} s')
    table(['shape'] + [level[:12] for level in LEVELS] + [''], rows)
    say(f'{slow} cells are undecided.')
    say()


def write(path, name, n=OPS, seed=1):
    with open(path, 'w', encoding='utf-8') as f:
        for line in make(name, n, seed):
            f.write(json.dumps(line, separators=(',', ':')) + '\n')
    return path


def late_cells(results):
    """The late cells of a results file, of `bench/run` (a star) or of `all`: shape, level, CPU seconds then."""
    for line in open(results, encoding='utf-8'):
        cells = [c.strip() for c in line.split('|')[1:-1]]
        if not cells or cells[0] not in names():
            continue
        if cells[-1] == 'late':
            yield cells[0], cells[1], float(cells[4])
        if cells[1] in LEVELS:
            continue
        for level, cell in zip(LEVELS, cells[1:]):
            if cell.endswith('*'):
                yield cells[0], level, float(cell[:-1])


def all_cells():
    for name in names():
        for level in LEVELS:
            yield name, level, None


def measure(cells, seconds='40'):
    """One line for each cell: CPU seconds of an ordinary history, then (if known) and now."""
    ratel = os.environ['RATEL']

    def ask(path, level):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        r = subprocess.run([ratel, 'check', '-q', '--json', '--time', seconds, '--level', level, path],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return json.loads(r.stdout.splitlines()[0])['verdict'], cpu

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'bad.jsonl')
        subprocess.run([ratel, 'gen', '-q', '--seed', '1', '--truth', os.devnull, '-n',
                        str(OPS // 8), '-o', path], check=True)
        base = {level: ask(path, level)[1] for level in LEVELS}
        print('| shape | level | ordinary | then | now | |\n|---|---|---|---|---|---|')
        made = None
        for shape, level, then in cells:
            if shape != made:
                made = write(path, shape) and shape
            verdict, cpu = ask(path, level)
            late = cpu > max(RATIO * base[level], LEAST)
            told = verdict if verdict == 'undecided' else 'late' if late else 'ok'
            before = '' if then is None else f'{then:.2f}'
            print(f'| {shape} | {level} | {base[level]:.3f} | {before} | {cpu:.3f} | {told} |',
                  flush=True)


if __name__ == '__main__':
    if sys.argv[1:2] == ['again']:
        measure(late_cells(sys.argv[2]), *sys.argv[3:])
    elif sys.argv[1:2] == ['all']:
        measure(all_cells(), *sys.argv[2:])
    elif len(sys.argv) == 1:
        for each in names():
            print(each)
    else:
        write('/dev/stdout', sys.argv[1], *map(int, sys.argv[2:]))
