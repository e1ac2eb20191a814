#!/usr/bin/env python3
"""What `ratel trace proxy` costs: pgbench directly, through a plain proxy that only forwards, and with the log.

usage: RATEL=build/ratel bench/trace.py [--seconds S] [--rounds N] [--fsync on|off|both] [--clients 1,4,8,16] [--cases tpcb,select,simple]

A server of our own, with the settings that PostgreSQL has by default (fsync and synchronous_commit on) and with
fsync off, where no disk hides what a proxy costs. The three ways take turns in short rounds, and the median of
each counts, because other work on the machine must not meet one of them alone. "forwarded" is the proxy for a
database that it does not log: bytes are passed on and not looked at. The last two columns are the processor time
of the proxy for one transaction, in microseconds: it depends less on what else runs.
"""
import argparse
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

SRC = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(SRC, 'test', 'audit'))
import pg_server  # noqa: E402

RATEL = os.environ.get('RATEL', os.path.join(SRC, 'build', 'ratel'))
CASES = {'tpcb': ('TPC-B, prepared', ['-b', 'tpcb', '-M', 'prepared']),
         'select': ('select-only, prepared', ['-b', 'select-only', '-M', 'prepared']),
         'simple': ('select-only, simple', ['-b', 'select-only', '-M', 'simple'])}


def tps(host, port, database, clients, options, seconds):
    env = dict(os.environ, PGHOST=host, PGPORT=str(port), PGUSER='postgres')
    p = subprocess.run(['pgbench', '-n', '-c', clients, '-j', str(min(2, int(clients))), '-T', str(seconds), *options, database], env=env,
                       capture_output=True, text=True, check=False)
    m = re.search(r'tps = ([0-9.]+)', p.stdout)
    done = re.search(r'actually processed: ([0-9]+)', p.stdout)
    return (float(m.group(1)), int(done.group(1))) if m else sys.exit(p.stderr)


def processor_time(pid):
    with open(f'/proc/{pid}/schedstat', encoding='ascii') as f:   # of the main thread; others are below task/
        whole = int(f.read().split()[0])
    for task in os.listdir(f'/proc/{pid}/task'):
        if int(task) != pid:
            with open(f'/proc/{pid}/task/{task}/schedstat', encoding='ascii') as f:
                whole += int(f.read().split()[0])
    return whole / 1000


def measure(ways, clients, options, args):
    """Medians of the transactions a second, and of the proxy's time for one, of each way."""
    speed, cost = [[] for _ in ways], [[] for _ in ways]
    for _ in range(args.rounds):
        for i, (host, port, database, pid) in enumerate(ways):
            before = processor_time(pid) if pid else 0
            rate, done = tps(host, port, database, clients, options, args.seconds)
            speed[i].append(rate)
            cost[i].append((processor_time(pid) - before) / done if pid else 0)
    return [statistics.median(s) for s in speed], [statistics.median(c) for c in cost]


def bench(fsync, args):
    server = pg_server.start(f'-c max_connections=300 -c shared_buffers=128MB -c fsync={fsync} -c track_commit_timestamp=off')
    work = tempfile.mkdtemp(prefix='ratel-bench-')
    proxy = None
    try:
        env = dict(os.environ, PGHOST=server.home, PGUSER='postgres')
        subprocess.run(['psql', '-qc', 'CREATE DATABASE other', 'postgres'], env=env, check=True)
        for name in ('postgres', 'other'):
            subprocess.run(['pgbench', '-i', '-q', '-s', '5', name], env=env, check=True, stderr=subprocess.DEVNULL)
        log = os.path.join(work, 'log.jsonl')
        proxy = subprocess.Popen([RATEL, 'trace', 'proxy', '-q', '--listen', f'{work}/.s.PGSQL.7777', '--upstream',
                                  f'postgres://postgres@/postgres?host={server.home}', '-o', log])
        while not os.path.exists(f'{work}/.s.PGSQL.7777'):
            time.sleep(0.1)
        ways = ((server.home, 5432, 'postgres', 0), (work, 7777, 'other', proxy.pid), (work, 7777, 'postgres', proxy.pid))
        for case in args.cases.split(','):
            if fsync == 'on' and case != 'tpcb':
                continue   # nothing is written
            name, options = CASES[case]
            for clients in args.clients.split(','):
                s, c = measure(ways, clients, options, args)
                print(f'| {name} | {fsync} | {clients} | {s[0]:.0f} | {s[1]:.0f} | {s[2]:.0f} | {s[2] / s[0]:.2f} | {s[2] / s[1]:.2f} | '
                      f'{c[1]:.1f} | {c[2]:.1f} |', flush=True)
    finally:
        if proxy:
            proxy.send_signal(signal.SIGTERM)
            proxy.wait(30)
        server.stop()
        subprocess.run(['rm', '-rf', work], check=False)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--seconds', type=int, default=3)
    p.add_argument('--rounds', type=int, default=5)
    p.add_argument('--fsync', default='both', choices=('on', 'off', 'both'))
    p.add_argument('--clients', default='1,4,8,16')
    p.add_argument('--cases', default='tpcb,select,simple')
    args = p.parse_args()
    print('| | fsync | clients | direct | forwarded | logged | logged / direct | logged / forwarded | proxy, us, forwarded | logged |')
    print('|---|---|---|---|---|---|---|---|---|---|')
    for fsync in ('on', 'off') if args.fsync == 'both' else (args.fsync,):
        bench(fsync, args)


if __name__ == '__main__':
    main()
