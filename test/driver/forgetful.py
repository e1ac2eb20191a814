#!/usr/bin/env python3
"""A driver that acknowledges commits before they are in its file: what it has done since it last
saved is gone when it is killed. A store in memory with optimistic transactions, for the tests of
kills.

usage: forgetful.py FILE EVERY      saves after every so many commits; 1 forgets nothing
"""
import json
import os
import sys

path, every = sys.argv[1], int(sys.argv[2])
try:
    with open(path, encoding='utf-8') as f:
        rows = {int(k): v for k, v in json.load(f).items()}
except FileNotFoundError:
    rows = {}
versions, open_ones, commits = {}, {}, 0


class Refused(Exception):
    pass


def save():
    with open(path + '.new', 'w', encoding='utf-8') as f:
        json.dump(rows, f)
    os.replace(path + '.new', path)


def commit(txn):
    global commits
    if any(versions.get(k, 0) != v for k, v in txn['seen'].items()):
        raise Refused('somebody has written what was read')
    for k, v in txn['writes'].items():
        rows[k] = v
        versions[k] = versions.get(k, 0) + 1
    commits += bool(txn['writes'])
    if txn['writes'] and commits % every == 0:
        save()


def value(txn, key):
    txn['seen'].setdefault(key, versions.get(key, 0))
    return txn['writes'][key] if key in txn['writes'] else rows.get(key)


def answer(r):
    op, txn = r['op'], open_ones.get(r.get('session'))
    if op == 'hello':
        return {'protocol': 1, 'driver': 'forgetful.py', 'engine': 'Forgetful', 'version': '1',
                'isolations': ['serializable'], 'operations': ['get', 'put', 'append'], 'sessions': 'many',
                'contracts': {'serializable': {'level': 'serializable', 'source': 'its own head'}},
                'data': 'files'}
    if op == 'setup':
        rows.clear()
        save()
    if op == 'load':
        rows.update({k: v for k, v in r['rows']})
        save()
    if op == 'begin':
        open_ones[r['session']] = {'seen': {}, 'writes': {}}
    if op == 'get':
        return {'value': value(txn, r['key'])}
    if op == 'put':
        txn['writes'][r['key']] = r['value']
    if op == 'append':
        txn['writes'][r['key']] = (value(txn, r['key']) or []) + [r['value']]
    if op == 'commit':
        commit(open_ones.pop(r['session']))
    return {}


for line in sys.stdin:
    request = json.loads(line)
    try:
        told = {'answer': 'done', **answer(request)}
    except Refused as e:
        told = {'answer': 'refused', 'error': str(e)}
    sys.stdout.write(json.dumps({'id': request['id'], **told}) + '\n')
    sys.stdout.flush()
