"""What is left of a history without some transactions, keys or operations: the rules of
doc/shrink.md, written once more from that text, for the suites that hold `shrink` against the
oracle."""
import json
import os
import subprocess

import kit

ORACLE = os.path.join(os.path.dirname(kit.RATEL), 'test', 'oracle')
FAULTS = {'aborted-read', 'intermediate-read', 'garbage-read', 'future-read', 'not-own-write',
          'malformed-result', 'incompatible-order', 'duplicate-elements'}


def text(x):
    return json.dumps(x)


def value(x):
    return text(None if x == [] else x)


def order(key):
    return (1, key.encode()) if isinstance(key, str) else (0, key)


class Op:
    def __init__(self, raw):
        self.raw = raw
        self.attrs = raw[-1] if isinstance(raw[-1], dict) else {}
        self.words = raw[:-1] if isinstance(raw[-1], dict) else raw
        self.kind = raw[0]
        self.range = self.kind in ('scan', 'iter')
        self.failed = self.attrs.get('ok') is False
        self.writes = self.kind in ('w', 'd', 'append')
        self.key = None if self.range else self.words[1]

    def written(self):
        return value(None if self.kind == 'd' else self.words[2])


class History:
    def __init__(self, raw):
        lines = [json.loads(x) for x in raw.splitlines()]
        self.header = lines[0]
        self.txns = [dict({'status': 'committed'}, **x) for x in lines[1:]
                     if 'mark' not in x]
        self.ops = [[Op(o) for o in t['ops']] for t in self.txns]
        init = self.header.get('init')
        if isinstance(init, dict):
            init = [[k, v] for k, v in init.items()]
        self.init_map = init if isinstance(init, list) else None
        self.init = {text(k): v for k, v in init} if isinstance(init, list) else {}
        self.otherwise = None if isinstance(init, list) else init
        self.keys = {}
        for k, _ in self.init_map or []:
            self.keys[text(k)] = k
        for ops in self.ops:
            for o in ops:
                for k in [r[0] for r in o.words[3]] if o.range else [o.key]:
                    self.keys[text(k)] = k

    def initial(self, k):
        return self.init.get(k, self.otherwise)

    def writes(self, key):
        """(transaction, index, operation) of every write of the key, of whatever outcome"""
        return [(t, i, o) for t, ops in enumerate(self.ops) for i, o in enumerate(ops)
                if o.writes and text(o.key) == key]

    def installed(self, t, i, key):
        return not self.ops[t][i].failed and not any(
            o.writes and not o.failed and text(o.key) == key for o in self.ops[t][i + 1:])

    def is_list(self, key):
        seen = [r[1] for ops in self.ops for o in ops if o.range for r in o.words[3]
                if text(r[0]) == key]
        seen += [o.words[2] for ops in self.ops for o in ops
                 if o.kind == 'r' and text(o.key) == key and len(o.words) > 2]
        return (any(o.kind == 'append' for _, _, o in self.writes(key))
                or any(isinstance(x, list) and x for x in seen + [self.initial(key)])
                or any(x == [] for x in seen))

    def tangled(self, key):
        """a list of which it is not certain who appended what"""
        w = self.writes(key)
        values = [o.written() for _, _, o in w]
        first = self.initial(key)
        return (any(o.kind != 'append' for _, _, o in w) or len(set(values)) < len(values)
                or any(value(e) in values for e in (first if isinstance(first, list) else [])))


class Rest:
    """What is left of a history without some transactions, keys and operations."""
    def __init__(self, h, txns=(), keys=(), ops=()):
        self.h, self.txns, self.keys, self.ops = h, set(txns), set(keys), set(ops)

    def gone(self, t, i):
        o = self.h.ops[t][i]
        return (t in self.txns or (t, i) in self.ops
                or (not o.range and text(o.key) in self.keys))

    def own_before(self, t, i, key):
        return [j for j in range(i) if self.h.ops[t][j].writes and not self.h.ops[t][j].failed
                and text(self.h.ops[t][j].key) == key]

    def sees(self, t, i, key, seen, hint):
        """None if the operation goes, else what it saw of the key, as a list of one"""
        h = self.h
        all_of = h.writes(key)
        if h.is_list(key):
            if h.tangled(key):
                return None if any(self.gone(u, j) for u, j, _ in all_of) else [seen]
            if hint not in ((), None) and any(self.gone(u, j) for u, j, _ in all_of):
                return None
            got = self.cut(t, key, seen if isinstance(seen, list) else [],
                           self.own_before(t, i, key))
            return got if got is None or isinstance(seen, list) else [seen]
        own = self.own_before(t, i, key)
        if own and self.gone(t, own[-1]):
            return None
        if hint is None:
            return [seen]
        same = [(u, j) for u, j, o in all_of if o.written() == value(seen)]
        named = [(u, j) for u, j in same if hint != () and self.h.txns[u]['id'] == hint[0]]
        depends = [(u, j) for u, j in same if u != t and h.txns[u]['status'] != 'aborted'
                   and h.installed(u, j, key)]
        initial = not h.header.get('init_unknown') and value(h.initial(key)) == value(seen)
        if named:
            depends = named
        elif not depends and not initial:
            depends = same
        return None if any(self.gone(u, j) for u, j in depends) else [seen]

    def cut(self, t, key, seen, own):
        h = self.h
        mine = [h.ops[t][j].written() for j in own]
        outer = len(seen)
        while outer and value(seen[outer - 1]) in mine:
            outer -= 1
        out = {o.written(): u for u, j, o in h.writes(key) if self.gone(u, j)}
        for j in own:
            if self.gone(t, j) and h.ops[t][j].written() not in map(value, seen[outer:]):
                return None
        for n, e in enumerate(seen):
            if value(e) in out and (n + 1 == outer or (out[value(e)] == t and n < outer)):
                return None
        return [[e for e in seen if value(e) not in out]]

    def covers(self, o):
        """the keys that a range speaks of, in order"""
        low, high, rows = o.words[1], o.words[2], o.words[3]
        keys = sorted(self.h.keys.values(), key=order)
        inside = [k for k in keys if (low is None or order(low) <= order(k))
                  and (high is None or order(k) < order(high)
                       or (o.attrs.get('incl') and k == high))]
        if o.kind == 'iter' and o.words[4] is False:
            if not rows:
                return []
            last = order(rows[-1][0])
            inside = [k for k in inside
                      if (order(k) >= last if o.attrs.get('reverse') else order(k) <= last)]
        return inside

    def range(self, t, i, o):
        hints = o.attrs.get('from', [])
        vset = {text(k): w for k, w in o.attrs.get('vset', [])}
        rows, kept = [], []
        for k, w in vset.items():
            if k in self.keys or w is None:
                continue
            for u, j, x in self.h.writes(k):
                if self.h.txns[u]['id'] == w and self.gone(u, j):
                    return None
        returned = {text(k) for k, _ in o.words[3]}
        for n, (k, v) in enumerate(o.words[3]):
            if text(k) in self.keys:
                continue
            hint = (hints[n],) if n < len(hints) else (vset[text(k)],) if text(k) in vset else ()
            got = self.sees(t, i, text(k), v, None if hint == (None,) else hint)
            if got is None:
                return None
            rows.append([k, got[0]])
            kept.append(n)
        for k in map(text, self.covers(o)):
            if k in self.keys:
                continue
            if any(self.gone(t, j) for j in self.own_before(t, i, k)):
                return None
            deleted = any(x.kind == 'd' and self.gone(u, j) for u, j, x in self.h.writes(k))
            if k in returned or not deleted:
                continue
            hint = (vset[k],) if k in vset else ()
            if self.sees(t, i, k, None, None if hint == (None,) else hint) is None:
                return None
        attrs = dict(o.attrs)
        if hints:
            attrs['from'] = [hints[n] for n in kept if n < len(hints)]
        if vset:
            attrs['vset'] = [[k, w] for k, w in attrs['vset'] if text(k) not in self.keys]
        return o.words[:3] + [rows] + o.words[4:] + ([attrs] if attrs else [])

    def op(self, t, i):
        h, o = self.h, self.h.ops[t][i]
        if self.gone(t, i):
            return None
        claims = not o.failed and h.txns[t]['status'] != 'aborted'
        if o.range:
            if claims:
                return self.range(t, i, o)
            rows = [r for r in o.words[3] if text(r[0]) not in self.keys]
            return o.words[:3] + [rows] + o.words[4:] + ([o.attrs] if o.attrs else [])
        if o.kind == 'r' and claims and len(o.words) > 2:
            hint = (o.attrs['from'],) if 'from' in o.attrs else ()
            got = self.sees(t, i, text(o.key), o.words[2], None if hint == (None,) else hint)
            return None if got is None else o.words[:2] + got + ([o.attrs] if o.attrs else [])
        if o.writes and 'ver' in o.attrs and not h.installed(t, i, text(o.key)):
            attrs = {k: v for k, v in o.attrs.items() if k != 'ver'}
            return o.words + ([attrs] if attrs else [])
        return o.raw

    def lines(self):
        h = self.h
        header = dict(h.header)
        if h.init_map is not None:
            header['init'] = [[k, v] for k, v in h.init_map if text(k) not in self.keys]
        out = [header]
        for t, x in enumerate(h.txns):
            if t in self.txns:
                continue
            ops = [self.op(t, i) for i in range(len(h.ops[t]))]
            out.append(dict(x, ops=[o for o in ops if o is not None]))
        return out


def canon(lines):
    """One form for what is written in several: status, empty lists and attributes, initial state."""
    out = []
    for x in lines:
        x = dict(x)
        if 'ops' in x:
            x.setdefault('status', 'committed')
            ops = []
            for o in x['ops']:
                o = list(o)
                if isinstance(o[-1], dict):
                    a = {k: v for k, v in o.pop().items() if v not in ([], False) or k == 'ok'}
                    o += [a] if a else []
                ops.append(o)
            x['ops'] = ops
        else:
            init = x.get('init')
            if isinstance(init, dict):
                init = [[k, v] for k, v in init.items()]
            if isinstance(init, list):
                init = sorted(init, key=text) or None
            x['init'] = init
        out.append(json.dumps(x, sort_keys=True))
    return '\n'.join(out)


def moves(h):
    for t in range(len(h.txns)):
        yield f'transaction {h.txns[t]["id"]}', Rest(h, txns=[t])
    for k in h.keys:
        yield f'key {k}', Rest(h, keys=[k])
    for t, ops in enumerate(h.ops):
        for i in range(len(ops)):
            yield f'operation {i} of {h.txns[t]["id"]}', Rest(h, ops=[(t, i)])


class Oracle:
    def __init__(self):
        self.p = subprocess.Popen([ORACLE, '--serve'], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)

    def ask(self, lines, q):
        raw = '\n'.join(json.dumps(x) for x in lines) + '\n'
        raw = raw.encode()
        self.p.stdin.write(f'{q["level"]} {q["so"]} {q["ryow"]} {len(raw)}\n'.encode() + raw)
        self.p.stdin.flush()
        return self.p.stdout.readline().decode().strip()


def other_kind(rest, q):
    """Violated, but by another kind of reason: a fault that was shrunk stays the reason, and what
    was none does not become one."""
    a = kit.run('check', '--json', '-q', '--level', q['level'], '--session-order', q['so'],
                '--ryow', q['ryow'], kit.temp('rest.jsonl', rest.lines()))
    if a.status != 1:
        return False
    now = a.objects()[0]['anomaly']
    return now != q['of'] if q['of'] in FAULTS else now in FAULTS


def undecided(rest, q):
    """Is the rest one of those that the product does not decide?  Then shrink cannot take it."""
    path = kit.temp('undecided.jsonl', rest.lines())
    a = kit.run('check', '-q', '--level', q['level'], '--session-order', q['so'], '--ryow',
                q['ryow'], path)
    return a.status == 2


def check_minimal(what, oracle, part, q, shown):
    """Is the part violated, for the oracle, and not without any one thing?"""
    if not kit.same(f'{what}: violated', oracle.ask([part.header] + part.txns, q), 'violated',
                    shown):
        return
    for name, rest in moves(part):
        less = oracle.ask(rest.lines(), q) != 'violated'
        kit.ok(f'{what}: not without {name}',
               less or other_kind(rest, q) or undecided(rest, q), shown)
