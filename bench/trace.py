#!/usr/bin/env python3
"""What `ratel trace proxy` costs: pgbench directly, through the proxy without a log, and with one.

usage: RATEL=build/ratel bench/trace.py [SECONDS [CLIENTS]]     default: 5 seconds, 20 clients, then 200

A server of our own; the three ways take turns, three rounds, and the best of each counts. "forwarded"
is the same proxy for a database that it does not log: bytes are passed on and not looked at.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

SRC = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(SRC, 'test', 'audit'))
import pg_server  # noqa: E402

RATEL = os.environ.get('RATEL', os.path.join(SRC, 'build', 'ratel'))
SECONDS = sys.argv[1] if len(sys.argv) > 1 else '5'
CLIENTS = sys.argv[2:] or ['20', '200']
ROUNDS = 3
CASES = {'TPC-B, prepared': ['-b', 'tpcb', '-M', 'prepared'], 'select-only, prepared': ['-b', 'select-only', '-M', 'prepared'],
         'select-only, simple': ['-b', 'select-only', '-M', 'simple']}


def tps(host, port, database, clients, options):
    env = dict(os.environ, PGHOST=host, PGPORT=str(port), PGUSER='postgres')
    p = subprocess.run(['pgbench', '-n', '-c', clients, '-j', '2', '-T', SECONDS, *options, database], env=env, capture_output=True,
                       text=True, check=False)
    m = re.search(r'tps = ([0-9.]+)', p.stdout)
    return float(m.group(1)) if m else sys.exit(p.stderr)


def main():
    server = pg_server.start('-c max_connections=300 -c shared_buffers=128MB')
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
        print(f'{"":24} {"clients":>7} {"direct":>9} {"forwarded":>10} {"logged":>9}  logged/direct  logged/forwarded')
        for clients in CLIENTS:
            for name, options in CASES.items():
                best = [0, 0, 0]
                for _ in range(ROUNDS):
                    for i, (host, port, database) in enumerate(((server.home, 5432, 'postgres'), (work, 7777, 'other'),
                                                                (work, 7777, 'postgres'))):
                        best[i] = max(best[i], tps(host, port, database, clients, options))
                print(f'{name:24} {clients:>7} {best[0]:9.0f} {best[1]:10.0f} {best[2]:9.0f}  {best[2] / best[0]:13.2f}  '
                      f'{best[2] / best[1]:16.2f}', flush=True)
    finally:
        if proxy:
            proxy.send_signal(signal.SIGTERM)
            proxy.wait(30)
        server.stop()
        subprocess.run(['rm', '-rf', work], check=False)


if __name__ == '__main__':
    main()
