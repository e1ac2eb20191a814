#!/usr/bin/env python3
"""What recording costs in processor time, with many sessions: for busy machines, where rounds of the
same load differ by a factor of two and throughput (bench/record.py) says nothing.

usage: RATEL=build/ratel bench/record_cpu.py [--sessions=500] [--txns=3000] [--pairs=15] [postgres] [mariadb]

A machine that is saturated commits as many transactions as it has processor time for. So we compare
the processor time of all that takes part, the server, `ratel` and its recorder, in pairs of a run that
records and one that does not, in turns. Connecting costs the same in both; it is measured by runs
of a few transactions and not counted, so that it does not make the share of recording look small.

  cost = (recorded - not recorded) / (not recorded - connecting)

The median of the pairs and its 95% interval (bootstrap) are told, twice: with the time of all in the
numerator, and with that of `ratel` and its recorder alone. The server executes the same statements in
both, so its differences are noise unless recording changes how sessions meet; the second number leaves
that out, and is the smaller claim. Both servers are our own, in a
temporary directory, with fsync off, which makes the transactions cheap and the share of recording large.
"""
import contextlib
import json
import os
import pwd
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RATEL = os.path.abspath(os.environ.get('RATEL', os.path.join(HERE, '..', 'build', 'ratel')))
TICK = os.sysconf('SC_CLK_TCK')
FEW = 10   # transactions of a run that only connects


def spent(pid):
    """Seconds of processor time of a process and of its children that have ended."""
    with open(f'/proc/{pid}/stat', encoding='ascii') as f:
        numbers = f.read().rsplit(')', 1)[1].split()
    return sum(int(n) for n in numbers[11:15]) / TICK


def settled(pid):
    """The same when all sessions of the server are gone: their time then counts for their parent."""
    last = -1
    while (now := spent(pid)) != last:
        last = now
        time.sleep(0.3)
    return now


@contextlib.contextmanager
def server(name):
    where = tempfile.mkdtemp(prefix='ratel-cpu-')
    user = 'postgres' if name == 'postgres' else 'mysql'
    root = os.getuid() == 0
    if root:
        os.chown(where, pwd.getpwnam(user).pw_uid, -1)
    os.chmod(where, 0o755)
    data = os.path.join(where, 'data')
    as_user = {'user': user} if root else {}
    quiet = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL, 'cwd': '/', **as_user}
    try:
        if name == 'postgres':
            at = '/usr/lib/postgresql'
            tools = os.path.join(at, max(os.listdir(at)), 'bin')
            subprocess.run([f'{tools}/initdb', '-D', data, '-U', user, '-A', 'trust', '-N'], check=True, **quiet)
            command = [f'{tools}/postgres', '-D', data, '-k', where, '-h', '', '-F', '-c', 'max_connections=600',
                       '-c', 'autovacuum=off']
            url = f'postgres://{user}@/postgres?host={where}'
        else:
            subprocess.run(['mariadb-install-db', '--no-defaults', f'--datadir={data}', '--skip-test-db',
                            '--auth-root-authentication-method=normal'], check=True, **quiet)
            command = ['mariadbd', '--no-defaults', f'--datadir={data}', f'--socket={where}/s', '--skip-networking',
                       '--max-connections=600', '--innodb-flush-log-at-trx-commit=0']
            url = f'mysql://root@localhost/mysql?socket={where}/s'
        p = subprocess.Popen(command, **quiet)
        try:
            time.sleep(5)
            yield url, p.pid
        finally:
            p.terminate()
            p.wait()
    finally:
        shutil.rmtree(where, ignore_errors=True)


def one(url, pid, sessions, txns, *more):
    """Seconds of processor time that a run took, and how many transactions it committed."""
    before, ours = settled(pid), resource.getrusage(resource.RUSAGE_CHILDREN)
    p = subprocess.run([RATEL, 'run', '--db', url, '-w', 'blindw-rw', '--sessions', str(sessions), '--txns',
                        str(txns), '--json', '-q', '-o', '/dev/null', *more], capture_output=True, text=True,
                       check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    client = used.ru_utime + used.ru_stime - ours.ru_utime - ours.ru_stime
    return client, settled(pid) - before, json.loads(p.stdout)['committed']


def interval(values):
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(4000))
    return statistics.median(values), medians[100], medians[3899]


def option(name, usual):
    return next((int(a.split('=')[1]) for a in sys.argv if a.startswith(f'--{name}=')), usual)


def main():
    sessions, txns, pairs = option('sessions', 500), option('txns', 3000), option('pairs', 15)
    names = [a for a in sys.argv[1:] if not a.startswith('--')] or ['postgres', 'mariadb']
    print('| database | pairs | connecting | not recorded, of it ours | recorded, of it ours | cost, of all | '
          'cost, of ours |')
    print('|---|---|---|---|---|---|---|')
    for name in names:
        with server(name) as (url, pid):
            idle = statistics.median(sum(one(url, pid, sessions, FEW, '--no-record')[:2]) for _ in range(5))
            rows = []
            for i in range(pairs):
                ways = [('--no-record',), ()]
                got = {w: one(url, pid, sessions, txns, *w) for w in (ways if i % 2 else ways[::-1])}
                without, with_it = got[ways[0]], got[ways[1]]
                rows.append((sum(without[:2]), sum(with_it[:2]), without[0], with_it[0]))
            base = statistics.median(r[0] for r in rows) - idle
            costs = [interval([(r[k + 1] - r[k]) / base for r in rows]) for k in (0, 2)]
            a, b, c, d = (statistics.median(column) for column in zip(*rows))
            told = [f'{m:.1%} ({low:.1%} to {high:.1%})' for m, low, high in costs]
            print(f'| {name} | {pairs} | {idle:.2f} s | {a:.2f} s, {c:.2f} s | {b:.2f} s, {d:.2f} s | {told[0]} | '
                  f'{told[1]} |', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
