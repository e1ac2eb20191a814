#!/usr/bin/env python3
"""A driver of SQLite whose database is older after it was killed: `rewinding.py FILE`. It is that of
drivers/dbapi.py; a copy of the database is made after some commits, and the first process that opens
the file after processes with commits have been killed puts that copy back."""
import fcntl
import os
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'drivers'))
import dbapi  # noqa: E402

FILE = sys.argv[1]
COPY, LATER = FILE + '.copy', FILE + '.later'


def alive(pid):
    """A process that was killed, but not yet waited for, is not."""
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as f:
            return f.read().rpartition(')')[2].split()[0] not in 'ZX'
    except FileNotFoundError:
        return False


class Rewinding(dbapi.Driver):
    commits = 0

    def open(self):
        with open(FILE + '.lock', 'w', encoding='utf-8') as lock:   # nobody opens what is being put back
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self.connection and os.path.exists(LATER) and not any(alive(name) for name in os.listdir(LATER)):
                shutil.rmtree(LATER)
                os.replace(COPY, FILE)
                if os.path.exists(FILE + '-journal'):
                    os.remove(FILE + '-journal')
            super().open()

    def commit(self, r):
        answer = super().commit(r)
        self.commits += 1
        if not os.path.exists(COPY):
            copy = sqlite3.connect(COPY)
            self.connection.backup(copy)
            copy.close()
        elif self.commits > 6:   # one file for each process, so that it is known when all of them are gone
            os.makedirs(os.path.join(LATER, str(os.getpid())), exist_ok=True)
        return answer


dbapi.Driver = Rewinding
sys.argv[1:] = ['sqlite3', f'database={FILE}']
dbapi.main()
