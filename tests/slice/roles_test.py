#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""roles_test - slices of traces with scopes, thread names, pools, snapshots, samples and sums.

	roles_test.py HEAPLAPSE ROLES DIRECTORY_OF_DECODE.PY

The values of a slice equal those of the same query on the complete trace; a trace that has some
blocks in sums only is refused.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import case, finish  # noqa: E402

heaplapse, roles, docs = map(os.path.abspath, sys.argv[1:4])
sys.path.insert(0, docs)
import decode  # noqa: E402

RANGE = '@mark:secret-0..@mark:secret-1'


def run(*args):
    return subprocess.run([heaplapse, *args], capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, LC_ALL='C.UTF-8', HEAPLAPSE_CACHE='off'))


def run_ok(*args):
    done = run(*args)
    if done.returncode:
        case(False, ' '.join(args), done.stderr)
    return done.stdout


def record(name, *options):
    run_ok('record', '-q', '-o', name, *options, '--', roles)
    return name


def slice_(trace, *args):
    out = f'slice-{slice_.n}.hlt'
    slice_.n += 1
    done = run('slice', '-q', '-o', out, *args, trace)
    known = json.loads(run_ok('info', '--verify', '--json', out)) if done.returncode == 0 else {'damage': 'not there'}
    case(done.returncode == 0 and known['damage'] is None, f'slice {" ".join(args)} {trace}: is whole', f'{done.stderr} {known}')
    other = subprocess.run([sys.executable, f'{docs}/decode.py', out], capture_output=True, text=True)
    case(other.returncode == 0 and other.stdout == run_ok('dump', out), f'{out}: decode.py reads the same', other.stderr[-500:])
    return out


slice_.n = 0


def table(trace, *args):
    """The rows of a table by name; the snapshots and marks of a slice keep their numbers."""
    answer = json.loads(run_ok('report', '--json', '--no-default-suppressions', '--min=0', *args, trace))
    return {row['name']: (row['blocks'], row['bytes']) for row in answer['rows']}


def values_match(what, part, args, trace, whole_args, enough=1):
    now, was = table(part, *args), table(trace, *whole_args)
    case(now == was and len(was) >= enough, f'{what}: {" ".join(args)}', f'{now}\n{was}')


def ranges(trace):
    part = slice_(trace, f'--range={RANGE}')
    for group, enough in ('tag', 3), ('thread', 2):
        values_match('range', part, ['--allocated', '-g', group, '--range=@mark:secret-0..'], trace,
                     ['--allocated', '-g', group, f'--range={RANGE}'], enough)
        values_match('range', part, ['--at=@end', '-g', group], trace, ['--at=@mark:secret-1', '-g', group], enough)
        values_match('range', part, ['--at=@mark:secret-0', '-g', group], trace, ['--at=@mark:secret-0', '-g', group], enough)
    for pool in '*', 'secret-odd', 'secret-even':
        for group in 'tag', 'thread', 'pool':
            values_match(f'range, pool {pool}', part, ['--pool', pool, '--at=@end', '-g', group], trace,
                         ['--pool', pool, '--at=@mark:secret-1', '-g', group])
        for quantity in '--allocated', '--temporary':
            values_match(f'range, pool {pool}', part, ['--pool', pool, quantity, '-g', 'pool', '--range=@mark:secret-0..'], trace,
                         ['--pool', pool, quantity, '-g', 'pool', f'--range={RANGE}'], 0 if quantity == '--temporary' else 1)
    marks = [line.split()[-1] for line in run_ok('dump', part).splitlines() if ' mark ' in line]
    case(marks == ['"secret-0"', '"secret-1"'], 'range: its marks', marks)
    names = {line.split('"')[1] for line in run_ok('dump', part).splitlines() if ' thread-name ' in line}
    case('secret-worker' in names, 'range: names of threads', names)


def filters(trace):
    for f in 'size:>=10', 'tag:*', 'thread:secret-worker', '-tag:*inner*', 'tag:secret-outer':
        part = slice_(trace, '--filter', f)
        for args in ['--allocated', '-g', 'tag'], ['--leaks', '-g', 'thread'], ['--temporary', '-g', 'tag']:
            values_match(f'filter {f}', part, args, trace, [*args, '--filter', f], 0)
        for args in ['--allocated'], ['--leaks'], ['--temporary']:
            args = ['--pool=secret-odd', *args, '-g', 'pool']
            values_match(f'filter {f}', part, args, trace, [*args, '--filter', f], 0)
    # One of the three blocks that the next call frees is too small; and no other block becomes temporary.
    was = table(trace, '--pool=secret-odd', '--temporary', '-g', 'pool')
    part = slice_(trace, '--filter', 'size:>=10')
    now = table(part, '--pool=secret-odd', '--temporary', '-g', 'pool')
    case(was == {'secret-odd': (6, 123)} and now == {'secret-odd': (3, 120)}, 'temporary blocks of a pool', f'{was} {now}')
    again = slice_(part, '--filter', 'size:>=12')
    case(table(again, '--pool=secret-odd', '--temporary', '-g', 'pool') == now, 'and of a slice of a slice')


def moments(trace):
    keys = 'time_ns', 'cause', 'label', 'live_bytes', 'live_blocks'
    return [tuple(s.get(k) for k in keys) for s in json.loads(run_ok('log', '--json', trace))['snapshots']]


def snapshots(trace):
    all_of = moments(trace)
    case(len(all_of) > 5 and {m[1] for m in all_of} >= {'churn', 'asked', 'end'}, 'there are snapshots', all_of)
    case(moments(slice_(trace)) == all_of, 'nothing cut: the same snapshots')
    part = slice_(trace, f'--range={RANGE}')
    cut = json.loads(run_ok('info', '--json', part))['cut']
    inside = [m for m in all_of if cut['from_ns'] <= m[0] <= cut['to_ns']]
    found = [m for m in moments(part) if m[1] != 'end']
    case(found == inside and len(inside) > 0, 'range: its snapshots, with what was live then', f'{found}\n{inside}')


def unpacked(trace):
    data = open(trace, 'rb').read()
    return data + b''.join(b''.join(c.columns.values()) for c, _ in decode.chunks(data))


def renamed(was, now):
    """The same values in the same order, and names that are replaced part by part."""
    return sorted(was.values()) == sorted(now.values()) and len(was) == len(now) and \
        all(name.startswith('[') or re.fullmatch(r'(\w+_\d+)(/\w+_\d+)*', name) or re.match(r'(thread )?\d', name) or
            name == 'main' for name in now)


def anonymous(trace):
    part = slice_(trace, '--anonymize=full')
    case(b'secret' in unpacked(trace) and b'secret' not in unpacked(part), 'full: none of the names is left')
    for args in ['-g', 'tag'], ['--pool=*', '-g', 'pool'], ['--pool=*', '-g', 'tag']:
        was, now = (table(t, '--allocated', *args) for t in (trace, part))
        case(renamed(was, now) and now.keys() & was.keys() <= {'[no tag]'}, f'full: {args} are renamed', f'{was}\n{now}')
    texts = run_ok('dump', part)
    case(re.search(r'thread-name .*"thread_\d+"', texts) and re.search(r'pool .*"pool_\d+"', texts), 'full: threads and pools')
    labels = [m[2] for m in moments(part) if m[2]]
    case(len(labels) == 3 and len(set(labels)) == 2 and all(l.startswith('text_') for l in labels), 'full: labels', labels)
    case([m[:2] + m[3:] for m in moments(part)] == [m[:2] + m[3:] for m in moments(trace)], 'full: snapshots')
    names = slice_(trace, '--anonymize')
    case(table(names, '--allocated', '-g', 'tag') == table(trace, '--allocated', '-g', 'tag'), 'names: tags stay')


def samples():
    trace = record('sampled.hlt', '--mode=sample=300')
    weighted = [line for line in run_ok('dump', trace).splitlines() if ' bytes=' in line]
    case(len(weighted) > 10, 'sample: there are samples', len(weighted))
    for args, whole_args in (['--range=..@mark:secret-1'], []), (['--filter', 'size:>=100'], ['--filter', 'size:>=100']):
        part = slice_(trace, *args)
        for question in ['--allocated', '-g', 'tag'], ['--at=@mark:secret-1', '-g', 'thread']:
            until = ['--range=..@mark:secret-1'] if '--allocated' in question else []
            values_match('sample', part, [*question, *until], trace, [*question, *until, *whole_args])
        now, was = (json.loads(run_ok('info', '--json', t)) for t in (part, trace))
        cut = now['cut']
        case(now['totals']['allocations'] + cut['left_out_allocations'] == was['totals']['allocations'] and
             now['totals']['bytes_allocated'] + cut['left_out_bytes'] == was['totals']['bytes_allocated'],
             'sample: what is there and what is left out are all', f'{now["totals"]} {cut}')
        case(now['mode'] == 'sample', 'sample: says so', now['mode'])


def sums_only():
    for mode in '--mode=count', '--mode=cull':
        trace = record(f'{mode[7:]}.hlt', mode)
        for args in [], ['--filter', 'size:>1'], ['--range=50%..'], ['--anonymize', '--range=50%..']:
            done = run('slice', '-o', 'no.hlt', *args, trace)
            case(done.returncode == 3 and done.stderr.count('\n') == 1 and 'a slice needs every event' in done.stderr
                 and mode[7:] in done.stderr and not os.path.exists('no.hlt'), f'{mode} {args}: refused in one sentence', done.stderr)
        case(json.loads(run_ok('info', '--verify', '--json', trace))['damage'] is None, f'{mode}: sums and events agree')
        whole = slice_(trace, '--anonymize=full')
        case(b'secret' in unpacked(trace) and b'secret' not in unpacked(whole), f'{mode}: renamed as a whole, nothing of tags, threads, pools, marks and snapshots is left')
        for question in ['--allocated', '-g', 'function'], ['--leaks', '-g', 'site'], ['--leaks', '-g', 'stack']:
            now, was = (table(t, *question) for t in (whole, trace))
            case(sorted(now.values()) == sorted(was.values()) and now.keys() != was.keys(), f'{mode}: {question} has the same numbers', f'{was}\n{now}')
        was = run_ok('report', '--json', '--allocated', trace)
        run_ok('embed', '-q', trace)
        files = run_ok('extract', '--list', trace).count('\n')
        case(files > 1 and run_ok('report', '--json', '--allocated', trace) == was and
             json.loads(run_ok('info', '--verify', '--json', trace))['damage'] is None, f'{mode}: files can be embedded', files)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    recorded = record('roles.hlt', '--churn=4K')
    ranges(recorded)
    filters(recorded)
    snapshots(recorded)
    anonymous(recorded)
    samples()
    sums_only()
    os.chdir('/')
finish()
