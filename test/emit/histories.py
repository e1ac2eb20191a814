"""Random histories of registers for the comparison of solvers: transactions run one after another on
a store that remembers every version, and read from snapshots that lag behind now and then, so that
levels from none to all hold."""
import json
import random


class Store:
    def __init__(self, rng, keys):
        self.rng = rng
        self.versions = {k: [None] for k in keys}   # by commit; None: absent
        self.commits = 0
        self.at = {k: [0] for k in keys}            # commit number of each version

    def read(self, key, snapshot):
        """The last version at the snapshot, and sometimes any."""
        known = self.versions[key]
        if self.rng.random() < self.odd:
            return self.rng.choice(known)
        last = None
        for value, at in zip(known, self.at[key]):
            if at <= snapshot:
                last = value
        return last


def history(seed, txns, plain=False):
    """The lines of a history in the native format; plain: each value is written once, and every
    outcome is known."""
    rng = random.Random(seed)
    keys = [f'k{i}' for i in range(rng.randint(3, 8))]
    sessions = rng.randint(2, 6)
    lag = rng.choice([0, 0, 1, 2, 4])           # how old snapshots may be, in commits
    scans, deletes = rng.random() < 0.3, rng.random() < 0.4
    twice = rng.random() < 0.4                  # values that occur twice
    unknown = rng.choice([0, 0, 0.1])
    if plain:
        deletes, twice, unknown = False, False, 0
    store = Store(rng, keys)
    store.odd = rng.choice([0, 0, 0, 0.01, 0.05])
    lines, clock = [json.dumps({'ratel': 1, 'init': None})], 0
    for number in range(txns):
        snapshot = max(0, store.commits - rng.randint(0, lag))
        mine, ops = {}, []
        for _ in range(rng.randint(1, 5)):
            key, what = rng.choice(keys), rng.random()
            if scans and what < 0.1:
                rows = [[k, mine.get(k, store.read(k, snapshot))] for k in sorted(keys)]
                ops.append(['scan', None, None, [row for row in rows if row[1] is not None]])
            elif what < 0.5:
                ops.append(['r', key, mine[key] if key in mine else store.read(key, snapshot)])
            elif deletes and what < 0.6:
                mine[key] = None
                ops.append(['d', key])
            else:
                mine[key] = rng.randint(1, 4) if twice else 100 * number + len(ops)
                ops.append(['w', key, mine[key]])
        status = rng.random()
        line = {'session': rng.randrange(sessions), 'id': f't{number}', 'ops': ops}
        line['begin'], line['end'] = clock, clock + rng.randint(1, 12)
        clock += rng.randint(1, 4)
        if status < unknown:
            line['status'] = 'unknown'
        elif status < unknown + 0.05:
            line['status'] = 'aborted'
        if status >= unknown + 0.05 or status < unknown / 2:    # it took effect
            store.commits += 1
            for key, value in mine.items():
                store.versions[key].append(value)
                store.at[key].append(store.commits)
        lines.append(json.dumps(line))
    return '\n'.join(lines) + '\n'


def with_levels(seed, text):
    """The same history with a level for each transaction, and with locking reads."""
    rng = random.Random(-seed)
    names = rng.choice([['ser', 'si', 'rc'], ['ru', 'rc', 'rr', 'si', 'ser'], ['ser', 'ser', 'rc']])
    lines = text.splitlines()
    for i in range(1, len(lines)):
        line = json.loads(lines[i])
        if rng.random() < 0.9:
            line['level'] = rng.choice(names)
        for op in line['ops']:
            if op[0] == 'r' and rng.random() < 0.3:
                op.append({'lock': True})
        lines[i] = json.dumps(line)
    return '\n'.join(lines) + '\n'
