#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""filtered_test - filtered timelines and peaks equal those computed from a full decode of the trace
by docs/decode.py.

	filtered_test.py HEAPLAPSE GEN_TRACE DECODE_PY
"""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
from tap import case, finish  # noqa: E402

heaplapse, gen_trace, decode_py = map(os.path.abspath, sys.argv[1:4])
FILTERS = 200
COLUMNS = 200
EVENT = re.compile(r'(alloc|free) (\d+) t(\d+) (\S+) 0x([0-9a-f]+) (\d+) #(\d+) (?:n(\d+)|-) ')


def run(*arguments, status=0):
    done = subprocess.run([heaplapse, *arguments], capture_output=True, text=True, timeout=120, env=dict(os.environ, LC_ALL='C'))
    assert done.returncode == status, f'{arguments}: {done.returncode}\n{done.stderr}'
    return done


class Block:
    def __init__(self, time, thread, call, address, size, stack):
        self.born, self.thread, self.call, self.address, self.size, self.stack = time, thread, call, address, size, stack
        self.died = None

    def life(self):
        return float('inf') if self.died is None else self.died - self.born


def decode(trace):
    """The blocks by ordinal, and the events as (time, ordinal, +size or -size)."""
    text = subprocess.run([sys.executable, decode_py, trace], capture_output=True, text=True, check=True).stdout
    blocks, events = {}, []
    for op, time, thread, call, address, size, ordinal, stack in EVENT.findall(text):
        time, size, ordinal = int(time), int(size), int(ordinal)
        if op == 'alloc':
            blocks[ordinal] = Block(time, int(thread), call, int(address, 16), size, int(stack) if stack else None)
        else:
            blocks[ordinal].died = time
            size = -size
        events.append((time, ordinal, size))
    return blocks, events


def stacks_of(trace):
    """The set of function names of each stack, by the stack's number."""
    doc = json.loads(run('export', '-f', 'json', trace).stdout)
    names = {}
    for stack in doc['stacks']:
        names[stack['stack']] = names.get(stack['parent'], set()) | {doc['frames'][f]['function'] for f in stack['frames']}
    return names


def random_filter(rng, blocks, stacks, end):
    """A random filter expression, and the equivalent predicate on a block."""
    some = rng.choice(list(blocks.values()))
    name = rng.choice(sorted(stacks[rng.choice(sorted(stacks))]))
    low, high = sorted((rng.randrange(1, 400), rng.randrange(1, 20000)))
    since, until = sorted((rng.randrange(end), rng.randrange(end)))
    life, at = rng.randrange(1, end), rng.randrange(end)
    terms = [
        (f'size:{low}..{high}', lambda b: low <= b.size <= high),
        (f'size:>={low}', lambda b: b.size >= low),
        (f'-size:<{low}', lambda b: b.size >= low),
        (f'thread:{some.thread}', lambda b: b.thread == some.thread),
        (f'call:{some.call}', lambda b: b.call == some.call),
        (f'time:{since}ns..{until}ns', lambda b: since <= b.born <= until),
        (f'life:<{life}ns', lambda b: b.life() < life),
        (f'life:>={life}ns', lambda b: b.life() >= life),
        (f'alive:{at}ns', lambda b: b.born <= at and (b.died is None or b.died > at)),
        ('-alive:end', lambda b: b.died is not None),
        (f'fn:{name}', lambda b: any(name in f for f in stacks.get(b.stack, ()))),
        (f'-fn:{name}', lambda b: not any(name in f for f in stacks.get(b.stack, ()))),
        (f'addr:0x{some.address:x}..0x{some.address + (1 << 16):x}', lambda b: some.address <= b.address <= some.address + (1 << 16)),
    ]
    chosen = rng.sample(terms, rng.choice((1, 1, 2)))
    return ' '.join(text for text, _ in chosen), lambda b: all(fits(b) for _, fits in chosen)


def timeline_of(blocks, events, fits, end):
    """[(maximum, value at the end) of each column], and the first overall maximum as (bytes, time)."""
    selected = {ordinal for ordinal, block in blocks.items() if fits(block)}
    columns, live, i, peak = [], 0, 0, (0, 0)
    for column in range(COLUMNS):
        most = live
        while i < len(events) and events[i][0] * COLUMNS <= end * (column + 1):
            time, ordinal, size = events[i]
            i += 1
            if ordinal not in selected:
                continue
            live += size
            most = max(most, live)
            if live > peak[0]:
                peak = live, time
        columns.append((most, live))
    return columns, peak


def check_filter(trace, text, columns, peak):
    timeline = json.loads(run('report', '--json', '--timeline', '--filter', text, trace).stdout)
    got = [(c['max_live_bytes'], c['end_live_bytes']) for c in timeline['columns']]
    wrong = next((i for i in range(COLUMNS) if got[i] != columns[i]), None)
    if wrong is not None:
        return f'--timeline: column {wrong} has {got[wrong]}, not {columns[wrong]}'
    if (timeline['peak_bytes'], timeline['peak_time_ns']) != (peak[0], peak[1]):
        return f'--timeline: peak {timeline["peak_bytes"]} at {timeline["peak_time_ns"]}, not {peak}'
    answer = json.loads(run('report', '--json', '--peak', '--group=thread', '--filter', text, trace).stdout)
    if (answer['total_bytes'], answer['to_ns'], answer['peak_of']) != (peak[0], peak[1], 'filter'):
        return f'--peak: {answer["total_bytes"]} at {answer["to_ns"]}, not {peak}'
    return None


def check_texts(trace, columns, peak):
    """The same peak in text output and in exports."""
    text = 'size:>=300'
    plot = run('report', '--bytes', '--timeline', '--filter', text, trace).stdout
    case(re.search(r'at most ([\d,]+) B', plot).group(1).replace(',', '') == str(peak[0]), 'the plot: at most', plot[:200])
    tree = run('report', '--bytes', '--peak', '--filter', text, trace).stdout.splitlines()[0]
    case(tree.startswith('live at the peak of blocks that match the filter, at ') and f': {peak[0]:,} B in ' in tree, 'the tree says whose peak it is', tree)
    heap = run('report', '--bytes', '--at', '@peak', '--filter', text, trace).stdout.splitlines()[0]
    case(heap.startswith('live at the peak of the whole heap, at '), '--at @peak is that of the whole heap', heap)
    whole = json.loads(run('report', '--json', '--peak', trace).stdout)
    at_heap = json.loads(run('report', '--json', '--at', '@peak', '--filter', text, trace).stdout)
    case(at_heap['to_ns'] == whole['to_ns'] and at_heap['peak_of'] == 'heap' and at_heap['total_bytes'] <= peak[0],
         '--at @peak is at the time of --peak without a filter', at_heap)
    massif = run('export', '-f', 'massif', '--filter', text, trace).stdout
    case(re.search(r'mem_heap_B=(\d+)\nmem_heap_extra_B=\d+\nmem_stacks_B=\d+\nheap_tree=peak', massif).group(1) == str(peak[0]), 'massif', massif[-300:])
    chrome = json.loads(run('export', '-f', 'chrome', '--filter', text, trace).stdout)
    most = max(value for e in chrome['traceEvents'] if e['ph'] == 'C' and e['name'].startswith('live heap') for value in e['args'].values())
    case(most == peak[0], 'chrome', most)
    page = run('export', '-f', 'html', '--filter', text, trace).stdout
    case('live at the peak of blocks that match the filter' in page, 'html')
    collapsed = run('export', '-f', 'collapsed', '--peak', '--filter', text, trace).stdout
    case(sum(int(line.rsplit(' ', 1)[1]) for line in collapsed.splitlines()) == peak[0], 'collapsed')


def check_damaged(trace, folder):
    data = bytearray(pathlib.Path(trace).read_bytes())
    middle = len(data) // 2
    data[middle:middle + 8] = bytes(byte ^ 0x5a for byte in data[middle:middle + 8])
    damaged = f'{folder}/damaged.hlt'
    pathlib.Path(damaged).write_bytes(data)
    done = subprocess.run([heaplapse, 'report', '--json', '--filter', 'size:>=300', '--strict', damaged], capture_output=True, text=True)
    case(done.returncode != 0 and 'showing the highest value before the loss' in done.stderr, 'a loss is said', done.stderr)
    done = subprocess.run([heaplapse, 'report', '--json', '--timeline', '--filter', 'size:>=300', damaged], capture_output=True, text=True)
    lost = [i for i, column in enumerate(json.loads(done.stdout)['columns']) if column.get('lost')]
    case(lost and lost == list(range(lost[0], COLUMNS)), 'columns behind a loss are lost', lost)
    case(json.loads(done.stdout).get('peak_moved') is True and 'showing the highest value before the loss' in done.stderr, 'a timeline says that its peak is not known', done.stderr)
    for view in [], ['--sizes', '--peak']:
        done = subprocess.run([heaplapse, 'report', '--timeline', *view, '--filter', 'size:>=300', '--strict', damaged], capture_output=True, text=True)
        case(done.returncode == 4 and done.stderr.count('showing the highest value before the loss') == 1, f'a timeline {view} says it once', f'{done.returncode} {done.stderr}')
        case(re.search('at most .* in the readable part\n', done.stdout) and '^ highest in the readable part' in done.stdout, f'a plot {view} of what can be read', done.stdout)
    whole = json.loads(run('report', '--json', '--timeline', '--filter', 'size:>=300', trace).stdout)
    case('peak_moved' not in whole and 'can be read' not in run('report', '--timeline', '--filter', 'size:>=300', trace).stdout, 'a whole trace has its peak')


with tempfile.TemporaryDirectory() as folder:
    trace = f'{folder}/t.hlt'
    subprocess.run([gen_trace, '--events=20000', '--nodes=60', '--live=400', '--strange', '-o', trace], check=True, stdout=subprocess.DEVNULL)
    blocks, events = decode(trace)
    stacks = stacks_of(trace)
    end = json.loads(run('report', '--json', '--timeline', trace).stdout)['duration_ns']
    rng, whys, fitting = random.Random(1), [], 0
    for _ in range(FILTERS):
        text, fits = random_filter(rng, blocks, stacks, end)
        columns, peak = timeline_of(blocks, events, fits, end)
        why = check_filter(trace, text, columns, peak)
        whys += [f'{text}: {why}'] if why else []
        fitting += peak[0] > 0
    case(not whys and fitting > FILTERS / 2, f'{FILTERS} random filters, {fitting} of which select something', '\n'.join(whys[:5]))
    check_texts(trace, *timeline_of(blocks, events, lambda b: b.size >= 300, end))
    check_damaged(trace, folder)
finish()
