"""A client of MariaDB's protocol that sends exactly the packets it is told to send, and keeps every
byte that comes back."""
import socket
import struct

FOUND_ROWS, NO_EOF, MULTI = 2, 1 << 24, 3 << 16
BASE = 1 | 4 | 8 | 0x80 | 0x200 | 0x2000 | 0x8000 | MULTI | 1 << 19   # LOCAL INFILE among them


def query(sql):
    return b'\x03' + sql.encode()


def prepare(sql):
    return b'\x16' + sql.encode()


def execute(number, types=(), values=(), cursor=0):
    """values: bytes as the protocol has them, or None"""
    body = b'\x17' + struct.pack('<IBI', number, cursor, 1)
    if types:
        nulls = bytearray((len(values) + 7) // 8)
        for i, v in enumerate(values):
            if v is None:
                nulls[i // 8] |= 1 << i % 8
        body += bytes(nulls) + b'\x01' + b''.join(struct.pack('<H', t) for t in types) + b''.join(v for v in values if v is not None)
    return body


def text(s):
    return bytes([len(s)]) + s.encode()


class Wire:
    def __init__(self, path, database='shop', can=BASE):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(20)
        self.s.connect(path)
        self.no_eof = bool(can & NO_EOF)
        self.greeting = self.packet()
        self.send(struct.pack('<IIB23x', can, 1 << 24, 45) + b'root\0' + b'\0' + database.encode() + b'\0' + b'mysql_native_password\0', 1)
        while self.packet()[0]:
            pass

    def send(self, body, number=0):
        self.s.sendall(struct.pack('<I', len(body))[:3] + bytes([number]) + body)

    def packet(self):
        head = self.exactly(4)
        self.last = head[3]
        return self.exactly(head[0] | head[1] << 8 | head[2] << 16)

    def exactly(self, n):
        got = b''
        while len(got) < n:
            more = self.s.recv(n - len(got))
            if not more:
                raise OSError('closed')
            got += more
        return got

    def result(self):
        """One result after another, as a list of packets."""
        got = [self.packet()]
        first = got[0][0]
        if first == 0xfb:   # the server wants a file
            self.send(b'7\t7.00\tseven\n8\t8.00\teight\n', self.last + 1)
            self.send(b'', self.last + 2)
            got.append(self.packet())
            return got
        if first in (0, 0xff) or first == 0xfe and len(got[0]) < 9:
            more = first == 0 and struct.unpack('<H', got[0][3:5])[0] & 8
            return got + (self.result() if more else [])
        ends = 0
        while ends < (1 if self.no_eof else 2):
            got.append(self.packet())
            if got[-1][0] == 0xff:
                return got
            end = got[-1][0] == 0xfe and len(got[-1]) < 9
            ends += end
            if end and ends == 1 and not self.no_eof and struct.unpack('<H', got[-1][3:5])[0] & 0x40:
                return got   # a cursor: no rows
        status = got[-1][3:5]   # (of an OK in the place of an EOF, too: its two numbers are below 251)
        return got + (self.result() if struct.unpack('<H', status)[0] & 8 else [])

    def ask(self, *packets):
        """Sends them all, then takes their answers."""
        for p in packets:
            self.send(p)
        return [self.result() for _ in packets]

    def prepare(self, sql):
        """The whole answer; its number is at [0][1:5]."""
        self.send(prepare(sql))
        got = [self.packet()]
        if got[0][0]:
            return got
        cols, params = struct.unpack('<HH', got[0][5:9])
        for n in (params, cols):
            got += [self.packet() for _ in range(n + (not self.no_eof if n else 0))]
        return got

    def close(self):
        self.send(b'\x01')
        self.s.close()
