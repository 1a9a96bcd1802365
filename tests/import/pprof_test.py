#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pprof_test - imported heap profiles of pprof, compared with known values and, where installed,
with Go's pprof.

	pprof_test.py HEAPLAPSE
"""
import glob
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import case, finish, skipped  # noqa: E402

HEAPLAPSE = os.path.abspath(sys.argv[1])
GO = next(iter(glob.glob('/usr/lib/go-*/bin/go')), '')
PPROF = next(iter(glob.glob('/usr/lib/go-*/pkg/tool/linux_*/pprof')), '')
GO_TYPES = ['alloc_objects', 'alloc_space', 'inuse_objects', 'inuse_space']


def varint(v):
    out = b''
    v &= (1 << 64) - 1
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def number(field, v):
    return varint(field << 3) + varint(v)


def message(field, *parts):
    body = b''.join(parts)
    return varint(field << 3 | 2) + varint(len(body)) + body


def packed(field, values):
    return message(field, *map(varint, values))


class Profile:
    """Writes profiles. A stack is a list of locations, innermost first; a location is a list of
    (function, file, line)."""

    def __init__(self, types, string_table_first=True, pack=True):
        self.strings, self.body, self.functions, self.locations = [''], b'', {}, {}
        self.first, self.pack = string_table_first, pack
        for name in types:
            unit = 'bytes' if name.endswith('space') else 'count' if name.endswith('objects') else 'nanoseconds'
            self.body += message(1, number(1, self.text(name)), number(2, self.text(unit)))
        self.body += message(3, number(1, 7), number(2, 0x400000), number(3, 0x500000), number(5, self.text('/bin/app')),
                             number(6, self.text('abcdef0123456789')))

    def text(self, s):
        if s not in self.strings:
            self.strings.append(s)
        return self.strings.index(s)

    def location(self, place):
        place = tuple(place)
        if place not in self.locations:
            lines = []
            for name, file, line in place:
                key = name, file
                if key not in self.functions:
                    self.functions[key] = len(self.functions) * 10 + 3
                    self.body += message(5, number(1, self.functions[key]), number(2, self.text(name)), number(4, self.text(file)))
                lines.append(message(4, number(1, self.functions[key]), number(2, line)))
            self.locations[place] = len(self.locations) * 5 + 1
            self.body += message(4, number(1, self.locations[place]), number(2, 7),
                                 number(3, 0x400100 + 16 * len(self.locations)), *lines)
        return self.locations[place]

    def sample(self, stack, values):
        ids = [self.location(p) for p in stack]
        many = packed if self.pack else (lambda f, vs: b''.join(number(f, v) for v in vs))
        self.body += message(2, many(1, ids), many(2, values))

    def bytes(self):
        table = b''.join(message(6, s.encode()) for s in self.strings)
        return table + self.body if self.first else self.body + table


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def import_(folder, data, name='p'):
    path = f'{folder}/{name}'
    with open(path, 'wb') as f:
        f.write(data)
    return path, run(HEAPLAPSE, 'import', '-f', '-o', path + '.hlt', path)


def info(path):
    return json.loads(run(HEAPLAPSE, 'info', '--json', path + '.hlt').stdout)


def functions(path, *what):
    done = run(HEAPLAPSE, 'report', '--json', '--group=function', '--min=0', *what, path + '.hlt')
    return {row['name']: (row['bytes'], row['blocks']) for row in json.loads(done.stdout)['rows']}


LEAF, MID, MAIN = [('leaf', 'a.c', 5)], [('inner', 'a.h', 2), ('outer', 'a.c', 9)], [('main', 'm.c', 1)]


def check_go_types(folder):
    rows = [([LEAF, MID, MAIN], (1000, 123457, 10, 1234)), ([MID, MAIN], (7, 777, 7, 777)), ([MAIN], (3, 10 ** 12, 0, 0)),
            ([LEAF, MAIN], (5 * 10 ** 11, 10 ** 14, 4 * 10 ** 6, 10 ** 9))]
    for first, pack, zipped in ((True, True, True), (False, False, False)):
        p = Profile(GO_TYPES, first, pack)
        for stack, values in rows:
            p.sample(stack, values)
        data = p.bytes()
        path, done = import_(folder, gzip.compress(data) if zipped else data)
        case(done.returncode == 0, f'gzip {zipped}, packed {pack}: imported', done.stderr)
        t = info(path)['totals']
        sums = [sum(v[i] for _, v in rows) for i in range(4)]
        case([t['allocations'], t['bytes_allocated'], t['live_blocks_end'], t['live_bytes_end']] == sums,
             'its four sums are those of the trace', f'{t} {sums}')
        case(functions(path, '--leaks') == {'leaf': (10 ** 9 + 1234, 4 * 10 ** 6 + 10), 'inner': (777, 7)} and
             functions(path, '--allocated') == {'leaf': (10 ** 14 + 123457, 5 * 10 ** 11 + 1000), 'inner': (777, 7),
                                                'main': (10 ** 12, 3)},
             'and so they are by function', f'{functions(path, "--leaks")} {functions(path, "--allocated")}')
    i = info(path)
    case(t['peak_bytes'] is None and t['temporary'] is None and 'order' in i['unknown'] and i['estimate'] is None and
         i['program'] == '/bin/app', 'peak and temporary are not known', i)
    tree = run(HEAPLAPSE, 'report', '--leaks', '--min=0', '--no-default-suppressions', path + '.hlt')
    case('inner  a.h:2 (inlined)' in tree.stdout and 'outer  a.c:9' in tree.stdout, 'inlined calls are shown', tree.stdout)
    plain = run(HEAPLAPSE, 'report', '--min=0', path + '.hlt')
    case(plain.returncode == 0 and plain.stdout == run(HEAPLAPSE, 'report', '--min=0', '--leaks', '--no-default-suppressions', path + '.hlt').stdout and
         'live at the end' in plain.stdout and not plain.stderr, 'report without a question shows what was in use', plain.stdout + plain.stderr)
    for view in ['--peak'], ['--timeline'], ['--at=50%'], ['--temporary'], ['--lifetimes'], ['--sites'], ['--threads'], \
            ['--growth=10%..'], ['--allocated', '--range=10%..'], ['--leaks', '--filter=life:>1ms'], ['--allocated', '-g', 'snapshot']:
        done = run(HEAPLAPSE, 'report', *view, path + '.hlt')
        case(done.returncode == 3 and 'needs the order of events, which is not known' in done.stderr and not done.stdout,
             f'report {" ".join(view)} is refused', done.stdout + done.stderr)
    done = run(HEAPLAPSE, 'report', '--fragmentation', '--leaks', path + '.hlt')
    case(done.returncode == 3 and 'needs data that the trace does not have: addresses of blocks' in done.stderr, 'and so are pages', done.stderr)
    done = run(HEAPLAPSE, 'report', '--allocated', '-g', 'size', path + '.hlt')
    case(done.returncode == 0 and 'sizes are averages' in done.stderr, 'sizes are said to be means', done.stderr)
    check_slices(path + '.hlt')
    check_embed(path + '.hlt')


def check_embed(trace):
    before = pathlib.Path(trace).read_bytes()
    done = run(HEAPLAPSE, 'embed', trace)
    case(done.returncode == 3 and 'already contains all names' in done.stderr and pathlib.Path(trace).read_bytes() == before,
         'embed has nothing to do', done.stderr)


def check_slices(trace):
    """A slice of a profile by filter is exact; by time it is refused."""
    for args in ['--range=50%..'], ['--min-life=1ms'], ['--filter=life:>1ms']:
        done = run(HEAPLAPSE, 'slice', '-o', trace + '.no', *args, trace)
        case(done.returncode == 3 and 'needs the order of events' in done.stderr and not os.path.exists(trace + '.no'),
             f'slice {args} is refused', done.stderr)
    part = trace + '.part'
    done = run(HEAPLAPSE, 'slice', '-q', '-f', '-o', part, '--filter=fn:leaf', trace)
    same = [json.loads(run(HEAPLAPSE, 'report', '--json', *more, t).stdout)['nodes'] for t, more in
            ((part, ['--allocated']), (trace, ['--allocated', '--filter=fn:leaf']))]
    known, was = (json.loads(run(HEAPLAPSE, 'info', '--json', '--verify', t).stdout) for t in (part, trace))
    case(done.returncode == 0 and same[0] == same[1] and len(same[0]) > 2, 'a slice by function has its names', f'{done.stderr} {same}')
    case(known['damage'] is None and [known[k] for k in ('source', 'unknown')] == [was[k] for k in ('source', 'unknown')],
         'and knows as little', known)
    done = run(HEAPLAPSE, 'slice', '-q', '-f', '-o', part, '--anonymize=full', trace)
    text = run(HEAPLAPSE, 'report', '--allocated', '--min=0', part).stdout
    case(done.returncode == 0 and 'leaf' not in text and 'a.c' not in text and 'fn_' in text, 'its names can be made up', text)


def check_other_types(folder):
    p = Profile(['objects', 'space'])
    p.sample([LEAF, MAIN], (4, 400))
    path, done = import_(folder, p.bytes())
    t = info(path)['totals']
    case((t['live_blocks_end'], t['live_bytes_end'], t['allocations']) == (4, 400, 4), 'objects and space', t)
    p = Profile(['inuse_space'])
    p.sample([LEAF, MAIN], (400,))
    path, done = import_(folder, p.bytes())
    t = info(path)['totals']
    case(t['live_blocks_end'] is None and t['live_bytes_end'] == 400, 'space alone: numbers of blocks are not known', t)
    p = Profile(['alloc_objects', 'alloc_space'])
    p.sample([LEAF, MAIN], (2, 400))
    path, done = import_(folder, p.bytes())
    t = info(path)['totals']
    case(t['allocations'] == 2 and t['live_bytes_end'] == 0 and 'has no data about memory in use' in done.stderr, 'alloc alone', done.stderr)
    path, done = import_(folder, Profile(GO_TYPES).bytes())
    case(done.returncode == 0 and info(path)['totals']['allocations'] == 0, 'a profile without samples', done.stderr)


def check_streams(folder):
    p = Profile(GO_TYPES)
    p.sample([LEAF, MAIN], (1, 10, 1, 10))
    trace, profile = f'{folder}/streams.hlt', f'{folder}/streams'
    with open(profile, 'wb') as f:
        f.write(p.bytes())
    for args, made in ([], 'stdin.hlt'), (['-o', trace], 'streams.hlt'):
        done = subprocess.run([HEAPLAPSE, 'import', *args, '-'], input=p.bytes(), capture_output=True, cwd=folder, timeout=120)
        case(done.returncode == 0 and made.encode() in done.stderr and info(f'{folder}/{made[:-4]}')['totals']['allocations'] == 1,
             f'from a pipe: {made}', done.stderr)
    done = subprocess.run([HEAPLAPSE, 'import', '-f', '-'], input=b'nonsense', capture_output=True, cwd=folder, timeout=120)
    case(done.returncode == 3 and b'stdin: ' in done.stderr, 'what is wrong is said of stdin', done.stderr)
    done = subprocess.run([HEAPLAPSE, 'import', '-o', '-', profile], capture_output=True, text=True, cwd=folder, timeout=120)
    case(done.returncode == 2 and 'a trace cannot be written to stdout' in done.stderr and not os.path.exists(f'{folder}/-'), '-o - is refused', done.stderr)
    for form in 'replay', 'heaptrack':
        out = f'{folder}/streams.{form}'
        done = run(HEAPLAPSE, 'export', '-f', form, '-o', out, trace)
        case(done.returncode != 0 and 'needs the order of events, which is not known' in done.stderr and
             'samples' not in done.stderr and not os.path.exists(out), f'export -f {form}: says that there is no order', done.stderr)


def refused(folder, name, data, words):
    path = f'{folder}/bad'
    with open(path, 'wb') as f:
        f.write(data)
    done = run(HEAPLAPSE, 'import', '-o', path + '.hlt', path)
    case(done.returncode == 3 and words in done.stderr and not os.path.exists(path + '.hlt'), f'refused: {name}',
         f'{done.returncode} {done.stderr}')


def check_refusals(folder):
    p = Profile(GO_TYPES)
    p.sample([LEAF, MAIN], (1, 10, 1, 10))
    good = p.bytes()
    refused(folder, 'cut', good[:-9], 'byte ')
    refused(folder, 'cut in gzip', gzip.compress(good)[:-20], 'truncated')
    refused(folder, 'a location that is not there', good + message(2, packed(1, [99]), packed(2, [1, 1, 1, 1])), 'undefined location')
    refused(folder, 'a mapping that is not there', good + message(4, number(1, 50), number(2, 9)), 'undefined mapping')
    refused(folder, 'a function that is not there', good + message(4, number(1, 50), message(4, number(1, 999))), 'undefined function')
    refused(folder, 'too few values', good + message(2, packed(1, [1]), packed(2, [1, 1])), 'number of values differs')
    refused(folder, 'a difference', good + message(2, packed(1, [1]), packed(2, [-1, -10, 0, 0])), 'difference of two profiles')
    refused(folder, 'sums beyond 64 bits', good + 4 * message(2, packed(1, [1]), packed(2, [1, 2 ** 63 - 1, 0, 0])), 'beyond 64 bits')
    cpu = Profile(['samples', 'cpu'])
    cpu.sample([LEAF], (1, 2))
    refused(folder, 'a profile of the processor', cpu.bytes(), 'not a heap profile')
    refused(folder, 'no profile', os.urandom(0) + b'\xff' * 100, 'neither')
    refused(folder, 'an ELF file', pathlib.Path(HEAPLAPSE).read_bytes()[:5000], 'neither')
    refused(folder, 'text', b'heap profile: 1: 2 [3: 4] @ heapprofile\n', 'pprof -proto')
    refused(folder, 'text of pprof --raw', b'--- symbol\nbinary=/bin/app\n', 'output of pprof --raw, which is not supported')
    refused(folder, 'text of jemalloc', b'heap_v2/524288\n  t*: 1: 2 [0: 0]\n', 'jemalloc heap profile in text format, which is not supported\n')


def check_go(folder):
    """Go's own profile of a Go program, compared with Go's own reader."""
    if not GO or not PPROF:
        skipped('a profile of a Go program', 'golang-go is not installed')
        return
    source, program, profile = f'{folder}/t.go', f'{folder}/t', f'{folder}/go.pb.gz'
    with open(source, 'w') as f:
        f.write('package main\nimport ("os"; "runtime"; "runtime/pprof")\nvar keep [][]byte\n'
                'func leaf(n int) []byte { return make([]byte, n) }\n'
                'func grow(i int) { keep = append(keep, leaf(1000+i)) }\n'
                'func main() {\n\truntime.MemProfileRate = 1\n\tfor i := 0; i < 500; i++ { grow(i); _ = leaf(70000) }\n'
                '\truntime.GC()\n\tf, _ := os.Create(os.Args[1])\n\tpprof.WriteHeapProfile(f)\n\tf.Close()\n}\n')
    env = dict(os.environ, HOME=folder, GOCACHE=folder + '/cache', GO111MODULE='off', GOFLAGS='')
    built = subprocess.run([GO, 'build', '-o', program, source], capture_output=True, text=True, env=env, timeout=600)
    if built.returncode:
        skipped('a profile of a Go program', 'it cannot be built: ' + built.stderr[:200].replace('\n', ' '))
        return
    subprocess.run([program, profile], check=True, timeout=60)
    raw = subprocess.run([PPROF, '-raw', profile], capture_output=True, text=True, env=env, check=True, timeout=60).stdout
    rows = [tuple(map(int, m)) for m in re.findall(r'^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\d+):', raw, re.M)]
    sums = [sum(r[i] for r in rows) for i in range(4)]
    done = run(HEAPLAPSE, 'import', '-o', folder + '/go.hlt', profile)
    t = info(folder + '/go')['totals']
    case([t['allocations'], t['bytes_allocated'], t['live_blocks_end'], t['live_bytes_end']] == sums and sums[1] > 1 << 20,
         f'a Go program: the sums of pprof -raw, {sums}', f'{t} {done.stderr}')
    by = functions(folder + '/go', '--leaks')
    case('main.leaf' in by and by['main.leaf'][1] >= 500, 'and its functions', by)


TCMALLOC = """heap profile:     12:     3456 [    30:    90000] @ heapprofile
    10:     2000 [    20:    40000] @ 0x0040a101 0x0040a201 0x0040a301
     2:     1456 [    10:    50000] @ 0x0040a111 0x0040a301

MAPPED_LIBRARIES:
00400000-00500000 r-xp 00000000 08:01 1234 /bin/app
"""


def check_tcmalloc(folder):
    """A profile as tcmalloc writes it, converted to pprof's format by Go's pprof."""
    if not PPROF:
        skipped('a profile of tcmalloc', 'golang-go is not installed')
        return
    with open(f'{folder}/tc.heap', 'w') as f:
        f.write(TCMALLOC)
    subprocess.run([PPROF, '-proto', '-symbolize=none', f'-output={folder}/tc.pb.gz', f'{folder}/tc.heap'], check=True, timeout=60,
                   capture_output=True, env=dict(os.environ, HOME=folder))
    done = run(HEAPLAPSE, 'import', '-o', f'{folder}/tc.hlt', f'{folder}/tc.pb.gz')
    t = info(f'{folder}/tc')['totals']
    case([t['allocations'], t['bytes_allocated'], t['live_blocks_end'], t['live_bytes_end']] == [30, 90000, 12, 3456],
         'tcmalloc: its sums', f'{t} {done.stderr}')
    by = functions(f'{folder}/tc', '--leaks')
    case(by == {'0x40a101': (2000, 10), '0x40a111': (1456, 2)}, 'tcmalloc: places without names are addresses, where the calls return to', by)


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_go_types(folder)
        check_other_types(folder)
        check_refusals(folder)
        check_streams(folder)
        check_go(folder)
        check_tcmalloc(folder)
    finish()


if __name__ == '__main__':
    main()
