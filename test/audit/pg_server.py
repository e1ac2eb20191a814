"""A PostgreSQL 15 server of our own, and connections to it through libpq (ctypes: no module of
Python's package index is needed).

    server = pg_server.start()          # or Missing is raised, with the reason
    c = server.connect()
    c.run('SELECT 1')                   # an Answer: columns, rows, count or the SQLSTATE of an error
    server.stop()

Calls of libpq release Python's lock, so that sessions in threads run at the same time.
"""
import ctypes
import ctypes.util
import glob
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

TOOLS = '/usr/lib/postgresql/15/bin'
QUIET = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.STDOUT}


class Missing(Exception):
    """There is no server to be had, and why."""


class Answer:
    def __init__(self, rows, count, error, message):
        self.rows, self.count, self.error, self.message = rows, count, error, message


def as_server(command):
    """PostgreSQL does not run as root."""
    return command if os.geteuid() else ['runuser', '-u', 'postgres', '--'] + command


def library():
    name = ctypes.util.find_library('pq')
    if not name:
        raise Missing('no libpq here')
    pq = ctypes.CDLL(name)
    for f in ('PQconnectdb', 'PQexec', 'PQgetResult'):
        getattr(pq, f).restype = ctypes.c_void_p
    for f in ('PQerrorMessage', 'PQresultErrorField', 'PQgetvalue', 'PQcmdTuples', 'PQresultErrorMessage'):
        getattr(pq, f).restype = ctypes.c_char_p
    pq.PQexec.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    pq.PQsendQuery.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    for f in ('PQstatus', 'PQresultStatus', 'PQntuples', 'PQnfields', 'PQclear', 'PQfinish', 'PQgetResult', 'PQcmdTuples',
              'PQconsumeInput', 'PQisBusy', 'PQbackendPID', 'PQerrorMessage', 'PQresultErrorMessage'):
        getattr(pq, f).argtypes = [ctypes.c_void_p]
    pq.PQclear.restype = pq.PQfinish.restype = None
    pq.PQresultErrorField.argtypes = [ctypes.c_void_p, ctypes.c_int]
    for f in ('PQgetvalue', 'PQgetisnull'):
        getattr(pq, f).argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
    pq.PQsetNoticeProcessor.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    return pq


class Connection:
    silent = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)(lambda ud, text: None)

    def __init__(self, pq, where):
        self.pq = pq
        self.c = pq.PQconnectdb(where.encode())
        if pq.PQstatus(self.c) != 0:
            raise Missing(pq.PQerrorMessage(self.c).decode().strip())
        pq.PQsetNoticeProcessor(self.c, ctypes.cast(self.silent, ctypes.c_void_p), None)
        self.pid = pq.PQbackendPID(self.c)

    def answer(self, r):
        pq = self.pq
        status = pq.PQresultStatus(r)
        if status not in (1, 2):   # PGRES_COMMAND_OK, PGRES_TUPLES_OK
            state = pq.PQresultErrorField(r, ord('C'))
            a = Answer(None, None, state.decode() if state else '08000', (pq.PQresultErrorMessage(r) or b'').decode().strip())
        else:
            rows = None
            if status == 2:
                rows = [[None if pq.PQgetisnull(r, i, k) else pq.PQgetvalue(r, i, k).decode() for k in range(pq.PQnfields(r))]
                        for i in range(pq.PQntuples(r))]
            n = pq.PQcmdTuples(r)
            a = Answer(rows, int(n) if n else None, None, '')
        pq.PQclear(r)
        return a

    def run(self, sql):
        return self.answer(self.pq.PQexec(self.c, sql.encode()))

    def send(self, sql):
        self.pq.PQsendQuery(self.c, sql.encode())

    def ready(self):
        """Has the answer to what was sent come?"""
        self.pq.PQconsumeInput(self.c)
        return not self.pq.PQisBusy(self.c)

    def receive(self):
        """Waits for the answer to what was sent."""
        got = None
        while r := self.pq.PQgetResult(self.c):
            got = self.answer(r)
        return got or Answer(None, None, '08000', 'no answer')

    def close(self):
        self.pq.PQfinish(self.c)


class Server:
    def __init__(self, settings):
        if not glob.glob(f'{TOOLS}/postgres'):
            raise Missing('no PostgreSQL 15 here')
        self.pq = library()
        if not os.geteuid():
            try:
                pwd.getpwnam('postgres')
            except KeyError as e:
                raise Missing('root, and no user postgres') from e
        self.home = tempfile.mkdtemp(prefix='ratel-pg-')
        self.data = os.path.join(self.home, 'data')
        if not os.geteuid():
            shutil.chown(self.home, 'postgres')
        try:
            subprocess.run(as_server([f'{TOOLS}/initdb', '-D', self.data, '--locale=C', '--encoding=UTF8', '-A', 'trust', '-U',
                                      'postgres', '--no-sync']), check=True, cwd='/', **QUIET)
            options = f'-k {self.home} -c listen_addresses= -c fsync=off -c track_commit_timestamp=on ' + settings
            subprocess.run(as_server([f'{TOOLS}/pg_ctl', '-D', self.data, '-o', options, '-l', f'{self.home}/log', '-w', 'start']),
                           check=True, cwd='/', **QUIET)
        except subprocess.CalledProcessError as e:
            shutil.rmtree(self.home, ignore_errors=True)
            raise Missing(f'the server does not start: {e}') from e

    def connect(self):
        return Connection(self.pq, f'host={self.home} user=postgres dbname=postgres')

    def stop(self):
        subprocess.run(as_server([f'{TOOLS}/pg_ctl', '-D', self.data, '-m', 'immediate', 'stop']), check=False, cwd='/', **QUIET)
        shutil.rmtree(self.home, ignore_errors=True)


def start(settings=''):
    if threading.current_thread() is threading.main_thread():   # so that `finally` stops the server
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return Server(settings)
