"""Logs that the symbolic engine is tried on, made deterministically (test/audit/symbolic, bench)."""
import oracle
from oracle import Stmt, Txn


def head(*setup):
    return {'ratel_sql': 1, 'setup': list(setup)}


def stamped(txns, sessions=2, stamps=True):
    """One after the other, told by the database."""
    out = []
    for i, (name, statements) in enumerate(txns):
        t = {'id': name, 'session': i % sessions}
        if stamps:
            t.update(begin=10 * i, end=10 * i + 8, commit_ts=10 * i + 8)
        out.append(dict(t, statements=statements))
    return out


def add(amount, account, **more):
    return dict({'sql': 'UPDATE accounts SET balance = balance + $1 WHERE id = $2', 'params': [amount, account]}, **more)


def balance(account, answer):
    return {'sql': 'SELECT balance FROM accounts WHERE id = $1', 'params': [account], 'rows': [[f'{answer:.2f}']]}


BANK = head('CREATE TABLE accounts (id int PRIMARY KEY, balance numeric(12,2))',
            'INSERT INTO accounts VALUES (1, 100), (2, 300)')


def transfers(k, answer, amounts=None, **more):
    """The published series: k - 1 transfers from 1 to 2, none of them tells anything, then a read."""
    amounts = amounts or [10] * (k - 1)
    txns = [(f't{i}', [add(a, 2), add(-a, 1)]) for i, a in enumerate(amounts)]
    return [BANK] + stamped(txns + [('read', [balance(2, answer)])], **more)


def conditional(rng, n, right):
    """Withdrawals that happen if there is enough, overdrafts that cost: one random execution at read
    committed gives the answer; a wrong one is 0.01 beside every amount that occurs."""
    versions = {1: [100], 2: [300]}
    txns = []
    for i in range(n):
        a, x = rng.choice([1, 2]), 10 * rng.randint(1, 15)
        v = rng.choice(versions[a])
        kind = rng.randrange(3)
        if kind == 0:
            s = add(x, a)
            versions[a].append(v + x)
        elif kind == 1:
            s = {'sql': 'UPDATE accounts SET balance = balance - $1 WHERE id = $2 AND balance >= $1', 'params': [x, a]}
            if v >= x:
                versions[a].append(v - x)
        else:
            s = {'sql': 'UPDATE accounts SET balance = CASE WHEN balance < $1 THEN balance - $1 - 5 ELSE balance - $1'
                        ' END WHERE id = $2', 'params': [x, a]}
            versions[a].append(v - x - 5 if v < x else v - x)
        txns.append((f't{i}', [s]))
    a = rng.choice([1, 2])
    return [BANK] + stamped(txns + [('read', [balance(a, versions[a][-1] + (0 if right else 0.01))])])


def sums(rng, accounts, n, right):
    """Deposits of even amounts that tell nothing, then a sum over all accounts."""
    setup = head('CREATE TABLE accounts (id int PRIMARY KEY, balance int)',
                 'INSERT INTO accounts VALUES ' + ', '.join(f'({i}, {100 * i})' for i in range(1, accounts + 1)))
    versions = {i: [100 * i] for i in range(1, accounts + 1)}
    txns = []
    for i in range(n):
        a, x = rng.randint(1, accounts), 2 * rng.randint(1, 40)
        versions[a].append(rng.choice(versions[a]) + x)
        txns.append((f't{i}', [add(x, a)]))
    total = sum(rng.choice(v) for v in versions.values())
    read = {'sql': 'SELECT sum(balance), count(*) FROM accounts', 'rows': [[total if right else total + 1, accounts]]}
    return [setup] + stamped(txns + [('read', [read])])


def key_values(rng, n=50, keys=10, values=100):
    """Each transaction reads one key or writes one, values repeat; a read is of any version so far.
    One log in four has a read of what was not there by then.  The log, and what it should be."""
    held = {k: [0] for k in range(keys)}
    txns, wrong = [], rng.random() < 0.25
    for i in range(n):
        k = rng.randrange(keys)
        if rng.random() < 0.5:
            v = rng.randrange(values)
            held[k].append(v)
            s = {'sql': 'UPDATE kv SET v = $1 WHERE k = $2', 'params': [v, k], 'count': 1}
        else:
            v = rng.choice(held[k])
            if wrong and i > n // 2:
                v = next(x for x in iter(lambda: rng.randrange(values), None) if x not in held[k])
                wrong = None
            s = {'sql': 'SELECT v FROM kv WHERE k = $1', 'params': [k], 'rows': [[v]]}
        txns.append((f't{i}', [s]))
    setup = head('CREATE TABLE kv (k int PRIMARY KEY, v int)',
                 'INSERT INTO kv VALUES ' + ', '.join(f'({k}, 0)' for k in range(keys)))
    return [setup] + stamped(txns, sessions=5), 'violated' if wrong is None else 'holds'


def bad_read(log):
    """The first read of a key-value log whose value nobody wrote before; None: all were."""
    held = {}
    for t in log[1:]:
        s = t['statements'][0]
        k = s['params'][-1]
        if 'rows' not in s:
            held.setdefault(k, [0]).append(s['params'][0])
        elif s['rows'][0][0] not in held.get(k, [0]):
            return t['id']
    return None


def tiny(rng):
    """Two to five transactions of one session over one to three rows, of everything that the engine
    knows; answers are guesses, most are not told."""
    rows = rng.randint(1, 3)
    limit = rng.choice(['', ' NOT NULL', ' CHECK (b > -3)'])
    start = [[i, 1 if 'NOT' in limit else rng.choice([0, 1, 2, None]), rng.choice(['1.0', '2.5'])]
             for i in range(1, rows + 1)]

    def key():
        return rng.randint(1, rows + 1)

    def some():
        return rng.choice([0, 1, 2])

    def statement():
        n = rng.randint(0, 1)
        return rng.choice([
            lambda: {'sql': f'UPDATE a SET b = b + {rng.randint(-1, 2)} WHERE id = {key()}', 'count': n},
            lambda: {'sql': f'UPDATE a SET b = {some()}, c = c + 0.5 WHERE id = {key()}', 'count': n},
            lambda: {'sql': f'UPDATE a SET b = b - 1 WHERE b > {n}', 'count': rng.randint(0, 2)},
            lambda: {'sql': f'UPDATE a SET b = CASE WHEN b > 0 THEN b - 1 ELSE 2 END WHERE id = {key()} RETURNING b',
                     'rows': [[some()]]},
            lambda: {'sql': f'UPDATE a SET b = coalesce(b, 1), c = -c WHERE id = {key()} RETURNING b, c',
                     'rows': [[some(), rng.choice(['-1.0', '-1.5'])]]},
            lambda: {'sql': f'UPDATE a SET id = id + {rows} WHERE id = {key()}', 'count': n},
            lambda: {'sql': f'INSERT INTO a VALUES ({rows + rng.randint(1, 2)}, 1, 1)'},
            lambda: {'sql': f'INSERT INTO a SELECT id + {rows}, b, c FROM a WHERE b = {some()}', 'count': n},
            lambda: {'sql': f'DELETE FROM a WHERE id = {key()}', 'count': n},
            lambda: {'sql': f'DELETE FROM a WHERE b = {some()}', 'count': n},
            lambda: {'sql': f'SELECT b FROM a WHERE id = {key()}', 'rows': [[rng.choice([0, 1, 2, None])]][:rng.choice([0, 1, 1, 1])]},
            lambda: {'sql': f'SELECT b FROM a WHERE id = {key()} FOR UPDATE', 'rows': [[some()]]},
            lambda: {'sql': 'SELECT sum(b), count(b) FROM a', 'rows': [[rng.randint(0, 5), rng.randint(1, rows)]]},
            lambda: {'sql': f'SELECT count(*) FROM a WHERE b = {n}', 'rows': [[rng.randint(0, 2)]]},
            lambda: {'sql': 'SELECT max(b), min(c) FROM a', 'rows': [[rng.randint(0, 3), rng.choice(['1.0', '1.5', '2.5'])]]},
            lambda: {'sql': 'SELECT b, count(*) FROM a GROUP BY id, b', 'rows': [[some(), 1] for _ in range(rows)]},
            lambda: {'sql': 'SELECT id, b FROM a ORDER BY id', 'rows': [[i, some()] for i in range(1, rows + 1)]},
            lambda: {'sql': 'SELECT x.b, y.b FROM a x, a y WHERE x.id = 1 AND y.id = 2', 'rows': [[some(), some()]]},
            lambda: {'sql': 'SELECT x.id, y.b FROM a x LEFT JOIN a y ON x.b = y.id', 'rows': [[i, None] for i in range(1, rows + 1)]},
        ])()

    txns = []
    for i in range(rng.randint(2, 5)):
        statements = [statement() for _ in range(rng.randint(1, 3))]
        for s in statements:
            if i == 0 or rng.random() < 0.6:
                s.pop('rows', None)
                s.pop('count', None)
        txns.append({'id': f't{i}', 'session': 0, 'statements': statements})
    return [head(f'CREATE TABLE a (id int PRIMARY KEY, b int{limit}, c numeric(6,1))'), {'table': 'a', 'rows': start}] + txns


def observed(rng):
    """What a random execution at read committed answers, one session, perhaps one answer changed."""
    initial = {k: rng.randint(0, 3) for k in range(1, 4)}
    states = [{('init', k): (k, v, 0) for k, v in initial.items()}]
    log = []
    for i in range(rng.randint(3, 5)):
        t, own = Txn(f't{i}', 1, []), {}
        for _ in range(rng.randint(1, 3)):
            k, n = rng.randint(1, 3), rng.randint(0, 3)
            kind, args = rng.choice([('get', (k,)), ('range', (k, k + 2)), ('above', (n,)), ('sum', ()), ('add', (n, k)),
                                     ('add', (n, k)), ('take', (n, k)), ('raise', (n,)), ('delete', (k,))])
            s = Stmt(kind, args)
            view = rng.choice(list(oracle.per_row(s, own, states)))
            rows, count, own = oracle.perform(s, view, own, states, 'free', len(states))
            if oracle.ALL[kind].change is None or rng.random() < 0.3:
                s.rows, s.count = rows, count if rows is None else None
            t.stmts.append(s)
        t.begin, t.end = 10 * i, 10 * i + 5
        log.append(t)
        states.append({r: x for r, x in {**states[-1], **own}.items() if x})
    told = [s for t in log for s in t.stmts if s.rows]
    if told and rng.random() < 0.6:
        s = rng.choice(told)
        rows = [list(r) for r in s.rows]
        c = rng.randrange(len(rows[0]))
        if rows[0][c] is not None:
            rows[0][c] += rng.choice([-1, 1])
            s.rows = sorted(map(tuple, rows))
    return initial, log


def bank(rng, n, level, accounts=1000, share=1.0, blind=0.0, reads=0.2):
    """The paper's bank server: deposits, withdrawals, transfers, overdrafts and balance checks on the
    first `share` of the accounts by two users. `blind` of the writes tell nothing, the others what they
    leave behind; `reads` of the transactions only look. A snapshot is up to two states old."""
    top = max(2, round(accounts * share))
    versions = {a: [(0, 100)] for a in range(1, top + 1)}   # state, balance
    update = 'UPDATE accounts SET balance = '

    def at(a, state):
        return next(v for s, v in reversed(versions[a]) if s <= state)

    txns = []
    for i in range(1, n + 1):
        a, b = rng.sample(range(1, top + 1), 2)
        x = rng.randint(1, 30)
        seen = i - 1 if level == 'serializable' else max(0, i - 1 - rng.choice([0, 0, 1, 2]))
        if level == 'snapshot-isolation' and max(versions[a][-1][0], versions[b][-1][0]) > seen:
            seen = i - 1   # it would have conflicted
        if rng.random() < reads:
            look = {'sql': 'SELECT balance FROM accounts WHERE id = $1', 'params': [a], 'rows': [[at(a, seen)]]}
            txns.append((f't{i}', [look]))
            continue
        old = {k: versions[k][-1][1] for k in (a, b)}   # rows are written as last committed
        kind = rng.choice(['deposit', 'withdraw', 'transfer', 'overdraft'])
        todo = {'deposit': [(update + 'balance + $1 WHERE id = $2', [x, a], a, old[a] + x)],
                'withdraw': [(update + 'balance - $1 WHERE id = $2 AND balance >= $3', [x, a, x], a,
                              old[a] - x if old[a] >= x and (level == 'serializable' or at(a, seen) >= x) else None)],
                'transfer': [(update + 'balance + $1 WHERE id = $2', [x, b], b, old[b] + x),
                             (update + 'balance - $1 WHERE id = $2', [x, a], a, old[a] - x)],
                'overdraft': [(update + 'CASE WHEN balance < $1 THEN balance - $2 - 5 ELSE balance - $3 END WHERE id = $4',
                               [x, x, x, a], a, old[a] - x - 5 if old[a] < x else old[a] - x)]}[kind]
        statements = []
        for sql, params, row, new in todo:
            if new is not None:
                versions[row].append((i, new))
            s = {'sql': sql, 'params': params}
            if rng.random() >= blind:
                s = {'sql': sql + ' RETURNING balance', 'params': params, 'rows': [] if new is None else [[new]]}
            statements.append(s)
        txns.append((f't{i}', statements))
    rows = {'table': 'accounts', 'rows': [[a, 100] for a in range(1, accounts + 1)]}
    return [head('CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL)'), rows] + stamped(txns)
