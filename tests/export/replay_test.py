#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""replay_test - export --format replay: a recording of heaplapse-replay equals the original
recording, on each allocator."""
import json, os, pathlib, random, re, subprocess, tempfile

from viewers import export, heaplapse, make_traces, programs, report, run, run_ok, total
from replay_script import ALIGNED, CALLOC, ENDS, FREE, MALLOC, NEW, PASS, REALLOC, RUN, make, read, sums
import tap

REPLAY = programs['replay']
ALLOCATORS = {name: f'{folder}/{name}' for name in ('libjemalloc.so.2', 'libtcmalloc_minimal.so.4', 'libmimalloc.so.2', 'libmimalloc.so.3')
              for folder in ('/usr/lib/x86_64-linux-gnu', '/usr/lib64') if os.path.exists(f'{folder}/{name}')}
SAME = 'allocations', 'bytes_allocated', 'frees', 'bytes_freed', 'live_blocks_end', 'live_bytes_end', 'peak_bytes', 'peak_blocks'
NONE_LOST = 'unknown_frees', 'implicit_frees', 'dropped_events'
# They contain synthetic large sizes that no machine can allocate.
MADE_UP = {'made'}


def play(script, *args, **env):
    r = subprocess.run([REPLAY, '--json', *args, script], capture_output=True, env=dict(os.environ, **env), timeout=200)
    return r.returncode, [json.loads(x) for x in r.stdout.decode().splitlines()], r.stderr.decode()


def totals(trace):
    return json.loads(run_ok('info', '--json', trace))['totals']


def record_replay(script, *args, record=(), **env):
    """The totals of a recorded replay."""
    trace = f'{folder}/again.hlt'
    r = subprocess.run([heaplapse, 'record', '-q', '-f', '-o', trace, *record, '--', REPLAY, *args, script], capture_output=True,
                       env=dict(os.environ, **env), timeout=200)
    if r.returncode:
        raise SystemExit(f'{script}: {r.returncode} {r.stderr.decode()}')
    return totals(trace)


def script_of(trace, *args):
    out = f'{folder}/x.replay'
    run_ok('export', '-f', 'replay', '-o', out, *args, trace)
    return out


def by_call(trace):
    """Blocks and bytes of each call, under the names of the C functions."""
    found = {}
    for row in report('-g', 'call', '--allocated', trace)['rows']:
        name = {'operator new': 'malloc', 'operator new[]': 'malloc', 'reallocarray': 'realloc'}.get(row['name'], row['name'])
        if name in ('aligned_alloc', 'memalign', 'valloc', 'pvalloc'):
            name = 'posix_memalign'
        old = found.get(name, (0, 0))
        found[name] = old[0] + row['bytes'], old[1] + row['blocks']
    return found


def replay_totals(name, trace):
    """The totals of the replay are exactly those of the program."""
    script, wanted = script_of(trace), totals(trace)
    found = record_replay(script)
    tap.case(all(found[k] == wanted[k] for k in SAME) and not any(found[k] for k in NONE_LOST) and wanted['allocations'] > 0, f'{name}: recorded again',
             f'{[(k, found[k], wanted[k]) for k in SAME + NONE_LOST]}')
    tap.case(by_call(f'{folder}/again.hlt') == by_call(trace), f'{name}: by call', f'{by_call(f"{folder}/again.hlt")} {by_call(trace)}')
    tap.case(report('-g', 'size', trace)['rows'] == report('-g', 'size', f'{folder}/again.hlt')['rows'], f'{name}: at the peak, by size')
    loose = record_replay(script, '--loose')
    tap.case(all(loose[k] == wanted[k] for k in SAME[:6]) and not any(loose[k] for k in NONE_LOST), f'{name}: --loose', f'{[(k, loose[k], wanted[k]) for k in SAME]}')
    status, (said,), _ = play(script)
    tap.case(status == 0 and (said['allocations'], said['frees'], said['bytes'], said['peak_bytes'], said['failed']) ==
             tuple(wanted[k] for k in ('allocations', 'frees', 'bytes_allocated', 'peak_bytes')) + (0,), f'{name}: what it says itself', said)
    for lib, path in ALLOCATORS.items():
        for args in [], ['--loose', '--touch']:
            status, said, error = play(script, *args, LD_PRELOAD=path)
            tap.case(status == 0 and (said[0]['allocations'], said[0]['frees'], said[0]['bytes']) ==
                     (wanted['allocations'], wanted['frees'], wanted['bytes_allocated']), f'{name}: {lib} {args}', f'{status} {said} {error}')


def other_allocators(trace):
    """Replays on another allocator, recorded in order."""
    script, wanted = script_of(trace), totals(trace)
    for lib, path in ALLOCATORS.items():
        # Allocations that the allocator's own libraries make before main, and keep.
        before = record_replay(write_script(make([(0, MALLOC, 0, 1)])), LD_PRELOAD=path)
        before = {k: before[k] - ('free' not in k) for k in SAME}
        found = record_replay(script, LD_PRELOAD=path)
        tap.case(all(found[k] == wanted[k] + before[k] for k in SAME) and before['frees'] == 0, f'threads: recorded again on {lib}',
                 f'{[(k, found[k], wanted[k], before[k]) for k in SAME]}')
    if not ALLOCATORS:
        tap.skipped('other allocators', 'none is installed (libjemalloc2)')


def check_file(name, trace):
    """Decodes the file by its document: the allocations are those of json, and there are as many
    slots as blocks were live at once."""
    ops, end, _ = read(pathlib.Path(script_of(trace)).read_bytes())
    found, left = sums(ops)
    tap.case(found == {k: end[k] for k in ENDS[4:]}, f'{name}: the sums at the end', f'{found} {end}')
    rows = sorted(json.loads(export('json', trace))['allocations'], key=lambda a: a['id'])
    tap.case([o[3] for o in ops if o[1] != FREE] == [a['size'] for a in rows], f'{name}: each allocation, in order')
    tap.case(sorted(left.values()) == sorted(a['size'] for a in rows if a['freed_ns'] is None), f'{name}: what is never freed stays')
    most = now = 0
    for op in ops:
        now += op[1] not in (FREE, REALLOC)
        most = max(most, now)
        now -= op[1] == FREE
    tap.case(end['n_slots'] == most, f'{name}: slots', f'{end["n_slots"]} {most}')
    seen = list(dict.fromkeys(o[0] for o in ops))
    tap.case(seen == list(range(end['n_threads'])), f'{name}: threads by their first calls')


def alignments():
    """A block has the alignment that all blocks of its stack had."""
    lines = ['module /bin/x -', 'node - 0 16', 'node - 0 32', 'thread 1']
    for t, (size, node, func, address) in enumerate([(100, 0, 4, 0x7000), (100, 0, 6, 0x8040), (100, 0, 5, 0x9000), (64, 1, 7, 0x40000), (5, 1, 0, 0xa000),
                                                     (7, 1, 6, 0xb008)]):  # posix_memalign, memalign, aligned_alloc, valloc, malloc, memalign
        lines.append(f'alloc {t * 64} 0 {size} {node} {func} {address:#x}')
    made = f'{folder}/aligned.hlt'
    r = subprocess.run([programs['mktrace'], made], input='\n'.join([*lines, 'end 0 0 640', '']).encode(), capture_output=True)
    if r.returncode:
        return tap.case(False, 'alignments: the trace', r.stderr)
    ops = read(pathlib.Path(script_of(made)).read_bytes())[0]
    tap.case([(o[1], o[4]) for o in ops] == [(ALIGNED, 12), (ALIGNED, 6), (ALIGNED, 6), (ALIGNED, 12), (MALLOC, None), (ALIGNED, 4)], 'alignments', ops)


def query_filters(name, trace):
    """The script has the blocks that a query selects, with their complete lifetimes."""
    for args in (['--leaks'], ['--peak'], ['--at', '40%'], ['--temporary'], ['--growth', '20%..70%'], ['--filter', 'size:>=64'], ['--filter', 'call:realloc'],
                 ['--filter', '-call:realloc'], ['--filter', 'life:<1ms'], ['--filter', 'size:>1T']):
        ops, end, _ = read(pathlib.Path(script_of(trace, *args)).read_bytes())
        wanted = total(*(['--allocated'] if args[0] == '--filter' else []), *args, trace)
        tap.case((end['bytes'], end['allocations']) == wanted and sums(ops)[0]['peak_bytes'] == end['peak_bytes'], f'{name} {args}', f'{end} {wanted}')
        status, said, error = play(f'{folder}/x.replay')
        tap.case(status == 0 and said[0]['allocations'] == wanted[1], f'{name} {args}: played', f'{status} {said} {error}')


def ranges(name, trace):
    """A range begins with the blocks that are live at its start and ends with those that are live at its end."""
    blocks = json.loads(export('json', trace))['allocations']
    for a, b in ('30%', '60%'), ('0', '50%'), ('50%', '@end'), ('@peak', '@end'), ('20%', '20%'):
        ops, end, _ = read(pathlib.Path(script_of(trace, '--range', f'{a}..{b}')).read_bytes())
        born, alive, (found, left) = report('--range', f'{a}..{b}', trace), total('--at', b, trace), sums(ops)
        # A time is before the events of that very moment; a named event has happened.
        older = [x['size'] for x in blocks if x['allocated_ns'] < born['from_ns'] and (x['freed_ns'] is None or x['freed_ns'] >= born['from_ns'])]
        n, n_bytes = (len(older), sum(older)) if a[0] != '@' else total('--at', a, trace)[::-1]
        tap.case((end['allocations'], end['bytes']) == (n + born['total_blocks'], n_bytes + born['total_bytes']), f'{name} {a}..{b}', f'{end} {n} {born["total_blocks"]}')
        tap.case((sum(left.values()), len(left)) == alive, f'{name} {a}..{b}: what is left', f'{len(left)} {alive}')
        tap.case(all(o[1] not in (FREE, REALLOC) for o in ops[:n]) and end['peak_bytes'] == found['peak_bytes'], f'{name} {a}..{b}: what was there comes first')
        tap.case(play(f'{folder}/x.replay')[0] == 0, f'{name} {a}..{b}: played')


def moments():
    """Ranges that begin and end at the very moment of an event."""
    lines = ['module /bin/x -', 'node - 0 16', 'thread 1', *(f'alloc {t * 640} 0 {1 << t} 0 0 {0x1000 * (t + 1):#x}' for t in range(3)),
             'free 1280 0 0x1000', *(f'alloc {t * 640} 0 {1 << t} 0 0 {0x1000 * (t + 1):#x}' for t in range(3, 11)), 'end 0 0 6400', '']
    trace = f'{folder}/moments.hlt'
    subprocess.run([programs['mktrace'], trace], input='\n'.join(lines).encode(), check=True)
    ranges('moments', trace)


def write_script(data):
    pathlib.Path(f'{folder}/made.replay').write_bytes(data)
    return f'{folder}/made.replay'


def known_scripts():
    """Small scripts with known contents."""
    ops = [(0, MALLOC, 0, 100), (1, CALLOC, 1, 50), (1, REALLOC, 0, 300), (0, FREE, 1), (2, ALIGNED, 1, 64, 6), (0, NEW, 2, 9), (0, REALLOC, 2, 0), (2, FREE, 0)]
    data = make(ops)
    tap.case([(*o, None, None)[:5] for o in ops] == [tuple(o) for o in read(data)[0]], 'made: read again')
    for args in [], ['--loose'], ['--touch']:
        status, said, error = play(write_script(data), *args)
        s = said[0] if said else {}
        tap.case(status == 0 and (s['allocations'], s['frees'], s['bytes'], s['threads']) == (6, 4, 523, 2), f'made {args}', f'{status} {said} {error}')
    status, said, _ = play(write_script(data), '--repeat', '3')
    tap.case(status == 0 and [s['allocations'] for s in said] == [6, 6, 6], '--repeat', said)
    found = record_replay(write_script(make([(0, MALLOC, 0, 10), (0, MALLOC, 1, 20)])), '--repeat', '3')
    tap.case((found['allocations'], found['frees'], found['live_bytes_end']) == (6, 4, 30), '--repeat: what is left goes in between', found)
    status, said, _ = play(write_script(make([(0, MALLOC, 0, 1), (0, FREE, 0), (1, MALLOC, 0, 1)], wait_us={1: 200000, 2: 100000})), '--real-time')
    tap.case(status == 0 and said[0]['wall_s'] >= 0.3, '--real-time', said)
    status, said, _ = play(write_script(make([(0, MALLOC, 0, 1 << 47), (0, MALLOC, 1, 8), (0, REALLOC, 1, 1 << 47), (0, FREE, 1), (0, FREE, 0)])))
    tap.case(status == 1 and (said[0]['failed'], said[0]['allocations']) == (2, 1), 'an allocation that fails', said)
    # Threads that do not run at the same time become one thread of the replay.
    tap.case(play(write_script(make([(t, MALLOC, t, 8) for t in range(50)])))[1][0]['threads'] == 1, 'threads one after the other')
    many = [(t, MALLOC, t, 8) for t in range(300)] + [(t, FREE, 299 - t) for t in range(300)]
    for args in [], ['--loose']:
        status, said, _ = play(write_script(make(many)), *args)
        tap.case(status == 0 and (said[0]['threads'], said[0]['frees']) == (300, 300), f'300 threads at the same time {args}', said)
    ball = [(i % 2, REALLOC if i else MALLOC, 0, 16 + i % 500) for i in range(20000)]
    for args in [], ['--loose']:
        status, said, _ = play(write_script(make(ball)), *args)
        tap.case(status == 0 and said[0]['allocations'] == 20000, f'a block to and fro {args}', said)


def refused(name, data, words):
    status, said, error = play(write_script(data))
    tap.case(status == 3 and said == [] and words in error and error.count('\n') == 1, name, f'{status} {error}')


def damaged(trace):
    good = [(0, MALLOC, 0, 100), (1, MALLOC, 1, 50), (0, FREE, 1), (1, FREE, 0)]
    tap.case(play(write_script(make(good)))[0] == 0, 'damage: the sound one')
    wrong = {
        'free of an empty slot': make([(0, MALLOC, 0, 1), (0, FREE, 1)], end={'frees': 1}),
        'free twice': make([(0, MALLOC, 0, 1), (0, FREE, 0), (0, FREE, 0)]),
        'a slot twice': make([(0, MALLOC, 0, 1), (0, MALLOC, 0, 1)]),
        'realloc of an empty slot': make([(0, REALLOC, 0, 1)]),
        'a slot beyond the table': make(good, end={'n_slots': 1}),
        'a slot far beyond': make([(0, MALLOC, 1 << 31, 1)], end={'n_slots': 1}),
        'a negative slot': make([(0, MALLOC, 0, 1), (0, MALLOC, -1, 1)]),
        'more slots than memory': make(good, end={'n_slots': 1 << 40}),
        'more threads than operations': make(good, end={'n_threads': 1 << 30}),
        'more chunks': make(good, end={'n_chunks': 2}),
        'no chunks': make(good, end={'n_chunks': 0}),
        'other sums': make(good, end={'bytes': 7}),
        'another peak': make(good, end={'peak_bytes': 7}),
        'more operations': make(good, end={'n_ops': 5}),
        'a wait for what never comes': make(good, before=77),
        'a turn for nobody': make(good, pass_to=9, chunk_ops=5, end={'n_ops': 5}),
        'a thread that begins the chunk is none': make(good, first=5),
        'threads in another order': make([(1, MALLOC, 0, 1), (0, MALLOC, 1, 1)]),
        'too many operations for a chunk': make(good, chunk_ops=1 << 20),
        'a chunk larger than the file': make(good, chunk_bytes=1 << 30),
        'more streams than bytes': make(good, n_streams=1 << 31),
        'a sum that is not the sum': make(good, checksum=1),
        'a size beyond all': make([(0, MALLOC, 0, 1 << 62)]),
        'an alignment beyond all': make([(0, ALIGNED, 0, 8, 60)]),
        'an unknown step': make(good, streams={1: bytes([RUN, 1, 0, 9, 2])}),
        'a number without end': make(good, streams={1: bytes([RUN]) + b'\xff' * 20}),
        'no turn': make(good, streams={1: bytes([MALLOC, 2, 50])}),
        'a turn too early': make(good, streams={1: bytes([RUN, 0, 0, MALLOC, 2, 50, PASS, 0])}),
    }
    for name, data in wrong.items():
        refused(f'damage: {name}', data, 'is damaged: export it again')
    refused('damage: another version', make(good, version=2), 'has another version')
    refused('damage: no script', pathlib.Path(trace).read_bytes(), 'is not a replay script')
    refused('damage: nothing', b'', 'is not a replay script')
    refused('damage: more threads than can be', make([(t, MALLOC, t, 8) for t in range(4200)] + [(t, FREE, t) for t in range(4200)]), 'more than 4096 threads')
    whole = pathlib.Path(script_of(trace)).read_bytes()
    for n in 17, 60, len(whole) // 2, len(whole) - 73, len(whole) - 1:
        refused(f'cut after {n} of {len(whole)}', whole[:n], 'is truncated')
    # Any bit flip: the script is refused, or the flip did not matter.
    source, end, odd = random.Random(7), read(whole)[1], []
    for _ in range(150):
        data = bytearray(whole)
        data[source.randrange(len(data))] ^= 1 << source.randrange(8)
        status, said, error = play(write_script(data))
        if not (status == 3 and error.count('\n') == 1 or status == 0 and said[0]['bytes'] == end['bytes']):
            odd.append((status, said, error))
    tap.case(odd == [], 'damage: any bit', odd[:3])


def usage():
    for name, status, words, *args in (('no file', 2, 'which file?'), ('two files', 2, 'one file at a time, not b', 'a', 'b'),
                                       ('no such file', 3, 'nowhere: No such file', f'{folder}/nowhere'), ('a folder', 3, 'is not a file', folder),
                                       ('an option', 2, 'unknown option --lose', '--lose', 'x'), ('a count', 2, '--repeat is a number', '--repeat=0', 'x'),
                                       ('no count', 2, 'a value is missing after --repeat', '--repeat')):
        r = subprocess.run([REPLAY, *args], capture_output=True, text=True)
        tap.case(r.returncode == status and words in r.stderr and r.stdout == '' and r.stderr.count('\n') <= 2, f'usage: {name}', f'{r.returncode} {r.stderr}')
    r = subprocess.run([REPLAY, '--help'], capture_output=True, text=True)
    tap.case(r.returncode == 0 and '--loose' in r.stdout and max(map(len, r.stdout.splitlines())) <= 90, 'usage: --help')
    page = (pathlib.Path(__file__).resolve().parent.parent.parent / 'docs/man/heaplapse-replay.1.scd').read_text()
    options = re.findall(r'^ +(?:-\w, )?(--[a-z-]+)', r.stdout, re.M)
    tap.case(len(options) == 7 and all(f'*{o}*' in page for o in options), 'usage: the manual page has all options', options)
    r = run('export', '-f', 'replay', '--pool', 'x', f'{folder}/sample.hlt')
    tap.case(r.returncode == 2 and b'--pool does not apply' in r.stderr, 'pools are no calls', r.stderr)


with tempfile.TemporaryDirectory() as folder:
    traces = make_traces(folder)
    for name in ('cxx_ops', 'failures'):
        if name in programs:
            traces[name] = f'{folder}/{name}.hlt'
            run('record', '-q', '-o', traces[name], '--', programs[name])
    for name, trace in traces.items():
        check_file(name, trace)
        if name not in MADE_UP:
            replay_totals(name, trace)
    other_allocators(traces['threads'])
    alignments()
    query_filters('sample', traces['sample'])
    query_filters('threads', traces['threads'])
    ranges('sample', traces['sample'])
    ranges('threads', traces['threads'])
    moments()
    known_scripts()
    damaged(traces['sample'])
    usage()
tap.finish()
