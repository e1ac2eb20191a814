"""A small reader and solver of GNF, the input of MonoSAT: clauses, and directed graphs whose edges are
variables and which must be acyclic. The clauses go to ratel-sat; each cycle of its model becomes a
clause, until there is none, or no model."""
import os
import subprocess
import tempfile


class Problem:
    def __init__(self, text):
        self.vars, self.clauses, self.edges, self.acyclic, declared = 0, [], {}, {}, {}
        promised = 0
        for line in text.splitlines():
            word = line.split()
            if not word or word[0] == 'c':
                continue
            if word[:2] == ['p', 'cnf']:
                self.vars, promised = int(word[2]), int(word[3])
            elif word[0] == 'digraph':
                assert word[1] == 'int'
                nodes, edges, graph = map(int, word[2:])
                declared[graph] = (nodes, edges)
                self.edges[graph] = []
            elif word[0] == 'edge':
                graph, a, b, var = map(int, word[1:])
                assert a < declared[graph][0] and b < declared[graph][0] and var <= self.vars
                self.edges[graph].append((a, b, var))
            elif word[0] == 'acyclic':
                graph, var = map(int, word[1:])
                self.acyclic[graph] = var
            else:
                literals = list(map(int, word))
                assert literals[-1] == 0 and all(abs(x) <= self.vars for x in literals)
                self.clauses.append(literals[:-1])
        assert len(self.clauses) == promised
        for graph, (nodes, edges) in declared.items():
            assert len(self.edges[graph]) == edges
        used = [e[2] for all_edges in self.edges.values() for e in all_edges] + list(self.acyclic.values())
        assert len(used) == len(set(used)), 'a variable of the theory is shared'
        assert all([v] in self.clauses for v in self.acyclic.values()), 'a graph need not be acyclic'

    def model(self, sat):
        """The set of true variables, or None."""
        with tempfile.NamedTemporaryFile('w', suffix='.cnf', delete=False) as f:
            f.write(f'p cnf {self.vars} {len(self.clauses)}\n')
            f.writelines(' '.join(map(str, c)) + ' 0\n' for c in self.clauses)
        out = subprocess.run([sat, f.name], stdout=subprocess.PIPE, text=True)
        os.unlink(f.name)
        if out.returncode == 20:
            return None
        assert out.returncode == 10, out.returncode
        return {int(x) for line in out.stdout.splitlines() if line.startswith('v ')
                for x in line.split()[1:] if int(x) > 0}


def cycles(edges, true):
    """Disjoint cycles of the edges that are true, each as its variables."""
    out = {}
    for a, b, var in edges:
        if var in true:
            out.setdefault(a, []).append((b, var))
    state, found = {}, []
    for root in list(out):
        stack = [(root, iter(out.get(root, [])), None)]
        if state.get(root):
            continue
        state[root] = 1
        while stack:
            node, rest, _ = stack[-1]
            for b, var in rest:
                if state.get(b) == 1:
                    at = next(i for i, s in enumerate(stack) if s[0] == b)
                    found.append([s[2] for s in stack[at + 1:]] + [var])
                elif not state.get(b):
                    state[b] = 1
                    stack.append((b, iter(out.get(b, [])), var))
                    break
            else:
                state[node] = 2
                stack.pop()
        if found:
            return found
    return found


def satisfiable(text, sat):
    problem = Problem(text)
    while True:
        true = problem.model(sat)
        if true is None:
            return False
        found = [c for graph in problem.edges for c in cycles(problem.edges[graph], true)]
        if not found:
            return True
        problem.clauses += [[-v for v in cycle] for cycle in found]
