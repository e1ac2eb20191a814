#!/usr/bin/env python3
"""The checkout of a small web shop, with a race in it.

usage: shop.py setup DSN          makes the tables
       shop.py sell [--lock] [--trace FILE] DSN
                                  four customers buy two kettles each, all at the same time

A checkout reads how many kettles are left, takes a moment for the payment, and writes one less. With
--lock it reads FOR UPDATE. With --trace its connections are wrapped by ratel_trace, which records them.
Needs psycopg2.
"""
import sys
import threading
import time

import psycopg2

KETTLE = 1


def setup(dsn):
    with psycopg2.connect(dsn) as c, c.cursor() as cur:
        cur.execute('DROP TABLE IF EXISTS orders')
        cur.execute('DROP TABLE IF EXISTS products')
        cur.execute('CREATE TABLE products (id int PRIMARY KEY, name text NOT NULL, stock int NOT NULL)')
        cur.execute('CREATE TABLE orders (customer int, product int, number int, PRIMARY KEY (customer, number))')
        cur.execute("INSERT INTO products VALUES (%s, 'kettle', 20)", (KETTLE,))


def checkout(c, customer, number, lock):
    with c, c.cursor() as cur:   # one transaction: commits at the end of the block
        cur.execute('SELECT stock FROM products WHERE id = %s' + (' FOR UPDATE' if lock else ''), (KETTLE,))
        stock = cur.fetchone()[0]
        if stock < 1:
            return
        time.sleep(0.02)   # the payment
        cur.execute('UPDATE products SET stock = %s WHERE id = %s', (stock - 1, KETTLE))
        cur.execute('INSERT INTO orders VALUES (%s, %s, %s)', (customer, KETTLE, number))


def customer_buys(dsn, customer, lock, together, trace):
    c = psycopg2.connect(dsn)
    if trace:
        import ratel_trace
        c = ratel_trace.wrap(c, trace)
    together.wait()
    for number in range(2):
        checkout(c, customer, number, lock)
    c.close()


def sell(dsn, lock, trace):
    together = threading.Barrier(4)
    customers = [threading.Thread(target=customer_buys, args=(dsn, i, lock, together, trace)) for i in range(1, 5)]
    for t in customers:
        t.start()
    for t in customers:
        t.join()


if __name__ == '__main__':
    if len(sys.argv) < 3 or sys.argv[1] not in ('setup', 'sell'):
        sys.exit(__doc__)
    if sys.argv[1] == 'setup':
        setup(sys.argv[-1])
    else:
        traced = '--trace' in sys.argv and sys.argv[sys.argv.index('--trace') + 1]
        sell(sys.argv[-1], '--lock' in sys.argv, traced)
