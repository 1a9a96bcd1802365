#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""late_answers_test - what the answers about a trace that begins late say: text, JSON, exports, --explain and refusals
agree with each other, and no sentence is about the run if it is true only of the file.

The run is written twice, as a whole and late, with a base behind its peak.

	late_answers_test.py HEAPLAPSE GEN_TRACE DUMP_TRACE DIRECTORY_OF_DECODE.PY
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from late_traces import Tool, lines  # noqa: E402
from tap import case, finish  # noqa: E402

heaplapse, gen_trace, dump_trace, docs = map(os.path.abspath, sys.argv[1:5])
sys.path.insert(0, docs)
import decode  # noqa: E402
EVENTS = 20000
STEP, LIVESET = 31, 5  # a column and a type of chunk, docs/trace-format.md
run = Tool(heaplapse).run


def report(*args, trace=None):
    done = run('report', *args, trace or late)
    return done.returncode, done.stdout, done.stderr


def answer(*args, trace=None):
    code, text, why = report('--json', *args, trace=trace)
    case(code == 0, f'{" ".join(args)} is answered', why)
    return json.loads(text)


def export(kind, *args):
    out = f'{folder}/export.{kind}'
    done = run('export', '-f', kind, '-o', out, *args, late)
    case(done.returncode == 0, f'export -f {kind} {" ".join(args)}', done.stderr)
    return pathlib.Path(out).read_text() if done.returncode == 0 else '{}', done.stderr


def find_base():
    """The peak of the run, and an event behind it at which a base can be."""
    events = [line.split() for line in lines(dump_trace, whole)]
    live = peak = at = 0
    for i, fields in enumerate(events):
        live += int(fields[5]) * (1 if fields[0] == 'alloc' else -1)
        if live > peak:
            peak, at = live, i
    base = max(at + 2, EVENTS // 2)
    while events[base - 1][1] == events[base][1] or 'moved' in events[base]:
        base += 1
    return peak, int(events[at][1]), base, events


# --- tests ---

def timeline():
    """The text and the JSON of a timeline say where it begins, and that the peak is not in it."""
    json_ = answer('--timeline')
    highest = max(column['max_live_bytes'] for column in json_['columns'])
    case((json_['peak_bytes'], json_['peak_time_ns']) == (peak, peak_ns) and highest < peak and not json_['peak_in_range'],
         'JSON: the peak of the run is not in the columns', f'{highest} {peak} {json_["peak_in_range"]}')
    text = report('--timeline', '--bytes')[1]
    title = text.splitlines()[0]
    case(title.startswith('live bytes from ') and title.endswith(f'at most {highest:,} B'), 'the title has the part that is shown', title)
    case(f'the peak, {peak:,} B, is before the part that is in the file' in text, 'the text names the peak', text)
    case('^ highest in the part that is in the file' in text, 'the highest column is that of the part', text)
    json_ = answer('--timeline', '--range', f'{(begin + end) // 2}ns..')
    case(not json_['peak_in_range'], 'a range after the base')
    text = report('--timeline', '--range', f'{(begin + end) // 2}ns..')[1]
    case(', is before the range, at ' in text and 'highest in the range' in text, 'its text', text)
    text = report()[1]
    case('^ highest shown' in text and '^ peak' not in text, 'the plot of the overview does not have the peak', text)
    case('^ peak' in report(trace=whole)[1], 'that of the whole run has it')
    case(answer('--timeline', '--filter', 'size:>=1')['peak_in_range'], 'the peak of a filter is in it')
    case(answer('--timeline', trace=whole)['peak_in_range'], 'the whole run has its peak')


def filter_check():
    """The check of a filter without blocks counts those of the base, too."""
    allocs = {fields[6]: fields for fields in events if fields[0] == 'alloc'}
    freed = {fields[6] for fields in events[:base] if fields[0] == 'free'}
    old = next(fields for block, fields in allocs.items() if int(fields[1]) < begin and block not in freed and
               not any(f[4] == fields[4] for f in events[base:] if f[0] == 'alloc'))
    term = f'addr:{old[4]}..0x{int(old[4], 16) + 1:x}'
    case(answer('--at', f'{begin}ns', '--filter', term)['total_blocks'] == 1, f'{term} matches a block of the base')
    why = report('--at', f'{begin}ns', '--filter', f'{term} size:{int(old[5]) + 1}')[2]
    case('matches addr' not in why and 'no block in this file matches all of them' in why, 'its term is not said to match none', why)
    found = answer('--at', f'{begin}ns', '--filter', f'{term} size:>=1T')
    case(found.get('matches_no_block') == 'size:>=1T', 'the term that matches none is named', found)
    case(answer('--at', f'{begin}ns', '--filter', f'alive:{begin}ns size:>=1T').get('matches_no_block') == 'size:>=1T', 'alive: as well')


def curves():
    """Curves of other viewers begin at the base, and exports without the peak of the run say so."""
    text, why = export('chrome')
    points = [(e['ts'] * 1000, e['args']['bytes']) for e in json.loads(text)['traceEvents'] if e['name'] == 'live heap']
    case(points and min(points)[0] >= begin - 1 and all(bytes_ > 0 for _, bytes_ in points) and points[-1][1] == left,
         'chrome: no value before the base', points[:3])
    case('the peak of the run, ' in why and 'is not in the output' in why, 'chrome: a note about the peak', why)
    text, why = export('firefox')
    samples = next(c for c in json.loads(text)['counters'] if c['name'] == 'live heap')['samples']
    case(samples['time'][0] * 1e6 >= begin - 1e3 and sum(samples['count']) == left, 'firefox: no value before the base', samples['time'][:3])
    text, why = export('dhat')
    found = json.loads(text)
    case(found['tg'] * 1000 >= begin - 1000 and sum(p['gb'] for p in found['pps']) < peak, 'dhat: the maximum is that since the base')
    case('the peak of the run, ' in why and 'is not in the output' in why, 'dhat: a note about the peak', why)
    case('peak' not in export('dhat', '--filter', 'size:>=1')[1], 'dhat with a filter has no peak of the run')


def chains():
    """Filters about realloc chains may match other blocks than in the run: a note says so."""
    for term in 'chain-position:2', 'chain-length:>=2', 'chain-first:<1K', 'chain-life:>1ns', f'chain-alive:{end}ns':
        for args in ['--leaks'], ['--timeline'], ['--allocated', '--sizes']:
            why = report(*args, '--filter', term)[2]
            case('realloc chains begin where this trace begins' in why, f'{term}: a note of {args[0]}', why)
    case('chains begin' not in report('--leaks', '--filter', 'chain-last:<1K')[2], 'chain-last: is that of the run')
    case('chains begin' not in report('--leaks', '--filter', 'chain-position:2', trace=whole)[2], 'a whole trace needs no note')
    case('chains begin' in export('csv', '--filter', 'chain-position:2')[1], 'export has the note')
    done = run('slice', '-o', f'{folder}/chains.hlt', '--filter', 'chain-position:2', late)
    case(done.returncode == 0 and 'chains begin' in done.stderr, 'slice has the note', done.stderr)
    case('chains begin' in run('dump', '-n', '1', '--filter', 'chain-position:2', late).stderr, 'dump has the note')


def part_of_base():
    """A file that ends in its base has no answers: zeros, or times of the run, would be wrong."""
    part, data = f'{folder}/part.hlt', pathlib.Path(late).read_bytes()
    blocks, at = next((c, at) for c, at in decode.chunks(data) if c.type == LIVESET)
    pathlib.Path(part).write_bytes(data[:at + blocks.length // 2])
    for args in ([], ['--leaks'], ['--allocated'], ['--at', '@end'], ['--peak'], ['--timeline'], ['--leaks', '--group', 'call'], ['--threads'],
                 ['--allocated', '--sizes'], ['--leaks', '--fragmentation'], ['--peak', '--filter', 'size:>=1']):
        code, text, why = report(*args, trace=part)
        case(code == 3 and 'not known: a part of the file is lost' in why and not text, f'{" ".join(args)} of a part of the base', f'{code} {why} {text}')
        text = report('--explain', *args, trace=part)[1]
        case('is refused: ' in text, f'--explain {" ".join(args)} of a part of the base', text)
    for kind in 'json', 'csv', 'pprof', 'chrome':
        done = run('export', '-f', kind, '-o', f'{folder}/part.out', part)
        case(done.returncode == 3 and 'a part of the file is lost' in done.stderr, f'export -f {kind} of a part of the base', done.stderr)
    why = run('dump', part).stderr
    case('a part of the base is lost (' in why and 'after event' not in why, 'dump of a part of the base', why)


def own_peak():
    """The peak of a filter is that since the base, and every output says so."""
    found = answer('--peak', '--filter', 'size:>=8')
    case((found['peak_of'], found['peak_since_ns']) == ('filter', begin), 'JSON has the base', found)
    text = report('--peak', '--filter', 'size:>=8')[1]
    case(text.startswith('live at the peak of blocks that match the filter, since the base, at '), 'the heading has it', text)
    text = report('--filter', 'size:>=8')[1]
    case(', since the base' in text, 'the heading of the default', text)
    case('peak_since_ns' not in answer('--peak') and 'peak_since_ns' not in answer('--at', '@end', '--filter', 'size:>=8') and
         'peak_since_ns' not in answer('--peak', '--filter', 'size:>=8', trace=whole), 'other answers do not')


def exported_peak():
    """Exports of single blocks have the peak of a filter, as report."""
    found = answer('--peak', '--filter', 'size:>=8')
    listed = json.loads(export('json', '--peak', '--filter', 'size:>=8')[0])
    case((listed['total_bytes'], listed['total_blocks'], listed['to_ns']) == (found['total_bytes'], found['total_blocks'], found['to_ns']) and
         len(listed['allocations']) == found['total_blocks'], 'json --peak --filter', listed['total_bytes'])
    rows = export('csv', '--peak', '--filter', 'size:>=8')[0].splitlines()
    case(len(rows) - 1 == found['total_blocks'], 'csv --peak --filter')
    for kind in 'parquet', 'heaptrack', 'dhat', 'replay':
        done = run('export', '-f', kind, '-o', f'{folder}/peak.{kind}', '--peak', '--filter', 'size:>=8', late)
        case(done.returncode == 0, f'{kind} --peak --filter', done.stderr)
    every, new = json.loads(export('json')[0]), json.loads(export('json', '--allocated')[0])
    case(every.get('with_base') is True and 'with_base' not in new and every['from_ns'] == new['from_ns'] == begin and
         every['total_blocks'] - new['total_blocks'] == sum(a['allocated_ns'] <= begin for a in every['allocations']) > 0,
         'json says whether it has the blocks of the base', every.get('with_base'))


def forge_column(data, number):
    """Overwrites a column of the first chunk of events; the checksums are valid. STEP is needed by no sum."""
    chunk, head = next((c, at) for c, at in decode.chunks(bytes(data)) if number in c.columns)
    directory = 112 + 16 * chunk.n_columns
    at = head + directory
    for d in range(head + 112, head + directory, 16):
        packed = decode.u(data, d + 8, 4)
        if decode.u(data, d, 2) == number:
            data[at:at + packed] = b'\xff' * packed
            data[d + 12:d + 16] = decode.crc32c(data[at:at + packed]).to_bytes(4, 'little')
        at += packed
    crc = decode.crc32c(data[head:head + 12] + bytes(4) + data[head + 16:head + directory])
    data[head + 12:head + 16] = crc.to_bytes(4, 'little')


def explained():
    """--explain refuses what is refused, and nothing else."""
    with_frees = f'{folder}/frees.hlt'
    subprocess.run([*options, '--free-stacks', '--base', str(base), '-o', with_frees], check=True, stderr=subprocess.DEVNULL)
    for trace in late, with_frees:
        for args in (['--fragmentation', '--filter', 'call:malloc'], ['--fragmentation'], ['--fragmentation', '--at', '@peak'],
                     ['--freed-by'], ['--freed-by', '--at', '@peak'], ['--freed-by', '--peak', '--filter', 'size:>=8'], ['--mmaps'],
                     ['--snapshots'], ['--snapshot-deltas'], ['--cumulative-delta'], ['--peak', '--group', 'thread'], ['--timeline'],
                     ['--threads'], ['--sites'], ['--leaks', '--sizes'], ['--peak', '--group', 'thread', '--filter', 'size:>=8'],
                     ['--overview'], ['--overview', '--filter', 'size:>=8'], ['--at', f'{begin}ns', '--group', 'call']):
            plan, done = report('--explain', *args, trace=trace)[1], run('report', *args, trace)
            case(('is refused' in plan) == (done.returncode != 0), f'--explain {" ".join(args)}', f'{plan}{done.returncode} {done.stderr}')
    case('reads nothing: the trace has no snapshots' in report('--explain', '--snapshots')[1], 'no snapshots to read')


def rounded():
    """The time of the base is rounded up everywhere, so that it can be asked for."""
    at = base
    while not 0 < int(events[at - 1][1]) % 100000 < 50000 or events[at - 1][1] == events[at][1] or 'moved' in events[at]:
        at += 1
    trace = f'{folder}/rounded.hlt'
    subprocess.run([*options, '--base', str(at), '-o', trace], check=True, stderr=subprocess.DEVNULL)
    time = re.search(r'begins at (.*?) of the run', run('info', trace).stdout)[1]
    for args in ['--allocated'], ['--timeline']:
        text = report(*args, trace=trace)[1].splitlines()[0]
        case(f' from {time} to ' in text, f'{args[0]} begins at the time of info', f'{time}: {text}')


def contents():
    """info --verify decodes what no sum needs, too."""
    forged = f'{folder}/forged.hlt'
    for trace in whole, late:
        data = bytearray(pathlib.Path(trace).read_bytes())
        forge_column(data, STEP)
        pathlib.Path(forged).write_bytes(data)
        case('a chunk is lost' in run('dump', forged).stderr, 'dump finds the damage')
        found = json.loads(run('info', '--json', '--verify', forged).stdout)
        case(found['damage'] and not found['complete'], 'info --verify finds it', found['damage'])
    case(json.loads(run('info', '--json', '--verify', late).stdout)['damage'] is None, 'the late trace is whole')


with tempfile.TemporaryDirectory() as folder:
    whole, late = f'{folder}/whole.hlt', f'{folder}/late.hlt'
    options = [gen_trace, '-n', str(EVENTS), '--live', '600', '--nodes', '100', '--seed', '1']
    subprocess.run([*options, '-o', whole], check=True, stderr=subprocess.DEVNULL)
    peak, peak_ns, base, events = find_base()
    subprocess.run([*options, '--base', str(base), '-o', late], check=True, stderr=subprocess.DEVNULL)
    begin, end = int(events[base - 1][1]), int(events[-1][1])
    left = answer('--leaks', '--no-default-suppressions')['total_bytes']
    for test in (timeline, filter_check, curves, part_of_base, chains, own_peak, exported_peak, explained, contents,
                 rounded):
        test()
finish()
