#!/usr/bin/env python3
"""A driver that misbehaves when told to: drivers/dbapi.py around SQLite, and one trick.

usage: puppet.py DATABASE TRICK OP N [FLAG]     at the N-th request OP of a process, once a FLAG file
       puppet.py DATABASE hello JSON            these members replace those of the hello

The tricks that a driver may play before it has done what was asked, and those after it.
"""
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'drivers'))
import dbapi  # noqa: E402

database, trick = sys.argv[1:3]
what, number = (sys.argv[3], int(sys.argv[4])) if len(sys.argv) > 4 and trick != 'words' else ('', 0)
flag = sys.argv[5] if len(sys.argv) > 5 else None
driver = dbapi.Driver('sqlite3', {'database': database}, {}, False)
driver.open()
driver.execute('PRAGMA synchronous = OFF')   # no power is cut here, and disks are slow
seen = {}


def write(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def now(op):
    seen[op] = seen.get(op, 0) + 1
    if op != what or seen[op] != number:
        return False
    if flag:
        try:
            os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
    return True


def before(request):
    """True: nothing more is to be done about this request."""
    if trick == 'die':
        print('puppet: I die', file=sys.stderr)
        os._exit(3)
    if trick == 'kill':
        os.kill(os.getpid(), signal.SIGKILL)
    if trick == 'stall':
        time.sleep(600)
    if trick == 'garbage':
        print('puppet: look at my garbage', file=sys.stderr)
        write('Welcome to the database\n')
    if trick == 'binary':
        sys.stdout.buffer.write(b'\x00\xff\xfe{"id":\x01\n')
        sys.stdout.buffer.flush()
    if trick == 'flood':
        while True:
            write('x' * 65536)
    if trick == 'lines':
        while True:
            write('{"id":999999,"answer":"done"}\n' * 1000)
    if trick == 'half':
        write('{"id":%d,"answer":"do' % request['id'])
        os._exit(0)
    if trick == 'half-stall':
        write('{"id":%d,"answer":"do' % request['id'])
        time.sleep(600)
    if trick == 'wrong-id':
        write('{"id":%d,"answer":"done"}\n' % (request['id'] + 1000))
    if trick == 'no-id':
        write('{"answer":"done"}\n')
    if trick == 'no-answer':
        write('{"id":%d}\n' % request['id'])
    if trick == 'maybe':
        write('{"id":%d,"answer":"maybe"}\n' % request['id'])
    if trick == 'empty':
        write('{"id":%d,"answer":"done"}\n' % request['id'])
    if trick == 'text-value':
        write('{"id":%d,"answer":"done","value":"many"}\n' % request['id'])
    if trick == 'deep':
        write('{"id":%d,"answer":"done","value":%s}\n' % (request['id'], '[' * 5000))
    if trick == 'fail':
        write('{"id":%d,"answer":"failed","error":"disk on fire"}\n' % request['id'])
    if trick == 'unknown':
        write('{"id":%d,"answer":"unknown","error":"the wire was cut"}\n' % request['id'])
    if trick == 'close':
        os.close(1)
        time.sleep(600)
    return True


BEFORE = ('die kill stall garbage binary flood lines half half-stall wrong-id no-id no-answer maybe '
          'empty text-value deep fail unknown close').split()
for line in sys.stdin:
    request = json.loads(line)
    op = request['op']
    due = now(op)
    if due and trick in BEFORE:
        before(request)
        continue
    if trick == 'orphan' and op == 'connect':
        subprocess.Popen(['sleep', '4711'], start_new_session=True, stdout=subprocess.DEVNULL)
    if trick == 'noisy':
        sys.stderr.write('noise ' * 20000)
    if trick == 'vain' and op == 'put' and request.get('alone'):
        answer = {'answer': 'done'}
    elif trick == 'unmapped' and op == 'put' and request['key'] == 200:   # which several sessions write
        answer = {'answer': 'failed', 'error': 'database is locked'}
    elif trick == 'autocommit' and op == 'begin':
        answer = {'answer': 'done'}
    elif trick == 'autocommit' and op in ('commit', 'abort'):
        answer = {'answer': 'done'}
    elif trick == 'anything' and op == 'begin':
        answer = driver.answer({**request, 'isolation': 'serializable'})
    elif trick == 'anything' and not hasattr(driver, op):
        answer = {'answer': 'done'}
    else:
        answer = driver.answer(request)
    if trick == 'hello' and op == 'hello':
        answer.update(json.loads(sys.argv[3]))
    if trick == 'words' and op == 'hello':
        answer['settings'] = {'words': '|'.join(sys.argv[3:]), 'colour': os.environ.get('COLOUR', '')}
    if due and trick == 'die-after':
        os._exit(3)
    write(json.dumps({'id': request['id'], **answer}) + '\n')
    if due and trick == 'twice':
        write(json.dumps({'id': request['id'], **answer}) + '\n')
