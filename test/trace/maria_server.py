"""A MariaDB server of our own: start() gives its socket, or Missing is raised, with the reason."""
import os
import shutil
import signal
import subprocess
import tempfile
import time


class Missing(Exception):
    """There is no server to be had, and why."""


class Server:
    def __init__(self, home, process, user):
        self.home, self.process, self.user = home, process, user
        self.socket = os.path.join(home, 'sock')

    def sql(self, text, *options, socket=None):
        return subprocess.run(['mariadb', '--no-defaults', '-S', socket or self.socket, '-u', 'root', *options], input=text.encode(),
                              capture_output=True, check=False, timeout=60)

    def stop(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(20)
        shutil.rmtree(self.home, ignore_errors=True)


def start(*options):
    for tool in ('mariadbd', 'mariadb', 'mariadb-install-db'):
        if not shutil.which(tool):
            raise Missing(f'no {tool} here')
    home = tempfile.mkdtemp(prefix='ratel-maria-')
    user = []
    if not os.geteuid():   # MariaDB does not like to run as root
        user = ['--user=mysql']
        shutil.chown(home, 'mysql')
    data = os.path.join(home, 'data')
    made = subprocess.run(['mariadb-install-db', '--no-defaults', f'--datadir={data}', '--auth-root-authentication-method=normal',
                           '--skip-test-db', f'--tmpdir={home}', *user], capture_output=True, check=False)
    if made.returncode:
        shutil.rmtree(home, ignore_errors=True)
        raise Missing('mariadb-install-db failed: ' + made.stderr.decode(errors='replace')[-200:])
    log = open(os.path.join(home, 'log'), 'wb')   # pylint: disable=consider-using-with
    process = subprocess.Popen(['mariadbd', '--no-defaults', f'--datadir={data}', f'--socket={home}/sock', '--skip-networking',
                                '--innodb-flush-log-at-trx-commit=0', '--innodb-buffer-pool-size=32M', '--local-infile=1',
                                '--performance-schema=off', f'--tmpdir={home}', *options, *user], stdout=log, stderr=log)
    server = Server(home, process, user)
    for _ in range(300):
        if process.poll() is not None:
            break
        if not server.sql('SELECT 1').returncode:
            return server
        time.sleep(0.1)
    server.stop()
    raise Missing('mariadbd did not start')
