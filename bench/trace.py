#!/usr/bin/env python3
"""What `ratel trace proxy` costs: pgbench directly, through a plain proxy that only forwards, and with the log.

usage: RATEL=build/ratel bench/trace.py [--tcp] [--seconds S] [--rounds N] [--fsync on|off|both] [--clients 1,4,8,16] [--cases tpcb,select,simple]

A server of our own, with the settings that PostgreSQL has by default (fsync and synchronous_commit on) and with
fsync off, where no disk hides what a proxy costs. The three ways take turns in short rounds, and the median of
each counts, because other work on the machine must not meet one of them alone. "forwarded" is the proxy for a
database that it does not log: bytes are passed on and not looked at. Ratios are medians of those of each round.

The other columns are processor time for one transaction, in microseconds, which depends less on what else
runs: of the server and pgbench directly, of the proxy that only forwards, of the one that logs. Where these
share all cores of the machine, direct / (direct + proxy) is the most that the proxy can reach ("bound").

With --tcp clients connect over loopback TCP, directly as well as to the proxy, which goes on to the server
through its socket in the file system; without it everything uses sockets in the file system.
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
    m = re.search(r'tps = ([0-9.]+)', p.stdout)   # (its processor time is in os.times)
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


def time_of_ended(pid):
    """Of the server: what its processes have used that have ended, in microseconds. Those of clients end with them."""
    with open(f'/proc/{pid}/stat', encoding='ascii') as f:
        fields = f.read().rsplit(')', 1)[1].split()
    return sum(map(int, fields[11:15])) * 1000000 / os.sysconf('SC_CLK_TCK')


def used(server):
    mine = os.times()
    return (mine.children_user + mine.children_system) * 1000000 + time_of_ended(server)


def measure(ways, clients, options, args, server):
    """Of each way: the speeds, and the processor time for one transaction: of the proxy, or directly of all the rest."""
    speed, cost = [[] for _ in ways], [[] for _ in ways]
    for _ in range(args.rounds):
        for i, (host, port, database, pid) in enumerate(ways):
            before = processor_time(pid) if pid else used(server)
            rate, done = tps(host, port, database, clients, options, args.seconds)
            time.sleep(0.2)   # the server's processes end
            speed[i].append(rate)
            cost[i].append(((processor_time(pid) if pid else used(server)) - before) / done)
    return speed, [statistics.median(c) for c in cost]


def ratio(speed, over):
    return statistics.median(a / b for a, b in zip(speed, over))


def bench(fsync, args):
    server = pg_server.start(('-c listen_addresses=127.0.0.1 -c port=5599 ' if args.tcp else '') + f'-c max_connections=300 -c shared_buffers=128MB -c fsync={fsync} -c track_commit_timestamp=off')
    work = tempfile.mkdtemp(prefix='ratel-bench-')
    proxy = None
    try:
        port = 5599 if args.tcp else 5432
        env = dict(os.environ, PGHOST=server.home, PGPORT=str(port), PGUSER='postgres')
        with open(f'{server.data}/postmaster.pid', encoding='ascii') as f:
            postmaster = int(f.readline())
        subprocess.run(['psql', '-qc', 'CREATE DATABASE other', 'postgres'], env=env, check=True)
        for name in ('postgres', 'other'):
            subprocess.run(['pgbench', '-i', '-q', '-s', '5', name], env=env, check=True, stderr=subprocess.DEVNULL)
        log = os.path.join(work, 'log.jsonl')
        proxy = subprocess.Popen([RATEL, 'trace', 'proxy', '-q', '--listen', '127.0.0.1:7777' if args.tcp else f'{work}/.s.PGSQL.7777', '--upstream',
                                  f'postgres://postgres@/postgres?host={server.home}&port={port}', '-o', log])
        while not (os.path.exists(log) if args.tcp else os.path.exists(f'{work}/.s.PGSQL.7777')):
            time.sleep(0.1)
        time.sleep(1)
        direct, there = ('127.0.0.1', '127.0.0.1') if args.tcp else (server.home, work)
        ways = ((direct, port, 'postgres', 0), (there, 7777, 'other', proxy.pid), (there, 7777, 'postgres', proxy.pid))
        for case in args.cases.split(','):
            if fsync == 'on' and case != 'tpcb':
                continue   # nothing is written
            name, options = CASES[case]
            for clients in args.clients.split(','):
                s, c = measure(ways, clients, options, args, postmaster)
                m = [statistics.median(x) for x in s]
                print(f'| {name} | {fsync} | {clients} | {m[0]:.0f} | {m[1]:.0f} | {m[2]:.0f} | {ratio(s[1], s[0]):.2f} | {ratio(s[2], s[0]):.2f} | '
                      f'{ratio(s[2], s[1]):.2f} | {c[0]:.0f} | {c[1]:.0f} | {c[2]:.0f} | {c[0] / (c[0] + c[1]):.2f} | {c[0] / (c[0] + c[2]):.2f} |', flush=True)
    finally:
        if proxy:
            proxy.send_signal(signal.SIGTERM)
            proxy.wait(30)
        server.stop()
        subprocess.run(['rm', '-rf', work], check=False)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tcp', action='store_true')
    p.add_argument('--seconds', type=int, default=3)
    p.add_argument('--rounds', type=int, default=5)
    p.add_argument('--fsync', default='both', choices=('on', 'off', 'both'))
    p.add_argument('--clients', default='1,4,8,16')
    p.add_argument('--cases', default='tpcb,select,simple')
    args = p.parse_args()
    print('| | fsync | clients | direct | forwarded | logged | forwarded / direct | logged / direct | logged / forwarded | us, server and pgbench | '
          'forwarding | logging | bound, forwarding | logging |')
    print('|---' * 14 + '|')
    for fsync in ('on', 'off') if args.fsync == 'both' else (args.fsync,):
        bench(fsync, args)


if __name__ == '__main__':
    main()
