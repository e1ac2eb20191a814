"""A client of PostgreSQL's protocol that sends exactly the messages it is told to send, and keeps every
byte that comes back."""
import socket
import struct
import threading


def text(*parts):
    return b''.join(p.encode() + b'\0' for p in parts)


def message(kind, body=b''):
    return kind.encode() + struct.pack('>I', len(body) + 4) + body


def query(sql):
    return message('Q', text(sql))


def parse(name, sql, types=()):
    return message('P', text(name, sql) + struct.pack('>H', len(types)) + b''.join(struct.pack('>I', t) for t in types))


def bind(portal, name, values=(), formats=(), results=()):
    body = text(portal, name) + struct.pack('>H', len(formats)) + b''.join(struct.pack('>H', f) for f in formats)
    body += struct.pack('>H', len(values))
    for v in values:
        v = v.encode() if isinstance(v, str) else v
        body += struct.pack('>i', -1) if v is None else struct.pack('>I', len(v)) + v
    return message('B', body + struct.pack('>H', len(results)) + b''.join(struct.pack('>H', f) for f in results))


def describe(what, name=''):
    return message('D', what.encode() + text(name))


def execute(portal='', rows=0):
    return message('E', text(portal) + struct.pack('>I', rows))


def close(what, name):
    return message('C', what.encode() + text(name))


SYNC, FLUSH = message('S'), message('H')


class Wire:
    told = set()   # types of messages that any server has sent
    def __init__(self, path, user='postgres', database='postgres', startup=True, **settings):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(20)
        self.s.connect(path)
        self.left = b''
        self.key = None
        if startup:
            body = struct.pack('>I', 196608) + text('user', user, 'database', database)
            body += b''.join(text(k, v) for k, v in settings.items()) + b'\0'
            self.s.sendall(struct.pack('>I', len(body) + 4) + body)
            self.until_ready()

    def next(self):
        while len(self.left) < 5 or len(self.left) < 1 + struct.unpack('>I', self.left[1:5])[0]:
            more = self.s.recv(65536)
            if not more:
                return None
            self.left += more
        n = 1 + struct.unpack('>I', self.left[1:5])[0]
        m, self.left = self.left[:n], self.left[n:]
        Wire.told.add(chr(m[0]))
        if m[:1] == b'K':
            self.key = m[5:]
        return m

    def until_ready(self, times=1):
        """The messages up to so many ReadyForQuery."""
        out = []
        while times:
            m = self.next()
            if m is None:
                break
            out.append(m)
            times -= m[:1] == b'Z'
        return out

    def ask(self, *messages, times=1):
        self.s.sendall(b''.join(messages))
        return self.until_ready(times)

    def close(self):
        self.s.sendall(message('X'))
        self.s.close()


class Recorder:
    """A port of 127.0.0.1 that forwards to a socket and keeps what passes, in both directions."""

    def __init__(self, path, shown=None):
        self.path, self.passed, self.threads = path, [], []
        self.shown = shown or without_keys
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                a, _ = self.listener.accept()
            except OSError:
                return
            b = socket.socket(socket.AF_UNIX)
            b.connect(self.path)
            said = (bytearray(), bytearray())
            self.passed.append(said)
            for pair in ((a, b, said[0]), (b, a, said[1])):
                self.threads.append(threading.Thread(target=self.copy, args=pair, daemon=True))
                self.threads[-1].start()

    @staticmethod
    def copy(a, b, kept):
        try:
            while more := a.recv(65536):
                kept += more
                b.sendall(more)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def stop(self):
        """What each connection said, and what it was told; what differs each time (keys of servers' processes) left out."""
        self.listener.close()
        for t in self.threads:
            t.join(10)
        return [(bytes(said), self.shown(bytes(told))) for said, told in self.passed]


def without_keys(told):
    """PostgreSQL's messages but for BackendKeyData."""
    out, at = [], 0
    while len(told) - at >= 5:
        n = 1 + struct.unpack('>I', told[at + 1:at + 5])[0]
        if told[at:at + 1] != b'K':
            out.append(told[at:at + n])
        at += n
    return out + [told[at:]]
