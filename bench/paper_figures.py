"""What the scripts of the papers' figures share: histories, one answer with its CPU time, tables.

Times are user seconds of the process that checks (getrusage), one thread, reading included; so a
loaded machine changes them little. LIMIT is CPU time for one cell: the papers give 600 s or more of
wall time, and a cell that reaches ours is shown as "> LIMIT". BENCH_LOG may name a file that gets a line
for every cell as soon as it is known, so that a run that is cut short leaves its numbers. The published numbers are of other machines and
of histories from real databases; ours come from the simulated store of `gen`.
"""
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RATEL = os.path.abspath(os.environ.get('RATEL', os.path.join(HERE, '..', 'build', 'ratel')))
LIMIT = int(os.environ.get('BENCH_LIMIT', '60'))
LOG = os.environ.get('BENCH_LOG')
NOTE = ('The machines differ: published numbers are of the papers\' machines and of recordings of '
        'databases, ours are user seconds of one thread on this one, on histories of the simulated '
        'store.')


def generate(folder, workload, txns, *more, isolation='snapshot-isolation', sessions=24, seed=1):
    """A history without client times, with unique transactions; the path."""
    words = [workload, str(txns), *map(str, more), isolation, str(sessions), str(seed)]
    path = os.path.join(folder, '_'.join(words).replace('--', '').replace(':', '-') + '.dbcop')
    path = path.replace('.dbcop', '.jsonl')
    if not os.path.exists(path):
        command = [RATEL, 'gen', '--workload', workload, '--txns', txns, '--sessions', sessions,
                   '--seed', seed, '--isolation', isolation, '--to', 'ratel', '-q', '--truth',
                   os.devnull, '-o', path, *more]
        subprocess.run([str(x) for x in command], check=True)
    return path


class Answer:
    """What `check` said of a history at a level, and its user seconds."""
    def __init__(self, path, level, *more, limit=None):
        self.limit = limit or LIMIT
        command = [RATEL, 'check', '-q', '--json', '--level', level, *map(str, more), path]
        most = self.limit, self.limit + 5
        with tempfile.TemporaryFile() as out:
            p = subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, most))
            error = p.stderr.read().decode()
            p.stderr.close()
            _, status, usage = os.wait4(p.pid, 0)
            p.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            text = out.read().decode()
        if p.returncode not in (0, 1, 2, -signal.SIGXCPU, -signal.SIGKILL):
            sys.exit(f'bench: exit {p.returncode}: {" ".join(command)}\n{error}')
        lines = [json.loads(line) for line in text.splitlines()]
        self.json = lines[0] if lines else {}
        self.verdict = self.json.get('verdict', 'undecided')
        self.cpu = usage.ru_utime
        if LOG:
            with open(LOG, 'a', encoding='utf-8') as f:
                f.write(f'{self.told()}\t{level}\t{" ".join(map(str, more))}\t{os.path.basename(path)}\t'
                        f'{json.dumps(self.json.get("solver", {}))}\n')

    def cell(self):
        if self.verdict == 'undecided':
            return f'> {self.limit}'
        return f'{self.cpu:.2f}'

    def told(self):
        short = {'holds': 'accept', 'violated': 'reject'}.get(self.verdict)
        return f'{self.cell()} ({short})' if short else self.cell()


def stand_alone(bench):
    """Prints the tables of one script: bench(say, table, quick, only)."""
    def table(head, rows):
        print('| ' + ' | '.join(map(str, head)) + ' |')
        print('|' + '---|' * len(head))
        for row in rows:
            print('| ' + ' | '.join(map(str, row)) + ' |')
        print(flush=True)
    words = [w for w in sys.argv[1:] if w != '--quick']
    bench(lambda line='': print(line, flush=True), table, '--quick' in sys.argv, words)
