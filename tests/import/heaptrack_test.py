#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""heaptrack_test - imported recordings of heaptrack, compared with heaptrack_print and with a
reader in this file.

	heaptrack_test.py HEAPLAPSE DECODE_PY SINGLE THREADS [CXX_OPS]

heaptrack_print rounds the values that it prints, so its exact values are computed as the sums of
its flame graphs. It uses kind 0 for "no allocation before" and therefore counts each free of kind 0
right after another free as temporary; these frees are counted here and added to our value.
"""
import collections
import csv
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import case, finish, skipped  # noqa: E402

HEAPLAPSE, DECODE = map(os.path.abspath, sys.argv[1:3])
PROGRAMS = {'sqlite3': ['sqlite3', ':memory:', 'create table t(a, b); with recursive n(i) as (select 1 union all '
                        'select i + 1 from n where i < 2000) insert into t select i, hex(i) from n; '
                        'select count(*), sum(length(b)) from t;']}
for path, arguments in zip(sys.argv[3:], (['20000', '1', '0'], ['3', '500', '1'], ['50'])):
    PROGRAMS[os.path.basename(path)] = [os.path.abspath(path), *arguments]


class Recording:
    """The contents of an interpreted recording, read line by line by its grammar."""

    def __init__(self, text):
        strings, places, stacks, kinds = [None], [None], [None], []
        self.calls = self.temporary = self.live = self.peak = self.zero_frees = self.frees = 0
        self.allocated, self.names, last = collections.Counter(), {}, None
        modules = {}
        for line in text.split('\n'):
            kind, rest = line[:1], line[2:]
            if kind == 's':
                strings.append(rest.split(' ', 1)[1])
            elif kind == 'i':
                ip, module, *frames = (int(x, 16) for x in rest.split())
                if module:
                    modules.setdefault(module, len(modules))
                frames += [0] * (-len(frames) % 3)
                triples = [(strings[f], strings[g], n) for f, g, n in zip(*[iter(frames)] * 3)]
                places.append((ip, triples))
                if triples == [(None, None, 0)]:
                    triples = []
                self.names[modules[module] if module else '-', ip] = triples
            elif kind == 't':
                ip, parent = (int(x, 16) for x in rest.split())
                stacks.append((ip, parent))
            elif kind == 'a':
                size, stack = (int(x, 16) for x in rest.split())
                kinds.append((size, stack))
            elif kind == '+':
                last = int(rest, 16)
                self.calls += 1
                self.live += kinds[last][0]
                self.peak = max(self.peak, self.live)
                ip, triples = places[stacks[kinds[last][1]][0]]
                self.allocated[(triples[0][0] if triples else None) or f'0x{ip:x}'] += kinds[last][0]
            elif kind == '-':
                number = int(rest, 16)
                self.frees += 1
                self.temporary += last == number
                self.zero_frees += last is None and number == 0
                self.live -= kinds[number][0]
                last = None


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=300, errors='replace', **more)


def heaptrack_totals(path):
    """Exact values from heaptrack_print."""
    out = {}
    for cost in ('allocations', 'temporary', 'leaked', 'peak'):
        graph = f'{path}.{cost}'
        run('heaptrack_print', '--disable-builtin-suppressions', '--disable-embedded-suppressions', '-F', graph,
            '--flamegraph-cost-type', cost, path, check=True)
        with open(graph, errors='replace') as f:
            out[cost] = sum(int(line.rsplit(' ', 1)[1]) for line in f if line.strip())
    return out


def totals(path):
    done = run(HEAPLAPSE, 'info', '--json', path, check=True)
    return json.loads(done.stdout)


def import_(path, out):
    return run(HEAPLAPSE, 'import', '-f', '-o', out, path)


def check_numbers(name, path, trace):
    theirs, ours = heaptrack_totals(path), totals(trace)['totals']
    own = Recording(unpack(path))
    for what, mine in (('allocations', ours['allocations']), ('leaked', ours['live_bytes_end']),
                       ('peak', ours['peak_bytes']), ('temporary', ours['temporary'] + own.zero_frees)):
        case(theirs[what] == mine, f'{name}: {what} is {mine}, as heaptrack_print has it', f'{theirs[what]} there')
    case((own.calls, own.frees, own.live, own.peak, own.temporary) ==
         (ours['allocations'], ours['frees'], ours['live_bytes_end'], ours['peak_bytes'], ours['temporary']),
         f'{name}: and as a reader of its own has it', f'{vars(own)}')
    return own


def check_names(name, own, trace):
    report = json.loads(run(HEAPLAPSE, 'report', '--json', '--allocated', '--group=stack', '--no-wrappers', '--min=0', trace,
                            check=True).stdout)
    rows = collections.Counter()
    for row in report['rows']:
        rows[row['function']] += row['bytes']
    # In other programs, report itself attributes allocations of the C and C++ libraries to their callers.
    case(rows == own.allocated or (name != 'truth_single' and sum(rows.values()) == sum(own.allocated.values())), f'{name}: {len(rows)} innermost functions with the bytes that they allocated',
         f'{set(rows.items()) ^ set(own.allocated.items())}')
    lines = run(DECODE, '--names', trace, check=True).stdout.splitlines()
    got = {}
    for line in lines:
        place, *frames = line.split('\t')
        module, offset = place.split()
        got[int(module) if module != '-' else '-', int(offset, 16)] = frames
    wanted = {place: [f'{f or "-"}|{g or "-"}|{n}' for f, g, n in reversed(frames)] for place, frames in own.names.items()}
    case(got == wanted, f'{name}: the names of {len(got)} places, inlined calls included',
         [(k, got.get(k), v) for k, v in wanted.items() if got.get(k) != v][:5])


def check_dump(name, trace):
    ours, other = run(HEAPLAPSE, 'dump', trace), run(DECODE, trace)
    case(ours.stdout == other.stdout and ours.stdout.count('\n') > 100 and 'which does not have: addresses' in ours.stderr,
         f'{name}: dump is what the reference decoder reads, and says what is not known', other.stderr + ours.stderr)
    done = run(HEAPLAPSE, 'info', '--verify', '--strict', trace)
    case(done.returncode == 0, f'{name}: every byte checks', done.stderr)


def unpack(path):
    return subprocess.run(['zstd', '-dc', path], capture_output=True, check=True).stdout.decode(errors='replace')


def in_older_format(text, version):
    """The same in an older format: strings without lengths; in the first version no inlined calls."""
    out = []
    for line in text.split('\n'):
        if line.startswith('v '):
            line = f'v 10100 {version}'
        elif line.startswith('s '):
            line = 's ' + line.split(' ', 2)[2]
        elif line.startswith('i ') and version == 1:
            line = ' '.join(line.split()[:6])
        out.append(line)
    return '\n'.join(out)


def check_forms(folder, path):
    """Plain, gzip, zstd; formats 1 to 3: all have the same values."""
    text = unpack(path)
    forms = {'plain': text.encode(), 'gz': gzip.compress(text.encode()),
             'gz of two members': gzip.compress(text[:5000].encode()) + gzip.compress(text[5000:].encode()),
             'format 2': in_older_format(text, 2).encode(), 'format 1': in_older_format(text, 1).encode(),
             'format 2 gz': gzip.compress(in_older_format(text, 2).encode())}
    wanted = totals(folder + '/first.hlt')['totals']
    for name, data in forms.items():
        with open(folder + '/form', 'wb') as f:
            f.write(data)
        done = import_(folder + '/form', folder + '/form.hlt')
        got = totals(folder + '/form.hlt')['totals'] if done.returncode == 0 else None
        case(got == wanted, f'{name}: the same numbers', f'{done.stderr} {got} {wanted}')


def check_views(trace):
    """Views that need data which heaptrack does not record say so."""
    info = totals(trace)
    case(info['source'].startswith('heaptrack 1.') and info['totals']['threads'] is None and info['complete'] and
         info['unknown'] == ['addresses', 'threads', 'calls', 'times', 'lives'], 'info names source and what is unknown', info)
    done = run(HEAPLAPSE, 'report', '--fragmentation', trace)
    case(done.returncode == 3 and 'needs data that the trace does not have: addresses of blocks' in done.stderr, 'fragmentation is refused', done.stderr)
    for option, word in (('--threads', 'threads'), ('--lifetimes', 'lifetimes'), ('--group=call', 'the called function'),
                         ('--filter=life:>1ms', 'lifetimes'), ('--filter=thread:0', 'threads'), ('--at=1ms', 'exact times')):
        done = run(HEAPLAPSE, 'report', option, trace)
        case(done.returncode == 0 and word in done.stderr, f'report {option} says what it lacks', done.stderr)
    for option in '--freed-by', '--mmaps':
        done = run(HEAPLAPSE, 'report', option, trace)
        case(done.returncode == 3 and 'it was imported from heaptrack' in done.stderr and 'record' not in done.stderr and 'does not have:' not in done.stderr,
             f'report {option} is refused', done.stderr)
    done = run(HEAPLAPSE, 'report', '--allocated', '--json', '--filter=addr:0x5', trace)
    case(json.loads(done.stdout)['total_blocks'] == 0, 'no block is known to be at an address', done.stdout)
    done = run(HEAPLAPSE, 'export', '--format=json', '-o', '-', trace)
    case({b['call'] for b in json.loads(done.stdout)['allocations']} == {None}, 'export json: the call is null')
    done = run(HEAPLAPSE, 'export', '--format=csv', '-o', '-', trace)
    rows = list(csv.DictReader(done.stdout.splitlines()))
    case(rows and {row['call'] for row in rows} == {''}, 'export csv: the call is empty', done.stdout[:400])
    done = run(HEAPLAPSE, 'report', '--leaks', trace)
    case(done.returncode == 0 and 'does not have:' not in done.stderr, 'report --leaks lacks nothing', done.stderr)


def main():
    if not shutil.which('heaptrack') or not shutil.which('zstd'):
        skipped('recordings of heaptrack', 'heaptrack or zstd is not installed')
        finish()
    with tempfile.TemporaryDirectory() as folder:
        first = None
        for name, command in PROGRAMS.items():
            path, trace = f'{folder}/{name}.zst', f'{folder}/{name}.hlt'
            run('heaptrack', '-o', f'{folder}/{name}', *command, cwd=folder)
            if not os.path.exists(path):
                case(False, f'{name}: heaptrack records it')
                continue
            done = import_(path, trace)
            case(done.returncode == 0, f'{name}: imported', done.stderr)
            own = check_numbers(name, path, trace)
            check_names(name, own, trace)
            check_dump(name, trace)
            if not first:
                first = path
                shutil.copy(trace, folder + '/first.hlt')
        check_forms(folder, first)
        check_views(folder + '/first.hlt')
    finish()


if __name__ == '__main__':
    main()
