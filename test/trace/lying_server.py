"""A server that lies: the first connection, by which the proxy reads the schema, goes to a real server;
the others are answered by a script of bytes that no server sends.

    liar = Liar(server.home, temp('liar'), {'name': function of a socket, ...})
A client of the proxy names the lie as its user: the lie is told after its first query.
"""
import os
import socket
import struct
import threading

from wire_client import message

READY = message('Z', b'I')
HELLO = message('R', struct.pack('>I', 0)) + message('S', b'client_encoding\0UTF8\0') + message('K', struct.pack('>II', 77, 1)) + READY


def exactly(s, n):
    got = b''
    while len(got) < n:
        more = s.recv(n - len(got))
        if not more:
            raise OSError('closed')
        got += more
    return got


class Liar:
    def __init__(self, real, home, lies):
        self.real, self.lies, self.faithful = real, lies, True
        os.makedirs(home)
        self.home = home
        self.door = socket.socket(socket.AF_UNIX)
        self.door.bind(os.path.join(home, '.s.PGSQL.5432'))
        self.door.listen(64)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                s = self.door.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.relay if self.faithful else self.lie, args=(s,), daemon=True).start()

    def relay(self, s):
        to = socket.socket(socket.AF_UNIX)
        to.connect(os.path.join(self.real, '.s.PGSQL.5432'))

        def copy(a, b):
            try:
                while got := a.recv(65536):
                    b.sendall(got)
                b.shutdown(socket.SHUT_WR)
            except OSError:
                pass
        threading.Thread(target=copy, args=(to, s), daemon=True).start()
        copy(s, to)

    def lie(self, s):
        try:
            body = exactly(s, struct.unpack('>I', exactly(s, 4))[0] - 4)
            user = body[4:].split(b'\0')[1].decode()
            s.sendall(HELLO)
            if user not in self.lies:
                s.close()
                return
            head = exactly(s, 5)
            exactly(s, struct.unpack('>I', head[1:])[0] - 4)
            self.lies[user](s)
        except OSError:
            pass
        s.close()

    def stop(self):
        self.door.close()
