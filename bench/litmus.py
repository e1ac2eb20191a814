#!/usr/bin/env python3
"""What litmus takes: the slowest cell and the whole table of each database (bench/run calls this;
also by itself):

usage: RATEL=build/ratel bench/litmus.py [--quick] [URL...]

Promised: a cell in less than 2 s, all levels of PostgreSQL in less than 3 minutes, both on the wall
clock and the start of the server included in the second; so a busy machine misses them.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

from plain_output import plain_table, say_line

HERE = os.path.dirname(os.path.abspath(__file__))
RATEL = os.path.abspath(os.environ.get('RATEL', os.path.join(HERE, '..', 'build', 'ratel')))
CELL, TABLE = 2, 180
URLS = 'postgres:temp', 'mariadb:temp', 'sqlite:%s/litmus.db'
HEAD = ['database', 'cells', 'slowest cell', 'of', 'promised', 'whole table', 'promised', '']


def bench_litmus(say, table, quick, urls=()):
    rows = []
    for url in urls or URLS:
        with tempfile.TemporaryDirectory() as place:
            start = time.time()
            p = subprocess.run([RATEL, 'litmus', '--json', '--db', url.replace('%s', place)]
                               + (['-i', 'rr'] if quick and ':temp' in url else []),
                               capture_output=True, text=True)
            took = time.time() - start
        if p.returncode != 0:
            rows.append([url, '-', '-', '-', '', '-', '', 'not here'])
            continue
        cells = [json.loads(line) for line in p.stdout.splitlines()]
        slowest = max(cells, key=lambda c: c['seconds'])
        good = slowest['seconds'] < CELL and took < TABLE
        rows.append([url.split(':')[0], len(cells), f"{slowest['seconds']:.2f} s",
                     f"{slowest['case']}, {slowest['isolation']}", f'{CELL} s', f'{took:.1f} s',
                     f'{TABLE} s', 'ok' if good else 'MISSED'])
    say('## Litmus: the slowest cell, and the whole table of a database')
    say()
    table(HEAD, rows)
    say()


def main():
    bench_litmus(say_line, plain_table, '--quick' in sys.argv,
                 [a for a in sys.argv[1:] if a != '--quick'])
    return 0


if __name__ == '__main__':
    sys.exit(main())
