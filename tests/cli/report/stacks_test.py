#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""stacks_test - freeing functions, mappings and realloc chains equal those that the program prints
itself (stacks.c).

	stacks_test.py HEAPLAPSE STACKS DECODE_PY
"""
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
from tap import case, finish  # noqa: E402

HEAPLAPSE, STACKS, DECODE = map(os.path.abspath, sys.argv[1:4])
PAGE = 4096
CHURN = 40000  # blocks of 8 bytes, by make_message, freed by across_chunks


def run(*args):
    return subprocess.run([HEAPLAPSE, *args], capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, LC_ALL='C.UTF-8', COLUMNS='100'))


def run_ok(*args):
    done = run(*args)
    if done.returncode:
        case(False, f'{args}: status {done.returncode}', done.stderr)
    return done.stdout


def ask(*args):
    return json.loads(run_ok(*args[:1], '--json', *args[1:]))


def refused(name, words, *args, status=3):
    done = run(*args)
    case(done.returncode == status and words in done.stderr, name, f'{done.returncode} {done.stderr}')


def record(trace, *options):
    return run_ok('record', '-q', '-f', '-o', trace, *options, '--', STACKS)


# --- freeing functions ---

def freed_by(*args):
    answer = ask('report', '--freed-by', *args)
    sites = {s['function']: {(e['ended_by'], e.get('function')): (e['blocks'], e['bytes']) for e in s['freed_by']} for s in answer['sites']}
    for site in answer['sites']:
        whole = sum(e['bytes'] for e in site['freed_by']), sum(e['blocks'] for e in site['freed_by'])
        case(whole == (site['bytes'], site['blocks']), f'{args}: the parts of {site["function"]} are all of it', site)
    case(sum(s['bytes'] for s in answer['sites']) == answer['total_bytes'], f'{args}: the sites are all of it', answer)
    return answer, sites


def check_freed_by():
    answer, sites = freed_by('all.hlt')
    case(answer['total_bytes'] == ask('report', '--allocated', 'all.hlt')['total_bytes'], 'freed-by: all that was allocated')
    case(sites['make_message'] == {('free', 'across_chunks'): (CHURN, 8 * CHURN), ('free', 'drop_here'): (4, 400), ('free', 'drop_elsewhere'): (3, 300),
                                   ('realloc', 'grow'): (1, 100), ('none', None): (2, 200)}, 'freed-by: make_message', sites['make_message'])
    buffers = sites['make_buffer']
    case(buffers[('realloc', 'grow')] == (2, 1321) and buffers[('free', 'drop_here')] == (2, 912), 'freed-by: make_buffer', buffers)
    case(sum(blocks for blocks, _ in buffers.values()) == 5, 'freed-by: realloc(p, 0) is a free', buffers)
    _, sites = freed_by('--filter', 'thread:0 size:100', 'all.hlt')
    case(list(sites) == ['make_message'] and len(sites['make_message']) == 4, 'freed-by: with a filter', sites)
    _, sites = freed_by('--leaks', '--no-default-suppressions', 'all.hlt')
    case(sites['make_message'] == {('none', None): (2, 200)}, 'freed-by: of what is left', sites)
    chosen = '--peak', '--filter', 'fn:make_message size:100', 'all.hlt'
    answer, sites = freed_by(*chosen)
    peak = ask('report', *chosen)
    case([answer.get(k) for k in ('total_bytes', 'to_ns', 'peak_of')] == [peak[k] for k in ('total_bytes', 'to_ns', 'peak_of')] and
         peak['to_ns'] != ask('report', '--peak', 'all.hlt')['to_ns'], 'freed-by: the peak of what fits the filter', f'{answer} {peak["total_bytes"]}')
    text = run_ok('report', '--freed-by', '--min', '0', 'all.hlt')
    case('freed by drop_elsewhere' in text and 'realloc in grow' in text and 'not freed' in text, 'freed-by: as text', text)
    refused('freed-by: a trace without stacks of frees', 'record the program with heaplapse record --free-stacks', 'report', '--freed-by', 'plain.hlt')
    refused('freed-by: mode count', 'has only sums', 'report', '--freed-by', 'count.hlt')
    refused('freed-by: not of pools', '--pool applies to', 'report', '--freed-by', '--pool=*', 'all.hlt', status=2)


# --- mappings ---

def check_mmaps(said):
    answer = ask('report', '--mmaps', 'all.hlt')
    maps = {m['address']: m for m in answer['mmaps'] if not m['flags'].count('fixed')}
    fixed = {m['address']: m for m in answer['mmaps'] if m['flags'].count('fixed')}
    found = {name: (fixed if name in ('over', 'last') else maps)[address] for name, address in said.items()}
    wanted = {
        'whole': (16, 'r--', 'private,anonymous', 0, 0, 0, False), 'parts': (8, 'rw-', 'shared,anonymous', 0, 2, 0, False),
        'moved': (4, 'rw-', 'private,anonymous,noreserve', 0, 0, 1, False), 'under': (10, '---', 'private,anonymous', 5, 1, 0, False),
        'over': (5, 'r-x', 'private,fixed,anonymous', 5, 0, 0, False), 'odd': (1 + 1 / PAGE, 'r--', 'private,anonymous', 0, 0, 0, True),
        'last': (2, 'r--', 'private,fixed,anonymous', 2, 0, 0, False)}
    case(len(answer['mmaps']) == len(said) == answer['mappings'], 'mmaps: each once', answer)
    for name, (size, protection, flags, left, parts, remaps, replaced) in wanted.items():
        m = found[name]
        case((m['size'], m['protection'], m['flags'], m['left_bytes'], m['partial_unmaps'], m['remaps'], m['replaced']) ==
             (size * PAGE, protection, flags, left * PAGE, parts, remaps, replaced), f'mmaps: {name}', m)
        case((m['unmapped_ns'] is None) == (left > 0) and (left or m['lifetime_ns'] == m['unmapped_ns'] - m['mapped_ns']), f'mmaps: {name}: its life', m)
        case(m['stack'][0]['function'] == ('mappings' if name in ('over', 'last') else 'map_whole'), f'mmaps: {name}: its stack', m)
    case(found['whole']['unmapped_by'] != found['whole']['thread'] and found['whole']['unmap_stack'][1]['function'] == 'unmap_in_thread',
         'mmaps: another thread unmaps', found['whole'])
    case(found['moved']['last_size'] == 400 * PAGE and found['moved']['last_address'] != found['moved']['address'], 'mmaps: after mremap', found['moved'])
    case((answer['left_bytes'], answer['peak_bytes']) == (12 * PAGE, 400 * PAGE), 'mmaps: sums', answer)
    for expr, names in ('size:32K', {'parts'}), ('alive:end', {'under', 'over', 'last'}), ('fn:map_whole -alive:end size:>=16K', {'whole', 'parts', 'moved'}), \
            ('call:mmap size:>64K', set()):
        chosen = {m['address'] for m in ask('report', '--mmaps', '--filter', expr, 'all.hlt')['mmaps']}
        case(chosen == {said[n] for n in names}, f'mmaps: {expr}', chosen)
    text = run_ok('report', '--mmaps', '-n', '2', '--full-stacks', 'all.hlt')
    case('64.0 KiB' in text and 'unmap_in_thread' in text and 'partly unmapped, 20.0 KiB left' in text and '5 mappings more' in text, 'mmaps: as text', text)
    refused('mmaps: a trace without them', 'record the program with heaplapse record --mmap', 'report', '--mmaps', 'plain.hlt')
    refused('mmaps: not of a moment', 'use --filter with', 'report', '--mmaps', '--peak', 'all.hlt', status=2)


# --- chains ---

def check_chains():
    def total(expr):
        answer = ask('report', '--allocated', '--filter', expr, 'all.hlt')
        return answer['total_blocks'], answer['total_bytes']
    case(total('chain-length:5') == (5, 24 + 5000 + 200 + 64000 + 70000), 'chains: five blocks, in two threads', total('chain-length:5'))
    case(total('chain-length:5 chain-position:1') == (1, 24) and total('chain-length:5 chain-position:last') == (1, 70000), 'chains: the first and the last')
    case(total('chain-first:1000 chain-last:3500') == (3, 6500) and total('chain-length:3 chain-alive:end') == (3, 6500), 'chains: one that is kept')
    case(total('chain-first:777') == (1, 777) and total('chain-first:888') == (1, 888), 'chains: realloc to 0, and one that fails')
    case(total('chain-first:321') == (2, 975), 'chains: across chunks')
    case(total('chain-length:1 size:8') == (CHURN, 8 * CHURN), 'chains: blocks that are alone')
    long = [line for line in run_ok('dump', '--long', '--filter', 'chain-length:5', 'all.hlt').splitlines() if line[0] != '#']
    case(len(long) == 10 and all(' chain-first=24 chain-last=70000 chain-lived=' in line for line in long), 'chains: in dump', long)
    lived = sum(int(line.split(' lived=')[1].split()[0]) for line in long if line.startswith('free'))
    case(f'chain-lived={lived}' in long[0], 'chains: a chain lives as long as its blocks', long)
    refused('chains: mode count', 'has only sums', 'report', '--filter', 'chain-length:2', 'count.hlt')
    refused('chains: samples', 'record with --mode=trace', 'report', '--filter', 'chain-length:2', 'sample.hlt')


def check_exports():
    run_ok('export', '-f', 'json', '-o', 'all.json', 'all.hlt')
    run_ok('export', '-f', 'csv', '-o', 'all.csv', 'all.hlt')
    with open('all.json') as f:
        doc = json.load(f)
    blocks = [b for b in doc['allocations'] if b['chain_length'] == 5]
    case(sorted(b['chain_position'] for b in blocks) == [1, 2, 3, 4, 5] and {b['chain_first_size'] for b in blocks} == {24}, 'export: chains', blocks)
    stacks = {s['stack'] for s in doc['stacks']}
    case(all(b['freed_stack'] in stacks for b in doc['allocations'] if b['freed_stack'] is not None), 'export: stacks of frees are there')
    case(sum(b['freed_stack'] is not None for b in doc['allocations']) >= CHURN, 'export: frees have stacks')
    case(len(doc['mmaps']) == 7 and all(m['stack'] in stacks for m in doc['mmaps']), 'export: mappings', doc['mmaps'])
    with open('all.csv') as f:
        rows = list(csv.DictReader(f))
    keys = 'freed_stack', 'chain_length', 'chain_position', 'chain_first_size', 'chain_last_size', 'chain_lifetime_ns'
    same = [tuple('' if b[k] is None else str(b[k]) for k in keys) for b in doc['allocations']]
    case([tuple(r[k] for k in keys) for r in rows] == same, 'export: csv has what json has')
    small = json.loads(run_ok('export', '-f', 'json', '-o', '-', '--filter', 'size:5000', 'all.hlt'))
    stacks = {s['stack'] for s in small['stacks']}
    case([b['freed_stack'] in stacks for b in small['allocations']] == [True], 'export: with a filter the stack of the free is there', small['allocations'])
    plain = json.loads(run_ok('export', '-f', 'json', '-o', '-', '--filter', 'size:5000', 'plain.hlt'))
    case(plain['mmaps'] is None, 'export: no mappings without --mmap')


# --- dump ---

def check_dump():
    decoded = subprocess.run([sys.executable, DECODE, 'all.hlt'], capture_output=True, text=True, timeout=120).stdout
    case(run_ok('dump', 'all.hlt') == decoded, 'dump: its lines are those of the format')
    doc = ask('dump', 'all.hlt')
    lines = decoded.splitlines()
    case(len(doc['events']) == len(lines) and doc['complete'], 'dump: as JSON', len(doc['events']))
    born, wrong = {}, []
    for e, line in zip(doc['events'], lines):
        words = line.split()
        if words[0] not in ('alloc', 'free'):
            continue
        same = (e['event'], e['time_ns'], e['address'], e['size'], f'#{e["id"]}') == (words[0], int(words[1]), words[4], int(words[5]), words[6])
        if words[0] == 'alloc':
            born[e['id']] = e['time_ns']
        elif e['lifetime_ns'] != e['time_ns'] - born[e['id']]:
            same = False
        wrong += [] if same else [line]
    case(not wrong, 'dump: JSON and lines agree, and lifetimes are exact', wrong[:3])
    short = [e['id'] for e in ask('dump', '--filter', 'life:<1us op:alloc', 'all.hlt')['events']]
    frees = [e['id'] for e in ask('dump', '--filter', 'life:<1us op:free', 'all.hlt')['events']]
    case(sorted(short) == sorted(frees) and len(short) > 1000, 'dump: life: holds for allocations, too', (len(short), len(frees)))
    case(run_ok('dump', '--filter', 'op=free size>=64000 func=free', 'all.hlt') == run_ok('dump', '--filter', 'op:free size:>=64000 call:free', 'all.hlt') != '',
         'dump: the older form of filters')
    events = ask('dump', '--stacks', '--filter', 'size:70000', 'all.hlt')['events']
    case([e['frames'][1]['function'] for e in events] == ['grow_in_thread'] * 2 and events[1]['freed_frames'][0]['function'] == 'drop_here',
         'dump: stacks', events)
    text = run_ok('dump', '--stacks', '--filter', 'size:70000 op:free', 'all.hlt').splitlines()
    case(text[0].startswith('# ') and any(l.startswith('free ') for l in text) and '      freed by' in text and any('drop_here' in l for l in text), 'dump: stacks as text', text)
    text = run_ok('dump', '--long', '--filter', 'call:mmap,munmap,mremap', 'all.hlt')
    case('prot=rw- flags=shared,anonymous' in text and f'from-size={4 * PAGE}' in text, 'dump: flags of mmap', text)


# --- slices ---

def check_slices():
    run_ok('slice', '-q', '-o', 'part.hlt', '--filter', 'size:100', 'all.hlt')
    _, sites = freed_by('part.hlt')
    case(sites['make_message'][('realloc', 'grow')] == (1, 100) and len(sites['make_message']) == 4, 'slices: freed-by without the next block of a chain', sites)
    refused('slices: chains by a filter', 'removed blocks of chains', 'report', '--filter', 'chain-length:2', 'part.hlt')
    run_ok('slice', '-q', '-o', 'range.hlt', '--range', '0s..', 'all.hlt')
    case(ask('report', '--allocated', '--filter', 'chain-length:5', 'range.hlt')['total_blocks'] == 5, 'slices: chains by a range')
    refused('slices: a filter by chains that are not known', 'has only sums', 'slice', '-o', 'new.hlt', '--filter', 'chain-length:2', 'count.hlt')
    run_ok('slice', '-q', '-o', 'none.hlt', '--filter', 'fn:no_such_function', 'all.hlt')
    done = run('report', '--mmaps', 'none.hlt')
    case(done.returncode == 0 and 'mappings: 7' in done.stdout and 'no allocation' not in done.stderr, 'mmaps: without an allocation', done.stderr)
    case(', 0 heap events; ' in run_ok('dump', '--long', 'none.hlt'), 'dump: the header counts events of the heap')
    run_ok('record', '-q', '-o', 'many.hlt', '--mmap', '--', sys.executable, '-c', 'import mmap; kept = [mmap.mmap(-1, 4096) for _ in range(1100)]')
    text = run_ok('report', '--mmaps', '-n', '1', 'many.hlt')
    case(re.search(r'  and 1,\d\d\d mappings more', text), 'mmaps: a large number of those left out', text)
    for term in 'alive', 'chain-alive':
        refused(f'{term}: after the end', f"the filter's {term}: is 356400.000 s, after the end of the recording", 'report', '--filter', f'{term}:99h', 'all.hlt', status=2)
    refused('a term that there is not', 'group-peak; dump also has op', 'report', '--filter', 'nothing:1', 'all.hlt', status=2)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    said = dict(line.split() for line in record('all.hlt', '--free-stacks', '--mmap').splitlines())
    record('plain.hlt')
    record('count.hlt', '--mode=count', '--free-stacks')
    record('sample.hlt', '--mode=sample=4K')
    check_freed_by()
    check_mmaps(said)
    check_chains()
    check_exports()
    check_dump()
    check_slices()
    os.chdir('/')
finish()
