"""Brute force for tiny SQL logs: every order of the transactions, every choice of states.

Written from doc/audit.md alone; shares nothing with the product. One table of keys
and values, kv (k int PRIMARY KEY, v int) or the bank's accounts. A statement is a row of KINDS, or of
BANK, with its numbers; a log is a list of Txn. explain(log, initial, level) finds how it can be right.

Rows have an identity: a row inserted again under its old key is another row. A state is a map
row -> (k, v, version); state p is what the p-th transaction of the order left. A version is the
position that wrote it, so that a conflict is seen also where the value is equal.
"""
import itertools
from dataclasses import dataclass
from decimal import Decimal

LEVELS = ['strict-serializable', 'serializable', 'strong-snapshot-isolation', 'snapshot-isolation',
          'statement-snapshot', 'read-committed']


@dataclass
class Kind:
    sql: str
    where: object = None    # (k, v, numbers) -> bool; None: it reads nothing
    change: object = None   # (v, numbers) -> the new v, None: the row goes
    show: object = None     # (k, v) -> what a row of the answer is
    whole: object = None    # a list of (k, v) -> the one row of the answer
    lock: bool = False
    insert: bool = False


def is_key(i):
    return lambda k, v, a: k == a[i]


def value(k, v):
    return (v,)


def pair(k, v):
    return (k, v)


def total(rows):
    return (sum(v for _, v in rows) if rows else None, len(rows))


KINDS = {
    'get': Kind('SELECT v FROM kv WHERE k = $1', is_key(0), show=value),
    'lock': Kind('SELECT v FROM kv WHERE k = $1 FOR UPDATE', is_key(0), show=value, lock=True),
    'range': Kind('SELECT k, v FROM kv WHERE k >= $1 AND k < $2', lambda k, v, a: a[0] <= k < a[1], show=pair),
    'above': Kind('SELECT k FROM kv WHERE v > $1', lambda k, v, a: v > a[0], show=lambda k, v: (k,)),
    'sum': Kind('SELECT sum(v), count(*) FROM kv', lambda k, v, a: True, whole=total),
    'add': Kind('UPDATE kv SET v = v + $1 WHERE k = $2', is_key(1), lambda v, a: v + a[0]),
    'set': Kind('UPDATE kv SET v = $1 WHERE k = $2', is_key(1), lambda v, a: a[0]),
    'note': Kind('UPDATE kv SET w = w + 1 WHERE k = $1', is_key(0), lambda v, a: v),   # what no query reads
    'take': Kind('UPDATE kv SET v = v - $1 WHERE k = $2 AND v >= $1', lambda k, v, a: k == a[1] and v >= a[0],
                 lambda v, a: v - a[0]),
    'raise': Kind('UPDATE kv SET v = v + 1 WHERE v > $1', lambda k, v, a: v > a[0], lambda v, a: v + 1),
    'insert': Kind('INSERT INTO kv VALUES ($1, $2)', insert=True),
    'delete': Kind('DELETE FROM kv WHERE k = $1', is_key(0), lambda v, a: None),
}
# what `ratel run --workload bank-sql` sends, with and without an answer
BANK = {
    'both': Kind('SELECT id, balance FROM accounts WHERE id = $1 OR id = $2', lambda k, v, a: k in a, show=pair),
    'deposit': Kind('UPDATE accounts SET balance = balance + $1 WHERE id = $2', is_key(1), lambda v, a: v + a[0]),
    'pay': Kind('UPDATE accounts SET balance = balance - $1 WHERE id = $2', is_key(1), lambda v, a: v - a[0]),
    'withdraw': Kind('UPDATE accounts SET balance = balance - $1 WHERE id = $2 AND balance >= $3',
                     lambda k, v, a: k == a[1] and v >= a[2], lambda v, a: v - a[0]),
    'overdraft': Kind('UPDATE accounts SET balance = CASE WHEN balance < $1 THEN balance - $2 - 1.50'
                      ' ELSE balance - $3 END WHERE id = $4', is_key(3),
                      lambda v, a: v - a[1] - Decimal('1.50') if v < a[0] else v - a[2]),
}
for _name, _kind in list(BANK.items()):
    if _kind.change:
        BANK[_name + ' told'] = Kind(_kind.sql + ' RETURNING balance', _kind.where, _kind.change, value)
ALL = {**KINDS, **BANK}


@dataclass
class Stmt:
    kind: str
    args: tuple
    rows: list = None     # sorted tuples, or None: not known
    count: int = None

    def json(self):
        o = {'sql': ALL[self.kind].sql, 'params': list(self.args)}
        if self.rows is not None:
            o['rows'] = [list(r) for r in self.rows]
        if self.count is not None:
            o['count'] = self.count
        return o


@dataclass
class Txn:
    name: str
    session: int
    stmts: list
    begin: int = 0
    end: int = 0
    times: list = None    # instead of begin and end
    status: str = 'committed'
    commit_ts: int = None
    first: list = None    # call and answer of the first statement, with `times`
    nonsense: bool = False   # commit_ts does not agree with the times

    def json(self):
        o = {'id': self.name, 'session': self.session, 'status': self.status}
        if self.times:
            o['times'] = self.times
        else:
            o['begin'], o['end'] = self.begin, self.end
        if self.commit_ts is not None:
            o['commit_ts'] = self.commit_ts
        statements = [s.json() for s in self.stmts]
        if self.times and self.first and statements:
            statements[0]['t'] = self.first
        return dict(o, statements=statements)

    def snapshot(self):
        if self.times:
            return tuple(self.first) if self.first else (self.times[0], self.times[2])
        return (self.begin, self.begin)

    def commit(self):
        return (self.times[2], self.times[3]) if self.times else (self.end, self.end)


def header(initial):
    values = ', '.join(f'({k}, {v})' for k, v in sorted(initial.items()))
    setup = ['CREATE TABLE kv (k int PRIMARY KEY, v int, w int DEFAULT 0)'] + ([f'INSERT INTO kv VALUES {values}'] if values else [])
    return {'ratel_sql': 1, 'setup': setup}


class Stuck(Exception):
    """The database would have answered with an error."""


def perform(s, seen, own, states, rule, here):
    """Runs a statement on `seen` (row -> (k, v, version)): its rows, its count, the new writes."""
    kind = ALL[s.kind]
    latest = states[-1]
    if kind.insert:
        if any(x and x[0] == s.args[0] for x in {**latest, **own}.values()):
            raise Stuck('23505')
        return None, 1, {**own, (here, len(own), s.args): (s.args[0], s.args[1], here)}
    hit = {r: x for r, x in seen.items() if x and kind.where(x[0], x[1], s.args)}
    if kind.change or kind.lock:
        for r, x in list(hit.items()):
            if r in own or rule == 'free' or latest.get(r) == x:
                continue
            if rule == 'conflict':
                raise Stuck('40001')
            new = latest.get(r)   # read again as last committed
            if new and kind.where(new[0], new[1], s.args):
                hit[r] = new
            else:
                del hit[r]
    if kind.change:
        own = dict(own)
        for r, (k, v, _) in hit.items():
            v = kind.change(v, s.args)
            own[r] = hit[r] = None if v is None else (k, v, here)
    rows = None
    if kind.whole:
        rows = [kind.whole([x[:2] for x in hit.values()])]
    elif kind.show:
        rows = sorted(kind.show(x[0], x[1]) for x in hit.values())
    return rows, 1 if kind.whole else len(hit), own


def agrees(s, rows, count):
    if s.rows is not None and rows != sorted(s.rows):
        return False
    return s.count is None or s.count == count


def per_row(s, own, states):
    """Every view in which each row comes from a state of its own."""
    where = ALL[s.kind].where
    if not where:   # an INSERT reads nothing
        yield own
        return
    choices = {}
    for r in {r for st in states for r in st} | set(own):
        if r in own:
            options = [own[r]]
        else:
            options = []
            for st in states:
                if st.get(r) not in options:
                    options.append(st.get(r))
        # rows that can make no difference are not enumerated
        options = [x if x and where(x[0], x[1], s.args) else None for x in options]
        options = [x for i, x in enumerate(options) if x not in options[:i]]
        if options != [None]:
            choices[r] = options
    names = list(choices)
    for pick in itertools.product(*(choices[r] for r in names)):
        yield dict(zip(names, pick))


def ways(txn, states, level, window):
    """The writes of every run of the transaction that agrees with what was observed, with the state
    that its first statement read (None if rows have their own)."""
    here = len(states)
    found = {}

    def go(i, own, floor, first):
        if i == len(txn.stmts):
            found.setdefault(frozenset(own.items()), first)
            return
        s = txn.stmts[i]
        if level == 'read-committed':
            views = [(None, v) for v in per_row(s, own, states)]
        elif level == 'statement-snapshot':
            views = [(j, {**states[j], **own}) for j in range(floor, here)]
        else:
            views = [(floor, {**states[floor], **own})]
        rule = {'read-committed': 'free', 'statement-snapshot': 'recheck'}.get(
            level, 'conflict' if 'snapshot' in level else 'free')
        done = []
        for j, view in views:
            try:
                rows, count, new = perform(s, view, own, states, rule, here)
            except Stuck:
                continue
            if not agrees(s, rows, count):
                continue
            key = (sorted(map(repr, new.items())), j if level == 'statement-snapshot' else None)
            if key in done:
                continue
            done.append(key)
            go(i + 1, new, j if level == 'statement-snapshot' else floor, j if i == 0 else first)

    if 'snapshot-isolation' in level:
        runs = []   # states that give the same writes are told apart: their moments differ
        for state in range(window[0], window[1] + 1):
            found.clear()
            go(0, {}, state, state)
            runs += found.items()
        return [(dict(w), first) for w, first in runs]
    elif 'serializable' in level:
        go(0, {}, here - 1, here - 1)
    else:
        go(0, {}, 0, None)
    return [(dict(w), first) for w, first in found.items()]


def must_precede(a, b, level):
    """Does real time put a before b, at a strict level?"""
    if level == 'strict-serializable':
        return a.commit()[1] < b.snapshot()[0]
    if level == 'strong-snapshot-isolation':
        return a.commit()[1] < b.commit()[0] or a.commit()[1] < b.snapshot()[0]
    return False


def window_of(t, order, level):
    """States that the level lets a transaction read which comes next."""
    if level != 'strong-snapshot-isolation':
        return 0, len(order)
    low = max([i + 1 for i, o in enumerate(order) if o.commit()[1] < t.snapshot()[0]], default=0)
    high = max([i + 1 for i, o in enumerate(order) if o.commit()[0] <= t.snapshot()[1]], default=0)
    return low, max(low, high)


def moments_fit(order, read, level):
    """Are there moments of the snapshots?  One that had been answered before another began is no newer."""
    if level != 'strong-snapshot-isolation':
        return True
    return not any(a.snapshot()[1] < b.snapshot()[0] and i > j
                   for a, i in zip(order, read) for b, j in zip(order, read))


def explain(log, initial, level):
    """An order with the state that each one read first, or None if there is none."""
    start = {('init', k): (k, v, 0) for k, v in initial.items()}
    todo = [t for t in log if t.status != 'aborted']

    def go(order, left, states, read):
        if all(t.status != 'committed' for t in left):
            return list(zip(order, read))
        for t in left:
            others = [o for o in left if o is not t and o.status == 'committed']
            if any(o.session == t.session and log.index(o) < log.index(t) for o in others):
                continue
            if any(must_precede(o, t, level) for o in others):
                continue
            for writes, first in ways(t, states, level, window_of(t, order, level)):
                if not moments_fit(order + [t], read + [first], level):
                    continue
                new = {r: x for r, x in {**states[-1], **writes}.items() if x}
                found = go(order + [t], [o for o in left if o is not t], states + [new], read + [first])
                if found is not None:
                    return found
        return None

    return go([], todo, [start], [])


def replay(log, initial, level, witness, rows):
    """Does a witness, [(name, first state)], explain the log, with these rows (for each transaction the
    sorted pairs of (k, v) or () before and after)?  The states of statements and rows, which it does not
    tell at the weakest levels, are searched for."""
    states = [{('init', k): (k, v, 0) for k, v in initial.items()}]
    by_name = {t.name: t for t in log}
    order = [by_name[n] for n, _ in witness]
    if len(set(map(id, order))) != len(order) or any(t.status == 'committed' and t not in order for t in log):
        return False
    for i, a in enumerate(order):
        for b in order[:i]:
            if a.session == b.session and log.index(a) < log.index(b):
                return False
            if must_precede(a, b, level):
                return False
    if not moments_fit(order, [first for _, first in witness], level):
        return False

    def go(i, states):
        if i == len(order):
            return True
        t, first = order[i], witness[i][1]
        for writes, read in ways(t, states, level, window_of(t, order[:i], level)):
            # several states may give the same run: ask for the one that the witness names
            if read is not None and read != first and not same_run(t, states, level, first, writes):
                continue
            old = states[-1]
            pairs = [((old.get(r) or ())[:2], (x or ())[:2]) for r, x in writes.items()]
            if sorted(p for p in pairs if any(p)) != rows[i]:
                continue
            new = {r: x for r, x in {**states[-1], **writes}.items() if x}
            if go(i + 1, states + [new]):
                return True
        return False

    return go(0, states)


def same_run(t, states, level, first, writes):
    if level == 'statement-snapshot':
        return True   # the doc promises the first statement's state; others may be any later one
    low, high = (first, first)
    return any(w == writes for w, _ in ways(t, states, level, (low, high)))
