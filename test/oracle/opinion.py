#!/usr/bin/env python3
"""opinion.py - a second opinion on tiny histories, in another style than oracle.c.

No dependency graphs here.  Levels are decided operationally or by axioms (doc/levels.md 5):
  read-committed         forward chaining; with lists or version hints, a commit order
  monotonic-atomic-view  Biswas-Enea: a commit order, reads checked as transactions are placed
  cursor-stability, repeatable-read
                         the same, item reads see the newest version (CS: of own keys)
  read-atomic, causal, update-atomic, no-lost-update, consistent-view (PSI, FCV)
                         Cerone: an arbitration order, for each transaction a set of visible ones
  serializable, strict-serializable   serial replay against a store
  snapshot-isolation, prefix, the real-time SI family   replay of begin and commit events on a store
  mixed, mixed-pg        replay of commits, and of begins where a transaction is at snapshot isolation:
                         at its commit (or begin) each reads as its own level lets it
All are searched by trying every order, placing one transaction (or event) after the other.
Not covered: read-uncommitted, monotonic-view, update-serializable, innodb-*.

stdin: one object a line {"text": history, "level": L, "session_order": bool, "ryow": P, "drift": N}
stdout: one line each: holds, violated, undecided, or "skip REASON".
"""
import itertools
import json
import sys

ABSENT = ("absent",)
NOTHING = object()  # no hint
PLAIN, SESSION, REALTIME = range(3)
# name -> how it is decided, and the order among transactions where the name settles it
LEVELS = {
    "read-committed": ("rc", None), "monotonic-atomic-view": ("mav", None),
    "read-atomic": ("ra", None),
    "causal": ("cc", None), "serializable": ("ser", None), "snapshot-isolation": ("si", None),
    "cursor-stability": ("cs", None), "repeatable-read": ("rr", None), "prefix": ("pc", None),
    "update-atomic": ("ua", None), "no-lost-update": ("nlu", None),
    "consistent-view": ("psi", None),
    "parallel-snapshot-isolation": ("psi", SESSION), "forward-consistent-view": ("psi", REALTIME),
    "strict-serializable": ("ser", REALTIME), "realtime-read-committed": ("rc", REALTIME),
    "realtime-snapshot-isolation": ("si", REALTIME),
    "generalized-snapshot-isolation": ("gsi", PLAIN),
    "prefix-consistent-snapshot-isolation": ("gsi", SESSION),
    "strong-snapshot-isolation": ("gsi", REALTIME),
    "mixed": ("mix", None), "mixed-pg": ("mix-pg", None), "realtime-mixed": ("mix", REALTIME),
}
# What the levels of single transactions are called; any other leaves a mixture undecided.
OWN = {"read-uncommitted": "ru", "pl-1": "ru", "read-committed": "rc", "pl-2": "rc", "repeatable-read": "rr",
       "pl-2.99": "rr", "snapshot-isolation": "si", "pl-si": "si", "adya-si": "si", "serializable": "ser",
       "pl-3": "ser", **{name: name for name in ("ru", "rc", "rr", "si", "ser")}}


class Skip(Exception):
    pass


def typed(v):
    """A value that compares as doc/formats/native.md says: 1, "1", 1.0 and true are four; null and [] are one."""
    if v is None or v == []:
        return ABSENT
    if isinstance(v, list):
        return ("list", tuple(typed(e) for e in v))
    return (type(v).__name__, v)


def key_order(k):
    return (0, k, b"") if isinstance(k, int) else (1, 0, k.encode())


class Op:
    def __init__(self, raw, position):
        raw = list(raw)
        self.attr = raw.pop() if isinstance(raw[-1], dict) else {}
        self.name, self.args, self.pos = raw[0], raw[1:], position
        if self.attr.keys() & {"vset", "tomb"}:
            raise Skip("vset or tomb")

    def writes(self):
        return self.name in ("w", "d", "append")


class Txn:
    def __init__(self, raw, number):
        self.number, self.id, self.level = number, raw.get("id"), raw.get("level")
        self.session, self.status = raw["session"], raw.get("status", "committed")
        b, e = raw.get("begin"), raw.get("end")
        times = raw.get("times", [b, b, e, e])
        self.begin_call, self.begin_return, self.commit_call, self.commit_return = times
        if self.status != "committed":
            self.commit_call = self.commit_return = None  # doc/levels.md 1: a recorded end is ignored
        if "commit_ts" in raw or "start_ts" in raw:
            raise Skip("database timestamps")
        ops = [Op(o, i) for i, o in enumerate(raw["ops"])]
        self.ops = [o for o in ops if o.attr.get("ok", True)]
        self.written = {o.args[0] for o in self.ops if o.writes()}
        self.ver = {o.args[0]: o.attr.get("ver") for o in self.ops if o.writes()}

    def effect(self, key, before, value):
        """value of key after what this transaction did to it before operation `before`."""
        for o in self.ops:
            if o.pos < before and o.writes() and o.args[0] == key:
                if o.name == "w":
                    value = typed(o.args[1])
                elif o.name == "d":
                    value = ABSENT
                else:
                    if value != ABSENT and value[0] != "list":
                        raise Skip("append to a scalar")
                    old = () if value == ABSENT else value[1]
                    value = ("list", old + (typed(o.args[1]),))
        return value


class Read:
    """One external obligation: at position pos, key had value; pinned: just before the own appends;
    item: not merely missing from a range."""

    def __init__(self, pos, key, value, writer, item, pinned=False):
        self.pos, self.key, self.value, self.writer = pos, key, value, writer
        self.item, self.pinned = item, pinned


class History:
    def __init__(self, text):
        self.txns, self.init, self.default, self.init_unknown = [], {}, ABSENT, False
        self.level = "serializable"
        for line in text.splitlines():
            raw = json.loads(line) if line.strip() else {"mark": 1}
            if "ratel" in raw:
                self.header(raw)
            elif "mark" not in raw:
                self.txns.append(Txn(raw, len(self.txns)))
        self.by_id = {t.id: t.number for t in self.txns}
        self.keys, self.lists = set(self.init), {k for k, v in self.init.items() if v[0] == "list"}
        for t in self.txns:
            for o in t.ops:
                pairs = o.args[2] if o.name in ("scan", "iter") else [o.args]
                for pair in pairs:
                    self.keys.add(pair[0])
                    if o.name == "append" or (len(pair) > 1 and isinstance(pair[1], list)):
                        self.lists.add(pair[0])
        for k in self.keys:
            self.init.setdefault(k, self.default)

    def header(self, raw):
        init = raw.get("init")
        self.init_unknown = raw.get("init_unknown", False)
        self.level = raw.get("level", self.level)
        if isinstance(init, dict):
            self.init = {k: typed(v) for k, v in init.items()}
        elif isinstance(init, list):
            self.init = {k: typed(v) for k, v in init}
        else:
            self.default = typed(init)

    def writer(self, hint):
        if hint is NOTHING or hint is None:
            return hint
        if hint not in self.by_id:
            raise Skip("bad hint")
        return self.by_id[hint]

    def answers(self, t):
        """(position, key, value, hinted writer, item?) of all that t saw; None if malformed."""
        seen = []
        for o in t.ops:
            hint = o.attr.get("from", NOTHING)
            if o.name == "r" and len(o.args) > 1:
                seen.append((o.pos, o.args[0], typed(o.args[1]), self.writer(hint), True))
            if o.name not in ("scan", "iter"):
                continue
            lo, hi, rows = o.args[0], o.args[1], o.args[2]
            done, reverse = o.name == "scan" or o.args[3], o.attr.get("reverse", False)

            def inside(k):
                if lo is not None and key_order(k) < key_order(lo):
                    return False
                if hi is None or key_order(k) < key_order(hi):
                    return True
                return k == hi and o.attr.get("incl", False)

            places = [key_order(k) for k, _ in rows]
            want = sorted(set(places), reverse=reverse)
            if places != want or any(v is None or not inside(k) for k, v in rows):
                return None
            hints = {} if hint is NOTHING else {k: hint[i] for i, (k, _) in enumerate(rows)}
            found = {k: typed(v) for k, v in rows}
            for k in self.keys:
                if not inside(k):
                    continue
                if not done:
                    if not rows:
                        continue
                    end = places[-1]
                    if (key_order(k) < end) if reverse else (key_order(k) > end):
                        continue
                hinted = self.writer(hints.get(k, NOTHING))
                seen.append((o.pos, k, found.get(k, ABSENT), hinted, k in found))
        return seen

    def row(self, number):
        name = self.txns[number].level or self.level
        if name not in OWN:
            raise Skip("a level that has no rule in a mixture")
        return OWN[name]

    def unheard(self, t, policy):
        """What a transaction at read-uncommitted saw that nobody wrote, so that it must be initial; None
        if malformed.  What it should have seen of its own writes is not asked there."""
        answers = self.answers(t)
        if answers is None:
            return None
        if self.lists:
            raise Skip("lists at read-uncommitted in a mixture")
        out = []
        for pos, key, value, hint, item in answers:
            own = any(o.pos < pos and o.writes() and o.args[0] == key for o in t.ops)
            wrote = any(o.args[0] == key and value == (typed(o.args[1]) if o.name == "w" else ABSENT)
                        for u in self.txns for o in u.ops if o.writes())
            if not wrote and not (own and policy == "must"):
                out.append(Read(pos, key, value, hint, item))
        return out

    def reads(self, t, policy):
        """The external obligations of t, or None if it saw something it cannot have seen."""
        out = []
        answers = self.answers(t)
        if answers is None:
            return None
        for pos, key, value, hint, item in answers:
            own = [o for o in t.ops if o.pos < pos and o.writes() and o.args[0] == key]
            if own and all(o.name == "append" for o in own):
                tail = tuple(typed(o.args[1]) for o in own)
                have = value[1] if value[0] == "list" else ()
                if have[len(have) - len(tail):] != tail or len(have) < len(tail):
                    return None
                rest = have[:len(have) - len(tail)]
                if hint == t.number:
                    hint = NOTHING
                out.append(Read(pos, key, ("list", rest) if rest else ABSENT, hint, item, True))
                continue
            mode = "must" if key in self.lists else policy
            if own and mode != "external":
                mine = t.effect(key, pos, ABSENT) == value and (hint is NOTHING or hint == t.number)
                if mine:
                    continue
                if mode == "must":
                    return None
            out.append(Read(pos, key, value, hint, item))
        return out


class World:
    """A history with the outcomes and the initial state chosen."""

    def __init__(self, history, part, init, reads, order, drift):
        self.h, self.part, self.init, self.reads = history, part, init, reads
        self.before = {t: set() for t in part}
        self.sessions = {t: set() for t in part}
        txns = history.txns
        if order != PLAIN:
            for a, b in itertools.combinations(part, 2):
                if txns[a].session == txns[b].session and txns[a].status == "committed":
                    self.before[b].add(a)
                    self.sessions[b].add(a)

        def surely(a, b):
            return a is not None and b is not None and a < b and b - a >= drift

        # What must have begun or committed before a commit (only the GSI family asks).
        self.begun, self.done = {t: set() for t in part}, {t: set() for t in part}
        for a, b in itertools.permutations(part, 2):
            if order == REALTIME and surely(txns[a].commit_return, txns[b].begin_call):
                self.before[b].add(a)
            if surely(txns[a].begin_return, txns[b].commit_call):
                self.begun[b].add(a)
            if surely(txns[a].commit_return, txns[b].commit_call):
                self.done[b].add(a)
        # Version hints: one must have taken effect on the key before the other.
        self.after_version = {t: set() for t in part}
        self.clash = False
        for a, b in itertools.permutations(part, 2):
            for k in txns[a].written & txns[b].written:
                va, vb = txns[a].ver[k], txns[b].ver[k]
                if va is not None and vb is not None:
                    self.clash |= va == vb
                    if va < vb:
                        self.after_version[b].add(a)

    def writes(self, t):
        return self.h.txns[t].written

    def place(self, versions, t):
        """The versions of all keys after t took effect; versions: key -> ((writer, value), ...)."""
        new = dict(versions)
        for k in self.writes(t):
            value = self.h.txns[t].effect(k, 1 << 30, versions[k][-1][1])
            new[k] = versions[k] + ((t, value),)
        return new

    def start(self):
        return {k: ((None, v),) for k, v in self.init.items()}


def matches(read, version):
    return version[1] == read.value and (read.writer is NOTHING or read.writer == version[0])


def read_committed(w):
    if not w.h.lists and not any(w.after_version.values()):
        return chain_forward(w)
    return commit_order(w, lambda t, versions, placed: choose(w, t, versions))


def chain_forward(w):
    """Take any transaction all of whose reads have a taken candidate; all must be taken."""
    taken, progress = set(), True

    def installed(key):
        yield None, w.init[key]
        for s in taken:
            if key in w.writes(s):
                yield s, w.h.txns[s].effect(key, 1 << 30, ABSENT)

    while progress:
        progress = False
        for t in w.part:
            if t in taken or not w.before[t] <= taken:
                continue
            good = all(any(matches(r, v) for v in installed(r.key)) for r in w.reads[t])
            if good:
                taken.add(t)
                progress = True
    return taken == set(w.part)


def commit_order(w, accept):
    """Is there an order of the transactions, each accepted against the versions before it?"""

    def extend(placed, versions):
        if len(placed) == len(w.part):
            return True
        for t in w.part:
            if t in placed or not (w.before[t] | w.after_version[t]) <= set(placed):
                continue
            if accept(t, versions, placed) and extend(placed + (t,), w.place(versions, t)):
                return True
        return False

    return extend((), w.start())


def choose(w, t, versions, monotonic=False, newest=lambda r: False):
    """Can every read of t be given a writer among those placed?  Monotonic (Biswas-Enea RC): a
    writer of x that an earlier read of t saw is not newer than what a later read of x sees.
    Reads for which newest is true must see the last version."""
    reads = sorted(w.reads[t], key=lambda r: r.pos)

    def go(i, seen):
        if i == len(reads):
            return True
        r = reads[i]
        chain = versions[r.key]
        for place, version in enumerate(chain):
            if not matches(r, version) or ((r.pinned or newest(r)) and place != len(chain) - 1):
                continue
            if monotonic:
                newer = {writer for writer, _ in chain[place + 1:]}
                if any(pos < r.pos and s in newer for pos, s in seen):
                    continue
            if go(i + 1, seen + [(r.pos, version[0])]):
                return True
        return False

    return go(0, [])


def monotonic_atomic_view(w):
    return commit_order(w, lambda t, versions, placed: choose(w, t, versions, monotonic=True))


def cursor_stability(w):
    """Whoever reads and writes x overwrites the version it read."""
    return commit_order(w, lambda t, versions, placed: choose(
        w, t, versions, newest=lambda r: r.item and r.key in w.writes(t)))


def repeatable_read(w):
    """Serial replay in which only absence from a range may be stale."""
    return commit_order(w, lambda t, versions, placed: choose(
        w, t, versions, newest=lambda r: r.item))


def visible_sets(w, transitive, conflict=None):
    """Cerone: an arbitration order and visible sets with EXT and SESSION.  transitive: closed sets.
    conflict "all": earlier writers of t's keys are visible (NOCONFLICT); "last": the last is."""

    def needed(t, versions):
        must = set(w.before[t])
        for k in w.writes(t):
            writers = [v[0] for v in versions[k] if v[0] is not None]
            must |= set({"all": writers, "last": writers[-1:], None: []}[conflict])
        return must

    def external(t, versions, seen):
        for r in w.reads[t]:
            chain = versions[r.key]
            last = [v for v in chain if v[0] is None or v[0] in seen][-1]
            if not matches(r, last) or (r.pinned and last != chain[-1]):
                return False
        return True

    def extend(placed, versions, vis):
        if len(placed) == len(w.part):
            return True
        for t in w.part:
            if t in placed or not (w.before[t] | w.after_version[t]) <= set(placed):
                continue
            must = needed(t, versions)
            free = [s for s in placed if s not in must]
            for n in range(len(free) + 1):
                for more in itertools.combinations(free, n):
                    seen = must | set(more)
                    if transitive and any(not vis[s] <= seen for s in seen):
                        continue
                    if not external(t, versions, seen):
                        continue
                    if extend(placed + (t,), w.place(versions, t), {**vis, t: seen}):
                        return True
                    if not transitive:
                        break  # without closure the choice concerns nobody else
                else:
                    continue
                break
        return False

    return extend((), w.start(), {})


def current(w, t, versions):
    return all(matches(r, versions[r.key][-1]) for r in w.reads[t])


def serializable(w):
    return commit_order(w, lambda t, versions, placed: current(w, t, versions))


def snapshot_replay(w, overlap=False, clock=False):
    """Begin and commit events: reads see the store at the begin; overlapping writers share no key
    unless overlap (prefix); with clock the events also keep to real time (GSI and above)."""
    dead = set()

    def parts(t, opened):
        """5.5: a read after own appends saw the version before its own; would t come between?"""
        return any(r.pinned and r.key in w.writes(t) for u in opened - {t} for r in w.reads[u])

    def extend(opened, committed, versions):
        if len(committed) == len(w.part):
            return True
        # What the future depends on; the states of lists depend on the whole order.
        latest = frozenset((k, v[-1]) for k, v in versions.items())
        state = (opened, frozenset(committed), committed if w.h.lists else latest)
        if state in dead:
            return False
        for t in opened:
            done = set(committed)
            if clock and not (w.done[t] <= done and w.begun[t] <= done | opened):
                continue
            if w.after_version[t] <= done and not parts(t, opened):
                if extend(opened - {t}, committed + (t,), w.place(versions, t)):
                    return True
        for t in w.part:
            if t in opened or t in committed or not w.before[t] <= set(committed):
                continue
            if not overlap and any(w.writes(t) & w.writes(s) for s in opened):
                continue
            if not current(w, t, versions):
                continue
            if extend(opened | {t}, committed, versions):
                return True
        dead.add(state)
        return False

    return extend(frozenset(), (), w.start())


def deleted_keys(h):
    return {o.args[0] for t in h.txns if t.status != "aborted" for o in t.ops if o.name == "d"}


def acyclic(edges):
    """edges: pairs; takes away whoever nobody leads to."""
    left = {x for e in edges for x in e}
    while left:
        free = left - {b for a, b in edges if a in left}
        if not free:
            return False
        left -= free
    return True


def alone_acyclic(w, serial, order, sources):
    """MIXPG-3.  order: the transactions as they committed; sources: (reader, key, the place among the
    versions of the key that it saw, 0 for the initial one)."""
    edges = set()
    for a, b in itertools.combinations(order, 2):
        if w.writes(a) & w.writes(b):
            edges.add((a, b))
    for t, key, place in sources:
        writers = [None] + [s for s in order if key in w.writes(s)]
        if writers[place] is not None:
            edges.add((writers[place], t))
        if place + 1 < len(writers):
            edges.add((t, writers[place + 1]))
    for t in w.part:
        edges |= {(s, t) for s in w.sessions[t]}
    return acyclic([(a, b) for a, b in edges if a != b and a in serial and b in serial])


def mixture(w, postgres):
    """Each transaction by its own level: one commit each; at snapshot isolation a begin before."""
    rows = {t: w.h.row(t) for t in w.part}
    serial = {t for t in w.part if rows[t] == "ser"}
    if postgres:
        rows = {t: "rc" if rows[t] in ("ru", "rc") else "si" for t in w.part}
    lax = deleted_keys(w.h) if postgres else set()
    dead = set()

    def may_commit(t, versions):
        """Whoever has no snapshot reads now."""
        if rows[t] == "ru":
            return all(r.value == w.init[r.key] for r in w.reads[t])
        if rows[t] == "si":
            return True
        newest = {"rc": lambda r: False, "rr": lambda r: r.item, "ser": lambda r: True}[rows[t]]
        return choose(w, t, versions, newest=newest)

    def in_the_way(t, opened):
        """Would a commit of t come between begin and commit of one that writes its keys, or that saw
        the version right before its own appends?"""
        for u in opened:
            if u != t and w.writes(t) & (w.writes(u) - lax):
                return True
            if u != t and any(r.pinned and r.key in w.writes(t) for r in w.reads[u]):
                return True
        return False

    def extend(opened, committed, versions, sources):
        if len(committed) == len(w.part):
            return not postgres or alone_acyclic(w, serial, committed, sources)
        state = (opened, committed, sources)
        if state in dead:
            return False
        done = set(committed)
        for t in w.part:
            if t in done or not w.after_version[t] <= done or in_the_way(t, opened):
                continue
            if t not in opened and (rows[t] == "si" or not w.before[t] <= done):
                continue
            if may_commit(t, versions):
                if extend(opened - {t}, committed + (t,), w.place(versions, t), sources):
                    return True
        for t in w.part:
            if rows[t] != "si" or t in opened or t in done or not w.before[t] <= done:
                continue
            if not current(w, t, versions):
                continue
            seen = {(t, r.key, len(versions[r.key]) - 1) for r in w.reads[t] if t in serial}
            if extend(opened | {t}, committed, versions, sources | seen):
                return True
        dead.add(state)
        return False

    return extend(frozenset(), (), w.start(), frozenset())


DECIDE = {
    "mix": lambda w: mixture(w, False), "mix-pg": lambda w: mixture(w, True),
    "rc": read_committed, "mav": monotonic_atomic_view, "ser": serializable, "si": snapshot_replay,
    "cs": cursor_stability, "rr": repeatable_read,
    "ra": lambda w: visible_sets(w, False), "cc": lambda w: visible_sets(w, True),
    "ua": lambda w: visible_sets(w, False, "all"), "nlu": lambda w: visible_sets(w, False, "last"),
    "psi": lambda w: visible_sets(w, True, "all"), "pc": lambda w: snapshot_replay(w, overlap=True),
    "gsi": lambda w: snapshot_replay(w, clock=True),
}


def initial_states(h, reads):
    if not h.init_unknown:
        yield h.init
        return
    if h.lists:
        raise Skip("lists with an unknown initial state")
    keys = sorted(h.keys, key=key_order)
    options = []
    for k in keys:
        values = [ABSENT] + [r.value for rs in reads.values() for r in rs if r.key == k]
        options.append([h.init[k]] if h.init[k] != ABSENT else list(dict.fromkeys(values)))
    for choice in itertools.product(*options):
        yield dict(zip(keys, choice))


def opinion(question):
    level, order = LEVELS.get(question["level"], (None, None))
    if not level:
        raise Skip("level")
    if order is None:
        order = SESSION if question["session_order"] else PLAIN
    h = History(question["text"])
    committed = [t.number for t in h.txns if t.status == "committed"]
    unknown = [t.number for t in h.txns if t.status == "unknown"]
    if not committed:
        return "undecided"
    if level == "mix-pg" and any(h.row(t) == "rr" for t in committed + unknown):
        return "undecided"  # it is no level of PostgreSQL
    if len(committed) + len(unknown) > 7:
        raise Skip("too big")
    for n in range(len(unknown) + 1):
        for taken in itertools.combinations(unknown, n):
            part = sorted(committed + list(taken))
            reads = {t: h.reads(h.txns[t], question.get("ryow", "must")) for t in part}
            if level == "mix":
                reads.update((t, h.unheard(h.txns[t], question.get("ryow", "must")))
                             for t in part if h.row(t) == "ru")
            if any(r is None for r in reads.values()):
                continue
            for init in initial_states(h, reads):
                w = World(h, part, init, reads, order, question.get("drift", 0))
                if not w.clash and DECIDE[level](w):
                    return "holds"
    return "violated"


def main():
    for line in sys.stdin:
        if line.strip():
            try:
                print(opinion(json.loads(line)))
            except Skip as reason:
                print("skip", reason)


if __name__ == "__main__":
    main()
