"""What the Python suites share: where things are, running ratel, counting and reporting.

A suite calls kit.ok(what, condition, detail) for each thing that must hold and ends with
sys.exit(kit.close()), which prints the closing line that test/run adds up. By default only
failures are printed, since a suite has thousands of checks; -v prints all.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile

SRC = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RATEL = os.path.abspath(os.environ.get('RATEL', os.path.join(SRC, 'build', 'ratel')))
# Histories of other projects, which no clone carries. RATEL_SHARED names another directory for them;
# test/without-shared names one that does not exist, and every suite must still end well.
SHARED = os.environ.get('RATEL_SHARED', os.path.join(SRC, '..', 'shared'))
DATA = os.environ.get('RATEL_DATA', os.path.join(SHARED, 'data'))
TMP = tempfile.TemporaryDirectory(prefix='ratel-test-')
VERBOSE = '-v' in sys.argv
SLOW = os.path.basename(os.path.dirname(RATEL)).endswith('-asan')   # 3 to 10 times slower
passed = failed = skipped = 0


class Answer:
    """What a run of ratel left behind; text, since nothing of ours may be undecodable."""
    def __init__(self, status, out, err):
        self.status, self.raw, self.raw_err = status, out, err
        self.out = out.decode('utf-8', 'replace')
        self.err = err.decode('utf-8', 'replace')

    def objects(self):
        return [json.loads(line) for line in self.out.splitlines()]

    def crashed(self):
        """Not one of the statuses of a check that said all it had to say."""
        return self.status not in (0, 1, 2, 3, 4)

    def __str__(self):
        return f'exit {self.status}\n--- stderr\n{self.err[-1500:]}\n--- stdout\n{self.out[:1500]}'


def run(*args, stdin=None, timeout=300, env=None):
    env = dict(os.environ, TERM='dumb', LC_ALL='C.UTF-8', **(env or {}))
    for name in ('ASAN_OPTIONS', 'UBSAN_OPTIONS'):   # a finding must not look like an answer
        env[name] = env.get(name, '') + ':exitcode=99'
    env.pop('NO_COLOR', None)
    try:
        p = subprocess.run([RATEL, *map(str, args)], input=stdin, capture_output=True, env=env,
                           timeout=timeout, stdin=subprocess.DEVNULL if stdin is None else None)
    except subprocess.TimeoutExpired as e:
        return Answer('timeout', e.stdout or b'', e.stderr or b'')
    if p.returncode < 0:
        return Answer(signal.Signals(-p.returncode).name, p.stdout, p.stderr)
    return Answer(p.returncode, p.stdout, p.stderr)


def check_many(paths, *args, timeout=600):
    """The JSON objects of `check` on many histories in few processes. If one of these dies, its
    histories are asked again in halves, so that the culprit is named and the others count."""
    if not paths:
        return []
    a = run('check', '--json', *args, *paths, timeout=timeout)
    if not a.crashed():
        return a.objects()
    if len(paths) == 1:
        ok(f'check {" ".join(map(str, args))} {paths[0]}: no crash', False, a)
        return []
    half = len(paths) // 2
    return check_many(paths[:half], *args) + check_many(paths[half:], *args)


def run_quiet(command):
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def temp(name, content=None):
    """A path in this suite's directory, with this content (bytes, text or lines of objects)."""
    path = os.path.join(TMP.name, name)
    if content is None:
        return path
    if isinstance(content, list):
        content = ''.join(json.dumps(o, separators=(',', ':')) + '\n' for o in content)
    with open(path, 'wb') as f:
        f.write(content.encode() if isinstance(content, str) else content)
    return path


def ok(what, condition, detail=''):
    global passed, failed
    if condition:
        passed += 1
        if VERBOSE:
            print(f'ok - {what}')
    else:
        failed += 1
        print(f'not ok - {what}')
        for line in str(detail).splitlines()[:30]:
            print(f'#   {line[:400]}')
    return bool(condition)


def same(what, got, want, detail=''):
    return ok(what, got == want, f'got {got!r}, not {want!r}\n{detail}')


def skip(reason, count=1):
    """Prints why something was not tested, and counts it (`count` tests at once)."""
    global skipped
    assert isinstance(reason, str) and isinstance(count, int), (reason, count)
    skipped += count
    print(f'skip: {reason}')


def close():
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    sys.stdout.flush()
    return 1 if failed or passed + skipped == 0 else 0


def need_program():
    if not os.access(RATEL, os.X_OK):
        print(f'not ok - {RATEL} is not there')
        print('0 passed, 1 failed')
        sys.exit(1)


def levels():
    """Every level as `ratel levels --json` tells it."""
    return run('levels', '--json').objects()


def decided():
    return [x['level'] for x in levels() if x.get('decided')]
