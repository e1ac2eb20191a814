"""Records what a Python program asks of its database, with libratel-trace.

    import ratel_trace
    conn = ratel_trace.wrap(psycopg2.connect(...), 'shop.rtrace')

wrap() takes a connection of any DB-API module and gives one that behaves the same. Every statement, its
result and every commit go to the file, which `ratel trace collect shop.rtrace -o shop.jsonl` makes into a
log for `ratel audit`. What a database is asked in other ways (server-side cursors, COPY, callproc) is
forwarded; the log then says that something is missing.

Programs that use no SQL tell Trace and Session themselves what they do:

    trace = ratel_trace.Trace('run.rtrace')
    session = trace.session('worker 1')
    with session.transaction():
        session.input(['r', 'x']); value = db.get('x'); session.output(value)

The library is found as RATEL_TRACE_LIBRARY says, or where the system keeps libraries.
"""
import contextlib
import ctypes
import ctypes.util
import datetime
import decimal
import json
import os
import re
import threading
import uuid

DONE, FAILED, UNKNOWN = 0, 1, 2
_traces, _lock = {}, threading.Lock()
_library = None


def _load():
    global _library
    if _library is None:
        here = os.path.dirname(os.path.abspath(__file__))
        names = [os.environ.get('RATEL_TRACE_LIBRARY'), ctypes.util.find_library('ratel-trace'),
                 os.path.join(here, 'libratel-trace.so'), os.path.join(here, '..', 'build', 'libratel-trace.so')]
        for name in filter(None, names):
            with contextlib.suppress(OSError):
                _library = ctypes.CDLL(name)
                break
        if _library is None:
            raise ImportError('libratel-trace is not installed; set RATEL_TRACE_LIBRARY to its path')
        handle, text, out = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)
        for name, types in (('open', (out, text, text, ctypes.c_uint64)), ('close', (handle,)),
                            ('session_open', (out, handle, text)), ('session_close', (handle,)),
                            ('begin', (handle,)), ('begun', (handle,)), ('commit', (handle,)), ('rollback', (handle,)),
                            ('ended', (handle, ctypes.c_int)), ('input', (handle, text, ctypes.c_size_t)),
                            ('output', (handle, ctypes.c_int, text, ctypes.c_size_t)),
                            ('op_hint', (handle, text, text)), ('txn_hint', (handle, text, text))):
            f = getattr(_library, 'ratel_trace_' + name)
            f.argtypes, f.restype = types, ctypes.c_int if name.endswith('open') else None
        _library.ratel_trace_lost.argtypes, _library.ratel_trace_lost.restype = (handle,), ctypes.c_uint64
    return _library


def _json(value):
    return json.dumps(value, separators=(',', ':')).encode()


class Trace:
    """A file of events. `header` is the first line of what is made of it."""

    def __init__(self, path, header=None, limit=0):
        self.isolation = (header or {}).get('isolation')   # of transactions that name none
        self.library, self.handle, self.pid = _load(), ctypes.c_void_p(), os.getpid()
        error = self.library.ratel_trace_open(ctypes.byref(self.handle), os.fsencode(path),
                                              header and _json(header), limit)
        if error:
            raise OSError(error, os.strerror(error), path)

    def session(self, name=''):
        return Session(self, name)

    def lost(self):
        return self.library.ratel_trace_lost(self.handle)

    def close(self):
        self.library.ratel_trace_close(self.handle)
        self.handle = None


class Session:
    """Transactions one after the other; for one thread at a time."""

    def __init__(self, trace, name=''):
        self.trace, self.library, self.handle = trace, trace.library, ctypes.c_void_p()
        error = self.library.ratel_trace_session_open(ctypes.byref(self.handle), trace.handle, name.encode())
        if error:
            raise OSError(error, os.strerror(error))

    def begin(self):
        self.library.ratel_trace_begin(self.handle)

    def begun(self):
        self.library.ratel_trace_begun(self.handle)

    def commit(self):
        self.library.ratel_trace_commit(self.handle)

    def rollback(self):
        self.library.ratel_trace_rollback(self.handle)

    def ended(self, outcome=DONE):
        self.library.ratel_trace_ended(self.handle, outcome)

    def input(self, call):
        text = _json(call)
        self.library.ratel_trace_input(self.handle, text, len(text))

    def output(self, *result, outcome=DONE):
        text = _json(result[0]) if result else None
        self.library.ratel_trace_output(self.handle, outcome, text, len(text or b''))

    def op_hint(self, name, value):
        self.library.ratel_trace_op_hint(self.handle, name.encode(), _json(value))

    def txn_hint(self, name, value):
        self.library.ratel_trace_txn_hint(self.handle, name.encode(), _json(value))

    def close(self):
        if self.handle:
            self.library.ratel_trace_session_close(self.handle)
        self.handle = None

    @contextlib.contextmanager
    def transaction(self):
        """For databases whose transactions are blocks: an exception is a rollback."""
        self.begin()
        self.begun()
        try:
            yield self
        except BaseException:
            self.rollback()
            self.ended()
            raise
        self.commit()
        self.ended()


# ---- DB-API -------------------------------------------------------------------------------------------

class _Unprintable(Exception):
    """A value whose text in the database is not known."""


def _value(v):
    """A value as the log has it: as the database prints it."""
    if v is None or isinstance(v, (bool, int)):
        return v
    if isinstance(v, str):
        return v
    if isinstance(v, (decimal.Decimal, uuid.UUID)):
        return str(v)
    if isinstance(v, datetime.datetime) and v.tzinfo is None:
        return v.isoformat(' ')
    if isinstance(v, datetime.date) and not isinstance(v, datetime.datetime):
        return v.isoformat()
    if isinstance(v, (bytes, bytearray, memoryview)):
        return '\\x' + bytes(v).hex()
    raise _Unprintable(type(v).__name__)


_TOKEN = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|%%|%s|%\((\w+)\)s|\?|:(\d+)|(?<!:):([A-Za-z_]\w*)",
                    re.S)


def _numbered(sql, params, style):
    """The statement with $1, $2, ... and the list of their values."""
    values = []

    def place(m):
        whole = m.group(0)
        if whole[0] in '\'"-/':
            return whole.replace('%%', '%') if style in ('format', 'pyformat') else whole
        if whole == '%%':
            return '%' if style in ('format', 'pyformat') else whole
        if whole == '%s' and style in ('format', 'pyformat') or whole == '?' and style == 'qmark':
            values.append(params[len(values)])
        elif m.group(1) and style == 'pyformat':
            values.append(params[m.group(1)])
        elif m.group(2) and style == 'numeric':
            values.append(params[int(m.group(2)) - 1])
        elif m.group(3) and style == 'named':
            values.append(params[m.group(3)])
        else:
            return whole
        return f'${len(values)}'
    return (_TOKEN.sub(place, sql), values) if params else (sql, [])


def _first_words(sql):
    text = re.sub(r'/\*.*?\*/|--[^\n]*', ' ', sql, flags=re.S)
    return text.strip().rstrip(';').upper().split()


def _state(error):
    """The SQLSTATE of an exception, or what else names it; None: the connection may be lost."""
    for name in ('sqlstate', 'pgcode'):
        if getattr(error, name, None):
            return str(getattr(error, name))
    args = getattr(error, 'args', ())
    if len(args) > 1 and isinstance(args[0], int):
        return str(args[0])
    if getattr(error, 'sqlite_errorname', None):
        return error.sqlite_errorname
    return type(error).__name__ if type(error).__name__ in ('IntegrityError', 'DataError', 'ProgrammingError') else None


class Cursor:
    """A cursor that records; its results have been fetched."""

    def __init__(self, connection, cursor):
        self._connection, self._cursor, self._rows, self._at = connection, cursor, None, 0

    def __getattr__(self, name):
        return getattr(self._cursor, name)

    def __setattr__(self, name, value):
        if name.startswith('_'):
            object.__setattr__(self, name, value)
        else:
            setattr(self._cursor, name, value)

    def __enter__(self):
        self._cursor.__enter__()
        return self

    def __exit__(self, *args):
        return self._cursor.__exit__(*args)

    def execute(self, sql, *args, **more):
        self._rows, self._at = None, 0
        call = lambda: self._cursor.execute(sql, *args, **more)   # noqa: E731
        got = self._connection._statement(self._cursor, sql, args[0] if args else more.get('parameters'), call, self)
        return self if got is self._cursor else got

    def executemany(self, sql, seq, **more):
        if more:   # psycopg 3: its results are taken one after the other
            self._rows = None
            self._connection._follow()
            self._connection._not_logged('executemany with options')
            return self._cursor.executemany(sql, seq, **more)
        for params in seq:
            self.execute(sql, params)
        return None

    def executescript(self, script):   # of sqlite3, which commits what is open first
        c = self._connection
        c._follow()
        if c._open:
            c._session.commit()
            c._session.ended()
            c._open = False
        self._rows = None
        c._not_logged('executescript')
        self._cursor.executescript(script)
        return self

    def copy(self, *args, **more):
        self._connection._not_logged('COPY')
        return self._cursor.copy(*args, **more)

    def stream(self, *args, **more):
        self._connection._not_logged('stream')
        return self._cursor.stream(*args, **more)

    def scroll(self, value, mode='relative'):
        if self._rows is None:
            return self._cursor.scroll(value, mode)
        at = value + (self._at if mode == 'relative' else 0)
        if not 0 <= at < len(self._rows):
            raise IndexError('scroll destination out of bounds')
        self._at = at
        return None

    @property
    def rownumber(self):
        return self._cursor.rownumber if self._rows is None else min(self._at, len(self._rows))

    def callproc(self, name, *args):
        self._connection._not_logged(f'callproc({name})')
        return self._cursor.callproc(name, *args)

    def copy_expert(self, sql, *args, **more):
        self._connection._not_logged('COPY')
        return self._cursor.copy_expert(sql, *args, **more)

    def copy_from(self, *args, **more):
        self._connection._not_logged('COPY')
        return self._cursor.copy_from(*args, **more)

    def fetchone(self):
        if self._rows is None:
            return self._cursor.fetchone()
        self._at += 1
        return self._rows[self._at - 1] if self._at <= len(self._rows) else None

    def fetchmany(self, size=None):
        if self._rows is None:
            return self._cursor.fetchmany(*([] if size is None else [size]))
        size = self._cursor.arraysize if size is None else size
        rows, self._at = self._rows[self._at:self._at + size], min(self._at + size, len(self._rows))
        return rows

    def fetchall(self):
        if self._rows is None:
            return self._cursor.fetchall()
        rows, self._at = self._rows[self._at:], len(self._rows)
        return rows

    def __iter__(self):
        row = self.fetchone()
        while row is not None:
            yield row
            row = self.fetchone()


_LEVEL = re.compile(r'\b(SERIALIZABLE|REPEATABLE[ -]READ|READ[ -]COMMITTED|READ[ -]UNCOMMITTED)\b', re.I)
WEAKEST = 'read committed'   # for transactions whose isolation is not known: none is held to more than it asked for


def _level_in(text):
    """The isolation that a text names, in PostgreSQL's words, or None."""
    m = _LEVEL.search(text)
    return m.group(1).lower().replace('-', ' ') if m else None


def _ask_isolation(connection, dialect):
    """The isolation of the connection's transactions that name none; None: it cannot be asked now."""
    questions = {'postgres': ['SHOW default_transaction_isolation'],
                 'mysql': ['SELECT @@SESSION.tx_isolation', 'SELECT @@SESSION.transaction_isolation']}.get(dialect, [])
    info = getattr(connection, 'info', None)
    if dialect == 'postgres' and int(getattr(info, 'transaction_status', 0)) != 0:
        return None   # it has a transaction under way
    for question in questions:
        try:
            cursor = connection.cursor()
            cursor.execute(question)
            row = cursor.fetchone()
            cursor.close()
            level = _level_in(str(list(row.values()) if isinstance(row, dict) else list(row)))
        except Exception:   # pylint: disable=broad-except
            level = None
        if getattr(connection, 'autocommit', None) is not True:
            connection.rollback()   # the question has begun a transaction
        if level:
            return level
    return None


def _ask_value(connection, question):
    """One value that the program did not ask for."""
    cursor = connection.cursor()
    try:
        cursor.execute(question)
        row = cursor.fetchone()
    finally:
        cursor.close()
    return next(iter(row.values() if isinstance(row, dict) else row))


def _check_stamps(connection, dialect):
    """Commit timestamps need a server that keeps them; the error is the program's, before it has begun anything."""
    version = getattr(connection, 'server_version', None) or getattr(getattr(connection, 'info', None), 'server_version', 0)
    if dialect != 'postgres' or version < 130000:
        raise ValueError('commit_ts needs PostgreSQL 13 or later')
    kept = _ask_value(connection, 'SHOW track_commit_timestamp')
    if getattr(connection, 'autocommit', None) is not True:
        connection.rollback()
    if kept != 'on':
        raise ValueError('commit_ts needs track_commit_timestamp = on in the server')


# What commits MySQL's open transaction by itself.
_COMMITS = ('CREATE', 'ALTER', 'DROP', 'TRUNCATE', 'RENAME', 'GRANT', 'REVOKE', 'LOCK', 'ANALYZE')


class _Block:
    """psycopg 3's `with conn.transaction()`: a transaction, or a savepoint within one."""

    def __init__(self, connection, block, undone):
        self.connection, self.block, self.undone = connection, block, undone

    def __enter__(self):
        c = self.connection
        c._follow()
        self.outer = not c._open
        c._points += 1
        self.point = f'ratel_{c._points}'
        level = c._isolation() if self.outer else None
        if self.outer:
            c._session.begin()
        got = self.block.__enter__()
        if not self.outer:
            c._tell_sql(f'SAVEPOINT {self.point}')
            return got
        c._session.begun()
        c._open, c._seen = True, False
        c._tell_isolation(level)
        return got

    def __exit__(self, kind, value, trace):
        c = self.connection
        undone = self.undone or kind is not None
        if not self.outer or not c._open:
            took = self.block.__exit__(kind, value, trace)
            if not self.outer:
                c._tell_sql(f'{"ROLLBACK TO" if undone else "RELEASE"} SAVEPOINT {self.point}')
            return took
        refused, number = not undone and c._status() == 3, '' if undone else c._number()
        (c._session.rollback if undone else c._session.commit)()
        c._open = False
        try:
            took = self.block.__exit__(kind, value, trace)
        except BaseException as e:
            state = _state(e)
            c._session.ended(UNKNOWN if c._lost() or state in (None, '40003') or state[:2] in ('08', '57') else FAILED)
            raise
        if not undone and not refused:
            c._stamp(number)
        c._session.ended(FAILED if refused else DONE)
        return took


class Connection:
    """A DB-API connection that records."""

    def __init__(self, connection, trace, name, paramstyle, dialect, isolation=None, commit_ts=False):
        self._connection, self._style, self._dialect = connection, paramstyle, dialect
        self._stamps = commit_ts
        self._session = Session(trace, name)
        self._open = self._failed = False
        self._usual = self._first = isolation   # of transactions that name none
        self._told = None    # of the present transaction, if it was recorded
        self._next = None   # MySQL: of the next transaction alone
        self._seen = False  # the database has said that the open transaction is open
        self._points = 0    # savepoints of transaction()

    def __getattr__(self, name):
        return getattr(self._connection, name)

    def __setattr__(self, name, value):
        if name.startswith('_'):
            object.__setattr__(self, name, value)
        else:
            setattr(self._connection, name, value)
            if name in ('autocommit', 'isolation_level'):
                self._ask_again()

    def set_session(self, *args, **more):
        got = self._connection.set_session(*args, **more)
        self._ask_again()
        return got

    def set_isolation_level(self, *args):
        got = self._connection.set_isolation_level(*args)
        self._ask_again()
        return got

    def __enter__(self):
        self._connection.__enter__()
        return self

    def __exit__(self, kind, value, trace):
        # (what the module does at the end of a block, with the same calls)
        if self._open and not kind:
            self.commit()
        elif self._open:
            self.rollback()
        return self._connection.__exit__(kind, value, trace)

    def cursor(self, *args, **more):
        cursor = self._connection.cursor(*args, **more)
        if getattr(cursor, 'name', None):
            self._not_logged('a cursor on the server')
            return cursor
        return Cursor(self, cursor)

    def execute(self, sql, *args, **more):
        cursor = self.cursor()
        cursor.execute(sql, *args, **more)
        return cursor

    def executemany(self, sql, seq):
        cursor = self.cursor()
        cursor.executemany(sql, seq)
        return cursor

    def executescript(self, script):   # of sqlite3
        cursor = self.cursor()
        cursor.executescript(script)
        return cursor

    def begin(self, *args, **more):   # of MySQL's modules
        begin = self._connection.begin
        return self._control(['BEGIN'], lambda: begin(*args, **more))

    def reset(self, *args, **more):   # of psycopg2: rolls back
        reset = self._connection.reset
        got = self._control(['ROLLBACK'], lambda: reset(*args, **more))
        self._ask_again()
        return got

    def transaction(self, savepoint_name=None, force_rollback=False):   # of psycopg 3
        return _Block(self, self._connection.transaction(savepoint_name, force_rollback), force_rollback)

    def close(self):
        if self._open:   # the database rolls it back
            self._session.rollback()
            self._session.ended()
        self._open = False
        self._session.close()
        return self._connection.close()

    def commit(self):
        return self._end('commit')

    def rollback(self):
        return self._end('rollback')

    # ---- what is recorded

    def _inside(self):
        """Does the database have a transaction open? None: not known."""
        status, c = self._status(), self._connection
        if status is not None:
            return {0: False, 2: True, 3: True}.get(status)
        if self._dialect == 'sqlite' and hasattr(c, 'in_transaction'):
            return bool(c.in_transaction)
        if self._dialect == 'mysql' and isinstance(getattr(c, 'server_status', None), int):
            return bool(c.server_status & 1)
        return None

    def _follow(self):
        """Transactions begin and end in ways that are not seen here: statements in one string, procedures, methods
        of the module that run statements of their own. The next statement finds out."""
        inside = self._inside()
        if inside and not self._open:
            self._opened(None)
        elif inside is False and self._open and (self._seen or self._dialect == 'postgres'):
            self._session.commit()
            self._session.ended(UNKNOWN)
            self._open = False
        self._seen = bool(inside)

    def _opened(self, level):
        self._session.begin()
        self._session.begun()
        self._open, self._seen, self._told = True, False, None
        self._tell_isolation(level)

    def _tell_sql(self, sql):
        self._session.input({'sql': sql})
        self._session.output({})

    def _lost(self):
        closed = getattr(self._connection, 'closed', False)
        return bool(closed)

    def _status(self):
        """Of PostgreSQL's modules: 0 idle, 2 in a transaction, 3 in a failed one; None: not known."""
        if hasattr(self._connection, 'get_transaction_status'):
            return self._connection.get_transaction_status()
        info = getattr(self._connection, 'info', None)
        return int(info.transaction_status) if hasattr(info, 'transaction_status') else None

    def _autocommits(self, words):
        c = self._connection
        if getattr(c, 'autocommit', False) is True:
            return True
        if hasattr(c, 'get_autocommit'):   # MySQL's modules
            return bool(c.get_autocommit())
        if hasattr(c, 'in_transaction') and getattr(c, 'autocommit', -1) is not False:
            # sqlite3 begins a transaction before a change, not before a query
            return c.isolation_level is None or words[:1] not in (['INSERT'], ['UPDATE'], ['DELETE'], ['REPLACE'])
        return False

    def _ask_again(self):
        """A module may set the session's isolation when it is told to commit by itself, or no longer to do so."""
        if self._dialect == 'postgres':
            self._usual = None if self._open else _ask_isolation(self._connection, self._dialect)

    def _isolation(self):
        """Of a transaction that begins now; None: not known."""
        self._told = None
        own = getattr(self._connection, 'isolation_level', None)
        # (by itself, the module names an isolation only where it begins the transaction)
        if self._dialect == 'postgres' and own is not None and getattr(self._connection, 'autocommit', False) is not True:
            if hasattr(own, 'name'):   # psycopg 3
                return own.name.lower().replace('_', ' ')
            own = {1: 'read committed', 2: 'repeatable read', 3: 'serializable', 4: 'read uncommitted'}.get(own)
            if own:
                return own
        once, self._next = self._next, None
        return once or self._usual

    def _tell_isolation(self, level):
        """The transaction's, if it is not what the file's header says."""
        level = level or (WEAKEST if self._dialect in ('postgres', 'mysql') else None)
        if level and level != (self._told or self._session.trace.isolation):
            self._session.txn_hint('isolation', level)
            self._told = level

    def _note_isolation(self, words, text):
        """What a statement that succeeded does to the isolation of this transaction or of later ones."""
        if not words or self._dialect not in ('postgres', 'mysql'):
            return
        upper, level = ' '.join(words), _level_in(text)
        resets = words[0] in ('RESET', 'DISCARD') and (words[1:2] == ['ALL'] or 'ISOLATION' in upper)
        if resets or words[0] == 'SET' and 'DEFAULT_TRANSACTION_ISOLATION' in upper and words[-1] == 'DEFAULT':
            self._usual = self._first if not self._open or self._usual == self._first else WEAKEST
        elif 'ISOLATION' not in upper or words[0] == 'SHOW':
            return
        elif words[:2] == ['SET', 'TRANSACTION'] and level and self._dialect == 'mysql':
            self._next = level
        elif words[:2] == ['SET', 'TRANSACTION'] and level and self._open:
            self._tell_isolation(level)
        elif words[:2] == ['SET', 'TRANSACTION']:
            return   # outside of a transaction it does nothing
        elif level and words[0] == 'SET' and words[1] not in ('LOCAL', 'GLOBAL') and ('DEFAULT_TRANSACTION_ISOLATION' in upper or
                                                                                     words[1] == 'SESSION'):
            # a setting inside of a transaction is undone with it
            undone = self._open and self._dialect == 'postgres' and level != self._usual
            self._usual = WEAKEST if undone else level
        elif words[0] in ('SET', 'SELECT', 'DO', 'CALL') and ('TRANSACTION_ISOLATION' in upper or 'TX_ISOLATION' in upper):
            self._usual = WEAKEST   # in a way that is not understood
            self._tell_isolation(WEAKEST)

    def _not_logged(self, what):
        self._session.input({'sql': what, 'opaque': f'{what} is not recorded'})
        self._session.output({}, outcome=DONE)

    def _number(self):
        """The server's number of the open transaction, '' if it has written nothing; None: not known."""
        if not self._stamps or self._status() != 2:
            return None
        number = _ask_value(self._connection, 'SELECT (pg_current_xact_id_if_assigned()::text::bigint & 4294967295)::text') or ''
        if number:
            self._session.txn_hint('id', number)
        return number

    def _stamp(self, number):
        """When the transaction committed, that has just done so; the question is a transaction of its own."""
        if not self._stamps or number == '':
            return
        moment = None
        try:
            if number:
                moment = _ask_value(self._connection, f"SELECT (extract(epoch FROM pg_xact_commit_timestamp('{number}'::xid)) * 1000000)::bigint")
        except Exception:   # pylint: disable=broad-except
            pass
        if number and getattr(self._connection, 'autocommit', False) is not True:
            self._connection.rollback()
        self._session.txn_hint('commit_ts', moment)

    def _end(self, how):
        session = self._session
        self._follow()
        if not self._open:
            return getattr(self._connection, how)()
        refused = how == 'commit' and (self._status() == 3 if self._status() is not None else False)
        number = self._number() if how == 'commit' else ''
        getattr(session, how)()
        self._open = False
        try:
            got = getattr(self._connection, how)()
        except BaseException as e:
            state = _state(e)
            session.ended(UNKNOWN if self._lost() or state in (None, '40003') or state[:2] in ('08', '57') else FAILED)
            raise
        if not refused:
            self._stamp(number)
        session.ended(FAILED if refused else DONE)
        return got

    def _control(self, words, call):
        """BEGIN, COMMIT and ROLLBACK as statements."""
        session, first = self._session, words[0]
        self._follow()
        if first in ('BEGIN', 'START') and self._open and self._dialect == 'mysql':   # it commits what is open
            session.commit()
            session.ended()
            self._open = False
        if first in ('BEGIN', 'START') and self._open:   # a warning, but it may set the isolation
            got = call()
            if _level_in(' '.join(words)):
                self._tell_isolation(_level_in(' '.join(words)))
            return got
        if first in ('BEGIN', 'START'):
            level = self._isolation()
            session.begin()
            got = call()
            session.begun()
            self._tell_isolation(_level_in(' '.join(words)) or level)
            self._open, self._seen = True, False
            return got
        same = self._told or session.trace.isolation
        commits = first in ('COMMIT', 'END')
        number = self._number() if commits and self._open else ''
        if self._open:
            (session.commit if commits else session.rollback)()
        refused = commits and self._status() == 3
        was, self._open = self._open, False
        try:
            got = call()
        except BaseException as e:
            state = _state(e)
            if was:
                session.ended(UNKNOWN if self._lost() or state in (None, '40003') else FAILED)
            raise
        if was and not refused:
            self._stamp(number)
        if was:
            session.ended(FAILED if refused else DONE)
        if was and 'CHAIN' in words and 'NO' not in words:
            self._opened(same)
        return got

    def _statement(self, raw, sql, params, call, cursor):
        session = self._session
        text = sql if isinstance(sql, str) else None
        if hasattr(raw, 'mogrify'):
            sent = raw.mogrify(sql, params)   # bytes of psycopg2, a text of pymysql
            text, values = sent if isinstance(sent, str) else sent.decode('utf-8', 'replace'), []
        elif text is None:
            text, values = repr(sql), []
        else:
            text, values = _numbered(text, params, self._style)
        words = _first_words(text)
        if words and (words[0] in ('BEGIN', 'COMMIT', 'END') or words[:2] == ['START', 'TRANSACTION'] or
                      words[0] in ('ROLLBACK', 'ABORT') and 'TO' not in words):
            return self._control(words, call)
        self._follow()
        makes = self._dialect == 'mysql' and words[:1] and words[0] in _COMMITS and words[1:2] != ['TEMPORARY']
        if makes and self._open:
            session.commit()
            session.ended()
            self._open = False
        switches = self._dialect == 'mysql' and words[:1] == ['SET'] and 'AUTOCOMMIT' in text.upper()
        before = switches and self._autocommits(words)
        alone, level = not self._open, None
        if alone:
            sets = self._dialect == 'mysql' and words[:1] == ['SET']
            level = self._isolation() if not sets else self._usual
        if alone and not makes and not switches and not self._autocommits(words):
            session.begin()
            session.begun()
            self._tell_isolation(level)
            self._open, self._seen, alone = True, False, False
        told = {'sql': text}
        try:
            if values:
                told['params'] = [_value(v) for v in values]
        except _Unprintable as e:
            told['opaque'] = f'a parameter is of type {e}'
        session.input(told)
        try:
            got = call()
            if raw.description is not None:
                cursor._rows = raw.fetchall()
        except BaseException as e:
            state = _state(e)
            if self._lost() or state is None:
                session.output(outcome=UNKNOWN)
            else:
                session.output({'error': state}, outcome=FAILED)
            if self._open and self._dialect == 'mysql' and state == '1213':   # a deadlock has rolled it back
                session.rollback()
                session.ended()
                self._open = False
            raise
        session.output(self._result(raw, cursor))
        if switches and self._open and not before and self._autocommits(words):   # what was open has committed
            session.commit()
            session.ended()
            self._open = False
        self._seen = self._seen or bool(self._open and self._inside())
        if alone:
            self._tell_isolation(level)
        if alone and self._stamps:   # it has committed by itself: nobody can say any more which number it had
            session.txn_hint('commit_ts', None)
        self._note_isolation(words, text)
        return got

    def _result(self, raw, cursor):
        if cursor._rows is None:
            return {'count': raw.rowcount} if raw.rowcount is not None and raw.rowcount >= 0 else {}
        try:
            rows = [list(r.values()) if isinstance(r, dict) else list(r) for r in cursor._rows]
            return {'rows': [[_value(v) for v in r] for r in rows]}
        except _Unprintable:
            return {'count': len(cursor._rows)}


def wrap(connection, path=None, name='', setup=None, dialect=None, header=None, paramstyle=None, isolation=None,
         commit_ts=False):
    """A connection that records into the file at `path` (default: RATEL_TRACE, else ratel.PID.rtrace). All
    connections of a process that name one path share its file. `setup` are the statements that made the
    tables, for the header; without it, give `ratel audit --init` a dump from before the run. The database is
    asked once which isolation the connection's transactions have, unless `isolation` says so. With `commit_ts`
    PostgreSQL is asked for the number and the commit timestamp of each block that wrote: three more round trips."""
    path = os.path.abspath(path or os.environ.get('RATEL_TRACE') or f'ratel.{os.getpid()}.rtrace')
    module = type(connection).__module__.split('.')[0]
    with _lock:
        kinds = {'psycopg2': 'postgres', 'psycopg': 'postgres', 'sqlite3': 'sqlite', 'MySQLdb': 'mysql',
                 'pymysql': 'mysql', 'duckdb': 'duckdb'}
        dialect = dialect or kinds.get(module, 'generic')
        if commit_ts:
            _check_stamps(connection, dialect)
        isolation = isolation or _ask_isolation(connection, dialect)
        head = {'ratel_sql': 1, 'setup': setup or [], 'dialect': dialect}
        if isolation:
            head['isolation'] = isolation
        head.update(header or {})
        if path not in _traces:
            _traces[path] = Trace(path, head)
    style = paramstyle or {'sqlite3': 'qmark', 'duckdb': 'qmark'}.get(module, 'pyformat')
    return Connection(connection, _traces[path], name, style, dialect, isolation, commit_ts)
