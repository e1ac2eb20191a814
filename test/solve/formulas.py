"""Formulas for the solver's tests: random and structured families, each from a seed.

usage: test/solve/formulas.py FAMILY SIZE SEED     writes DIMACS to standard output
"""
import itertools
import random
import sys


def dimacs(n, clauses):
    lines = [f'p cnf {n} {len(clauses)}']
    lines += [' '.join(map(str, c)) + ' 0' for c in clauses]
    return '\n'.join(lines) + '\n'


def uniform(rng, n, ratio=4.26, k=3):
    """Random k-SAT; at the threshold about half of them are satisfiable."""
    clauses = [[v * rng.choice((1, -1)) for v in rng.sample(range(1, n + 1), k)]
               for _ in range(round(n * ratio))]
    return n, clauses


def messy(rng, n):
    """Clauses of any length with repeated literals, tautologies, units, now and then none at all."""
    clauses = []
    for _ in range(rng.randint(1, 4 * n)):
        size = rng.choice((0, 1, 2, 2, 2, 3, 3, 3, 3, 4, 6)) if rng.random() < .2 else \
            rng.choice((2, 2, 3, 3, 3, 4, 5))
        clauses.append([rng.randint(1, n) * rng.choice((1, -1)) for _ in range(size)])
    return n, clauses


def pigeons(rng, holes):
    """holes + 1 pigeons: unsatisfiable; one pigeon fewer with an even seed: satisfiable."""
    pigeons_n = holes + rng.randint(0, 1)
    var = {(p, h): p * holes + h + 1 for p in range(pigeons_n) for h in range(holes)}
    clauses = [[var[p, h] for h in range(holes)] for p in range(pigeons_n)]
    clauses += [[-var[p, h], -var[q, h]] for h in range(holes)
                for p, q in itertools.combinations(range(pigeons_n), 2)]
    rng.shuffle(clauses)
    return len(var), clauses


def xor(lits, odd):
    """The clauses of lits[0] + lits[1] + ... = odd (mod 2)."""
    return [[-v if s else v for v, s in zip(lits, signs)]
            for signs in itertools.product((0, 1), repeat=len(lits))
            if sum(signs) % 2 != odd]


def parity(rng, n):
    """n variables, random sums of three of them; now and then one sum too many."""
    hidden = [rng.randint(0, 1) for _ in range(n)]
    clauses = []
    sums = round(n * rng.choice((.7, .85, .95, 1.0)))
    for i in range(sums):
        vs = rng.sample(range(n), 3)
        odd = sum(hidden[v] for v in vs) % 2
        if i == sums - 1 and rng.random() < .5:
            odd ^= 1
        clauses += xor([v + 1 for v in vs], odd)
    return n, clauses


def chain(rng, n):
    """The same sum of n variables computed in two orders, said to differ: unsatisfiable."""
    clauses, last = [], []
    fresh = itertools.count(n + 1)
    for _ in range(2):
        order = list(range(1, n + 1))
        rng.shuffle(order)
        acc = order[0]
        for v in order[1:]:
            t = next(fresh)
            clauses += xor([acc, v, t], 0)
            acc = t
        last.append(acc)
    clauses += xor(last, 1)
    return next(fresh) - 1, clauses


def colouring(rng, n, colours=3, degree=4.6):
    var = {(v, c): v * colours + c + 1 for v in range(n) for c in range(colours)}
    clauses = [[var[v, c] for c in range(colours)] for v in range(n)]
    for _ in range(round(n * degree / 2)):
        a, b = rng.sample(range(n), 2)
        clauses += [[-var[a, c], -var[b, c]] for c in range(colours)]
    return len(var), clauses


def at_most(lits, k, fresh):
    """Sinz's sequential counter."""
    clauses, above = [], None
    for lit in lits:
        row = [next(fresh) for _ in range(k)]
        clauses.append([-lit, row[0]])
        if above:
            clauses += [[-above[j], row[j]] for j in range(k)]
            clauses += [[-lit, -above[j - 1], row[j]] for j in range(1, k)]
            clauses.append([-lit, -above[k - 1]])
        above = row
    return clauses


def cover(rng, n):
    """Hit n random triples with at most k points."""
    points = max(4, n // 2)
    fresh = itertools.count(points + 1)
    clauses = [rng.sample(range(1, points + 1), 3) for _ in range(n)]
    clauses += at_most(list(range(1, points + 1)), max(2, round(points * rng.choice((.35, .42)))),
                       fresh)
    return next(fresh) - 1, clauses


def multiplier(rng, bits):
    """Factor a number: product of two primes, or a prime (unsatisfiable)."""
    def prime(x):
        return x > 1 and all(x % d for d in range(2, int(x ** .5) + 1))
    primes = [x for x in range(2 ** (bits - 1), 2 ** bits) if prime(x)]
    if rng.random() < .5:
        target = rng.choice(primes) * rng.choice(primes)
    else:
        target = rng.randrange(2 ** (2 * bits - 2), 2 ** (2 * bits - 1)) | 1
        while not prime(target):
            target += 2
    fresh = itertools.count(1)
    a = [next(fresh) for _ in range(bits)]
    b = [next(fresh) for _ in range(bits)]
    clauses = [a[1:], b[1:]]    # neither factor is 0 or 1
    columns = [[] for _ in range(2 * bits + 1)]
    for i, j in itertools.product(range(bits), repeat=2):
        t = next(fresh)
        clauses += [[-t, a[i]], [-t, b[j]], [t, -a[i], -b[j]]]
        columns[i + j].append(t)
    for k, column in enumerate(columns):
        while len(column) > 1:
            x, y = column.pop(0), column.pop(0)
            z = column.pop(0) if column else None
            s, c = next(fresh), next(fresh)
            if z is None:
                clauses += xor([x, y, s], 0) + [[-c, x], [-c, y], [c, -x, -y]]
            else:
                clauses += xor([x, y, z, s], 0)
                clauses += [[c, -x, -y], [c, -x, -z], [c, -y, -z],
                            [-c, x, y], [-c, x, z], [-c, y, z]]
            column.append(s)
            if k + 1 < len(columns):
                columns[k + 1].append(c)
            else:
                clauses.append([-c])
        if column:
            clauses.append([column[0] if target >> k & 1 else -column[0]])
    return next(fresh) - 1, clauses


FAMILIES = {f.__name__: f for f in (uniform, messy, pigeons, parity, chain, colouring, cover,
                                    multiplier)}


def formula(family, size, seed):
    return dimacs(*FAMILIES[family](random.Random(f'{family} {size} {seed}'), size))


if __name__ == '__main__':
    if len(sys.argv) != 4 or sys.argv[1] not in FAMILIES:
        sys.exit(__doc__ + '\nfamilies: ' + ', '.join(FAMILIES))
    sys.stdout.write(formula(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
