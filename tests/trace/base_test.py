#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""base_test - a trace that begins late answers like the trace of the whole run.

Each generated run is written twice: as a whole, and late, with a base at a random event. Random queries about
times after the base must have the same answers. Queries that count all blocks of a file are compared with a slice
of the whole trace that begins at the same moment, since both have the same blocks.

	base_test.py HEAPLAPSE GEN_TRACE DUMP_TRACE DIRECTORY_OF_DECODE.PY QUERIES
"""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from late_traces import Pair, Tool, compare_queries, lines, plain  # noqa: E402
from tap import case, finish  # noqa: E402

heaplapse, gen_trace, dump_trace, docs = map(os.path.abspath, sys.argv[1:5])
n_queries = int(sys.argv[5])
EVENTS = 40000
tool = Tool(heaplapse)
run, ask = tool.run, tool.ask


class Run(Pair):
    """A run of the generator, whole and late. The base is between two events of different times."""

    def __init__(self, number, *options):
        super().__init__(rng)
        self.options = [*options, '-n', str(EVENTS), '--seed', str(number)]
        self.whole, self.late = f'{folder}/whole-{number}.hlt', f'{folder}/late-{number}.hlt'
        subprocess.run([gen_trace, *self.options, '-o', self.whole], check=True, stderr=subprocess.DEVNULL)
        self.events = [line for line in lines(dump_trace, self.whole) if not line.startswith('extra')]
        self.times = [int(line.split()[1]) for line in self.events]
        n = rng.randrange(EVENTS // 10, EVENTS * 8 // 10)
        while self.times[n - 1] == self.times[n] or 'moved' in self.events[n]:
            n += 1
        subprocess.run([gen_trace, *self.options, '--base', str(n), '-o', self.late], check=True,
                       stderr=subprocess.DEVNULL)
        self.n, self.begin, self.end = n, self.times[n - 1], self.times[-1]


def compare_dump(r):
    late, whole = lines(dump_trace, r.late), lines(dump_trace, r.whole)
    after = len([line for line in late]) - int(json.loads(run('info', '--json', r.late).stdout)['base']['live_blocks'])
    case(late[-after:] == whole[-after:], 'the events after the base are those of the whole trace')
    blocks = {}
    for line in r.events[:r.n]:
        fields = line.split()
        if fields[0] == 'alloc':
            blocks[fields[6]] = line.replace(' moved', ' -')
        else:
            del blocks[fields[6]]
    case(late[:-after] == list(blocks.values()), 'the base has exactly the live blocks, in the order of allocation')
    theirs = subprocess.run(['/usr/bin/python3', f'{docs}/decode.py', r.late], capture_output=True, text=True)
    case(theirs.returncode == 0 and theirs.stdout.splitlines() == late, 'decode.py prints the same', theirs.stderr)
    ours = run('dump', r.late)
    case(ours.returncode == 0 and ours.stdout.splitlines() == late, 'dump prints the same', ours.stderr)


def compare_slices(r):
    """The same blocks: queries without a range count those of the base too, or begin there."""
    cut, again = f'{folder}/cut.hlt', f'{folder}/again.hlt'
    run('slice', '-o', cut, '--range', f'{r.begin + 1}ns..', r.whole)
    done = run('slice', '-o', again, r.late)
    case(done.returncode == 0, 'a late trace can be sliced', done.stderr)
    for args in (['--threads'], ['--threads', '--filter', 'size:>=64'], ['--leaks', '--filter', 'chain-length:>=2'],
                 ['--leaks', '--filter', 'chain-first:>=32'], ['--at', f'{r.time()}ns', '--filter', 'chain-life:>10us']):
        expected, late, cut_again = ask(cut, args), ask(r.late, args), ask(again, args)
        if '--threads' in args:
            case(late[1].pop('from_ns') == r.begin and expected[1].pop('from_ns') == cut_again[1].pop('from_ns') == 0,
                 '--threads: since the base')
        case(expected[0] == 0 and late == expected, f'{" ".join(args)}: as in a slice',
             f'{expected}\n{late}')
        case(cut_again == expected, f'{" ".join(args)}: also in a slice of the late trace')
    case(lines(dump_trace, again) == lines(dump_trace, cut), 'a slice of the late trace is that of the whole trace')
    facts = [json.loads(run('info', '--verify', '--json', x).stdout) for x in (cut, again)]
    case(facts[0]['totals'] == facts[1]['totals'] and facts[1]['damage'] is None and facts[1]['base'] is None and
         facts[1]['cut']['left_out_allocations'] == facts[0]['cut']['left_out_allocations'], 'and has its totals', facts)


def check_info(r):
    whole, late = (json.loads(run('info', '--verify', '--json', x).stdout) for x in (r.whole, r.late))
    case(late['totals'] == whole['totals'] and late['damage'] is None and late['complete'] and
         late['end'] == whole['end'], 'totals, end and completeness are those of the run', late)
    case(late['base']['time_ns'] == r.begin and late['base']['events_before'] == r.n and whole['base'] is None,
         'info --json has the base', late['base'])
    text = run('info', r.late).stdout
    case(f'of the run; {r.n:,} events before are not in this file' in text, 'info says where it begins', text)
    case(f'{r.n:,} events before are not in this file' in run('report', '--leaks', r.late).stderr, 'report says so too')


def check_since(r):
    """Without a range, quantities of a period begin at the base, and the answer says so."""
    for what in ('--allocated', '--temporary'):
        expected = ask(r.whole, [what, '--range', f'{r.begin + 1}ns..'])[1]
        answer = ask(r.late, [what])[1]
        case(answer['from_ns'] == r.begin, f'{what}: from_ns is the base')
        case({**answer, 'from_ns': 0} == {**expected, 'from_ns': 0}, f'{what} counts since the base',
             f'{expected}\n{answer}'[:1000])


def check_refusals(r):
    for args in (['--at', f'{r.begin - 64}ns'], ['--range', f'{r.begin // 2}ns..'], ['--at', '1%'],
                 ['--growth', f'{r.begin - 1}ns..'], ['--allocated', '--range', f'..{r.begin // 2}ns']):
        done = run('report', *args, r.late)
        case(done.returncode == 2 and 'where this trace begins' in done.stderr and not done.stdout,
             f'{args[0]} before the base is refused', done.stderr)
    done = run('slice', '-o', f'{folder}/no.hlt', '--range', f'{r.begin // 2}ns..', r.late)
    case(done.returncode == 2 and 'where this trace begins' in done.stderr, 'so is such a slice', done.stderr)


def check_peak():
    """The peak of the run may be before the base: its sums by stack are in the base, its blocks are not."""
    r = Run(5, '--live', '600', '--nodes', '100')
    live = peak = at = 0
    for i, line in enumerate(r.events):
        fields = line.split()
        live += int(fields[5]) * (1 if fields[0] == 'alloc' else -1)
        if live > peak:
            peak, at = live, i
    base = next(i for i in range(at + 2, EVENTS) if r.times[i - 1] < r.times[i] and 'moved' not in r.events[i])
    subprocess.run([gen_trace, *r.options, '--base', str(base), '-o', r.late], check=True, stderr=subprocess.DEVNULL)
    case(ask(r.late, ['--peak']) == ask(r.whole, ['--peak']), '--peak before the base, by stack')
    case(ask(r.late, ['--peak', '--group', 'module']) == ask(r.whole, ['--peak', '--group', 'module']), 'by module')
    for args in (['--peak', '--group', 'thread'], ['--at', '@peak', '--sizes'], ['--peak', '--fragmentation']):
        status, why = ask(r.late, args)
        case(status == 2 and 'the peak of the run is before' in why, f'{" ".join(args)} is refused', why)
        text = run('report', '--explain', *args, r.late).stdout
        case('refused' in text and 'the peak of the run is before' in text, f'--explain {" ".join(args)} says so', text)
    for kind in ('csv', 'parquet', 'heaptrack', 'replay'):
        done = run('export', '-f', kind, '--peak', '-o', f'{folder}/peak.out', r.late)
        case(done.returncode == 2 and 'the peak of the run is before' in done.stderr, f'export -f {kind} --peak is refused',
             f'{done.returncode} {done.stderr}')
    page = f'{folder}/page.html'
    for args in ([], ['--peak'], ['--leaks']):
        done = run('export', '-f', 'html', *args, '-o', page, r.late)
        text = open(page).read() if done.returncode == 0 else ''
        case('the peak of the run is before' in text, f'a page {args} says what it cannot show', done.stderr)
        data = json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', text, re.S).group(1)) if text else {}
        case(data and data['questions'][0]['bytes'] == peak, 'it has the peak by stack', str(data)[:200])
    timeline = json.loads(run('report', '--json', '--timeline', r.late).stdout)
    whole = json.loads(run('report', '--json', '--timeline', r.whole).stdout)
    before = [c for c in timeline['columns'] if c.get('before_base')]
    case(0 < len(before) < 200 and timeline['columns'][len(before) + 1:] == whole['columns'][len(before) + 1:] and
         timeline['peak_bytes'] == peak, 'a timeline has no columns before the base, and all after it')


def chunks(trace):
    """Offset, type and length of each chunk, as decode.py prints them."""
    for line in lines('/usr/bin/python3', f'{docs}/decode.py', '--info', trace):
        fields = line.split()
        yield int(fields[0]), fields[2], int(fields[3])


def check_damage(r):
    """A damaged base is reported. Queries about its blocks are refused; sums by stack are still those of the run."""
    at, size = next((at, size) for at, kind, size in chunks(r.late) if kind == 'LIVESET')
    key = next(at for at, kind, size in chunks(r.late) if kind == 'KEYFRAME')
    broken = f'{folder}/broken.hlt'
    for offset, what in ((at + size // 2, 'column'), (at + 20, 'header')):
        data = bytearray(open(r.late, 'rb').read())
        data[offset] ^= 0x10
        open(broken, 'wb').write(data)
        done = run('report', '--json', '--leaks', broken)
        case('damaged' in done.stderr and plain(json.loads(done.stdout)) == ask(r.whole, ['--leaks'])[1],
             f'a damaged {what} of the live set: --leaks by stack is exact', done.stderr)
        moment = f'{r.time()}ns'
        for args in (['--at', moment, '--sizes'], ['--at', moment, '--filter', 'size:>=32'], ['--threads'],
                     ['--leaks', '--filter', 'chain-length:>=2'], ['--at', moment, '--fragmentation']):
            done = run('report', '--json', *args, broken)
            case(done.returncode not in (0, 2) and 'lost' in json.loads(done.stdout)['error'], f'{" ".join(args)} is refused',
                 f'{done.returncode} {done.stderr} {done.stdout[:200]}')
        args = ['--allocated', '--range', f'{moment}..', '--filter', 'size:>=32', '--sizes']
        done = run('report', '--json', *args, broken)
        case(json.loads(done.stdout) == json.loads(run('report', '--json', *args, r.whole).stdout),
             'allocations after the base are exact', done.stderr)
    data = bytearray(open(r.late, 'rb').read())
    data[key + 150] ^= 0x10
    open(broken, 'wb').write(data)
    done = run('report', '--json', '--leaks', '--sizes', broken)
    case('damaged' in done.stderr and plain(json.loads(done.stdout)) == ask(r.whole, ['--leaks', '--sizes'])[1],
         'a damaged keyframe of the base: live blocks are exact', done.stderr)
    done = run('report', '--json', '--allocated', broken)
    answer, expected = json.loads(done.stdout), ask(r.whole, ['--allocated', '--range', f'{r.begin + 1}ns..'])[1]
    case('damaged' in done.stderr and ('error' in answer or answer['total_bytes'] == expected['total_bytes']),
         'what was allocated since the base is exact or refused', f'{done.stderr} {done.stdout[:300]}')


def check_incomplete(r):
    """Without the end of its base a trace has no totals: zeros would be wrong."""
    data = pathlib.Path(r.late).read_bytes()
    part = f'{folder}/part.hlt'
    ends = {kind: at + size for at, kind, size in reversed(list(chunks(r.late)))}  # of the first of each kind
    for n in (ends['LIVESET'] - 8, ends['KEYFRAME'] - 8):
        pathlib.Path(part).write_bytes(data[:n])
        info = json.loads(run('info', '--json', part).stdout)
        case(set(info['totals'].values()) == {None} and 'its base is not complete' in info['damage']['text'],
             f'the first {n} bytes, with a part of the base', info)
    case('not known' in run('info', part).stdout, 'the same as text')


def check_formats(r):
    """Lists of single blocks begin with those of the base, and have the ids of the whole run."""
    ids = {line.split()[6][1:] for line in lines(dump_trace, r.late) if line.startswith('alloc')}
    out = f'{folder}/blocks.csv'
    done = run('export', '-f', 'csv', '-o', out, r.late)
    rows = open(out).read().splitlines()[1:] if done.returncode == 0 else []
    case({row.split(',')[0] for row in rows} == ids, 'csv has every block of the file by its id', done.stderr)
    for kind in ('json', 'heaptrack', 'pprof', 'html', 'collapsed', 'massif', 'dhat'):
        done = run('export', '-f', kind, '-o', f'{folder}/export.{kind}', r.late)
        case(done.returncode == 0, f'export -f {kind}', done.stderr)
    back = f'{folder}/back.hlt'
    done = run('import', '-o', back, f'{folder}/export.heaptrack')
    case(done.returncode == 0 and ask(back, ['--leaks', '--sizes'])[1]['total_bytes'] ==
         ask(r.late, ['--leaks', '--sizes'])[1]['total_bytes'], 'a heaptrack file of it has the same live bytes', done.stderr)


def check_threads():
    """A file that is large enough to be decoded in several threads has the same answers with one CPU."""
    trace = f'{folder}/large.hlt'
    subprocess.run([gen_trace, '-n', '3000000', '--live', '20000', '--base', '500000', '-o', trace], check=True, stderr=subprocess.DEVNULL)
    case(os.path.getsize(trace) > 2 << 20, 'the large trace is decoded in several threads')
    for args in (['--sites'], ['--filter', 'size:>=64', '--timeline'], ['--lifetimes']):
        answers = []
        for cpus in ({min(os.sched_getaffinity(0))}, os.sched_getaffinity(0)):
            done = subprocess.run([heaplapse, 'report', '--json', *args, trace], capture_output=True, text=True,
                                  preexec_fn=lambda: os.sched_setaffinity(0, cpus))
            answers.append((done.returncode, done.stdout))
        case(answers[0][0] == 0 and answers[0] == answers[1], f'{args}: the same with one CPU', done.stderr)


rng = random.Random(20261118)
with tempfile.TemporaryDirectory() as folder:
    runs = [Run(1, '--live', '300', '--nodes', '200'), Run(2, '--live', '3000', '--nodes', '1000', '--free-stacks'),
            Run(3, '--live', '50', '--nodes', '30', '--threads', '1'), Run(4, '--live', '20000', '--nodes', '300')]
    for each in runs:
        compare_queries(tool, each, n_queries // len(runs), ' '.join(each.options))
    compare_dump(runs[1])
    compare_slices(runs[1])
    check_info(runs[0])
    check_since(runs[0])
    check_refusals(runs[0])
    check_peak()
    check_formats(runs[1])
    check_damage(runs[1])
    check_incomplete(runs[1])
    check_threads()
finish()
