"""What times, lists, timestamps and hints cost or save (bench/run calls this).

Promised: a real-time level at most 2x the same level without real time; serializability of
list-append within 3x reading; trusted timestamps within 2x reading; `--level all` at most 12x
serializable. Then Boomslang's figure 4: black box (values only) and white box (each read names its
writer, each write its place in the version order) by unique and duplicate values.
"""
import json
import os

HEAD = ['what', 'verdict', 'CPU s', 'against', 'CPU s', 'ratio', 'promised', '']


def generate(ratel, run, folder, name, *words):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        run([ratel, 'gen', '-q', '--seed', '1', '--truth', os.devnull, *words, '-o', path])
    return path


def white(path, out):
    """The same history with what the store knows, replayed by its timestamps (of a serializable
    store: who writes takes effect at its commit, who only reads at its start)."""
    if os.path.exists(out):
        return out
    with open(path, encoding='utf-8') as f:
        lines = [json.loads(line) for line in f]
    txns = [o for o in lines if 'ops' in o]
    writer, place = {}, {}
    for t in sorted(txns, key=lambda t: t.get('commit_ts', t['start_ts'])):
        own = {}
        for op in t['ops']:
            key = json.dumps(op[1])
            if op[0] == 'r' and key not in own:
                op.append({'from': writer.get(key)})
            elif op[0] == 'w':
                own[key] = op
        for key, op in own.items():
            place[key] = place.get(key, 0) + 1
            writer[key] = t['id']
            op.append({'ver': place[key]})
    for t in txns:
        t.pop('start_ts')
        t.pop('commit_ts', None)
    with open(out, 'w', encoding='utf-8') as f:
        for o in lines:
            f.write(json.dumps(o, separators=(',', ':')) + '\n')
    return out


def check(ratel, path, level, *more):
    return [ratel, 'check', '-q', '--json', '--level', level, *more, path]


def told(run):
    return json.loads(run.text.splitlines()[0])['verdict']


def bench_boxes(say, table, ratel, run, best, folder, rounds):
    rows = []
    duplicates = ['--set', 'values=10', '--set', 'duplicates=1']
    for values, words in (('unique', []), ('10 a key', duplicates)):
        black = generate(ratel, run, folder, f'box-{values[:2]}.jsonl', '-w', 'blindw-rw', '-n',
                         '20000', '-k', '2000', '--no-times', '--set', 'timestamps=1', *words)
        for box, path in (('black', black), ('white', white(black, black + '.white'))):
            runs = best(rounds, *[check(ratel, path, level)
                                  for level in ('serializable', 'snapshot-isolation')])
            rows.append([f'{box} box, values {values}'] + [f'{told(r)} {r.cpu:.2f}' for r in runs])
    say('## Black and white box, unique and duplicate values: blindw-rw, 20 000 transactions, '
        '2 000 keys; CPU s')
    table(['', 'SER', 'SI'], rows)


def bench_hints(say, table, ratel, run, best, folder, txns, rounds):
    timed = generate(ratel, run, folder, f'timed-{txns}.jsonl', '-n', str(txns))
    snapshots = generate(ratel, run, folder, f'timed-si-{txns}.jsonl', '-n', str(txns), '-i', 'si')
    lists = generate(ratel, run, folder, f'lists-{txns}.jsonl', '-n', str(txns), '-w',
                     'list-append')
    stamped = generate(ratel, run, folder, f'stamped-{txns}.jsonl', '-n', str(txns), '-i', 'si',
                       '--no-times', '--set', 'timestamps=1')
    plain = generate(ratel, run, folder, f'plain-{txns // 10}.jsonl', '-n', str(txns // 10),
                     '--no-times')
    # (client times themselves may decide at once what needs no real time: not here)
    slow = ['--pass=-client-times']
    pairs = [
        ('strict-serializable', check(ratel, timed, 'sser'), 'serializable',
         check(ratel, timed, 'ser', *slow), 2),
        ('realtime-snapshot-isolation', check(ratel, timed, 'realtime-snapshot-isolation'),
         'snapshot-isolation', check(ratel, timed, 'si', *slow), 2),
        ('strong-snapshot-isolation', check(ratel, snapshots, 'strong-si'), 'snapshot-isolation',
         check(ratel, snapshots, 'si', *slow), 2),
        ('forward-consistent-view', check(ratel, timed, 'fcv'), 'parallel-snapshot-isolation',
         check(ratel, timed, 'psi', *slow), 2),
        ('list-append: serializable', check(ratel, lists, 'ser'), 'reading',
         [ratel, 'stat', '-q', lists], 3),
        ('trusted: snapshot-isolation', check(ratel, stamped, 'si', '--trust-timestamps'),
         'reading', [ratel, 'stat', '-q', stamped], 2),
        ('trusted: serializable', check(ratel, stamped, 'ser', '--trust-timestamps'), 'reading',
         [ratel, 'stat', '-q', stamped], 2),
        (f'all levels, {txns // 10}', check(ratel, plain, 'all'), 'serializable',
         check(ratel, plain, 'ser'), 12),
    ]
    rows = []
    for name, command, against, other, limit in pairs:
        one, two = best(rounds, command, other)
        ratio = one.cpu / two.cpu
        rows.append([name, told(one), f'{one.cpu:.2f}', against, f'{two.cpu:.2f}', f'{ratio:.1f}',
                     f'{limit}', 'ok' if ratio <= limit else 'MISSED'])
    say(f'## Real time, lists, timestamps, all levels: {txns} transactions')
    table(HEAD, rows)
    bench_boxes(say, table, ratel, run, best, folder, rounds)
