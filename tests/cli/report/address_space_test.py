#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""address_space_test - report --address-space against the blocks and the mappings of traces whose contents are known.

	address_space_test.py HEAPLAPSE MKTRACE GEN-TRACE
"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
import tap  # noqa: E402

heaplapse, mktrace, gen = map(os.path.abspath, sys.argv[1:4])
ENV = dict(os.environ, LC_ALL='C.UTF-8')
MIB = 1 << 20

# Mappings 1000-3000 and 10000-20000, and one that is far away. Blocks: two in the first, one of 0 bytes and one that
# reaches behind the end of the second, two in no mapping, of which the second is far from the first.
KNOWN = '''module /bin/app -
node - 0 1000
thread 1
map 1000 2 rw-p 0,0,0,8,0,0 [heap]
map 10000 16 rw-p 0,0,0,64,0,0 -
map 7f0000000000 1 r-xp 0,0,0,4,0,0 /lib/libc.so.6
maps 64 0
alloc 64 0 256 0 0 1100
alloc 64 0 100 0 0 1f00
alloc 64 0 0 0 0 10000
alloc 64 0 8192 0 0 1f000
alloc 64 0 64 0 0 30000
alloc 64 0 32 0 0 30100
alloc 64 0 16 0 0 900000
end 0 0 640
'''


def run(*args):
    return subprocess.run([heaplapse, 'report', *map(str, args)], capture_output=True, env=ENV)


def ask(*args):
    done = run('--json', '--address-space', *args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def known(tmp):
    trace = f'{tmp}/known.hlt'
    subprocess.run([mktrace, trace], input=KNOWN.encode(), check=True)
    a = ask('--leaks', trace)
    rows = [(r['start'], r['end'], r['name'], r['permissions'], r['all_live_bytes'], r['all_live_blocks'], r['free_bytes'], r['largest_gap_bytes'], r['cluster']) for r in a['ranges']]
    wanted = [('0x1000', '0x3000', '[heap]', 'rw-p', 356, 2, 0x2000 - 356, 0x3000 - 0x1f00 - 100, 1),
              ('0x10000', '0x20000', '', 'rw-p', 8192, 2, 0xf000, 0xf000, 1),
              ('0x30000', '0x30120', None, None, 96, 2, 0x100 - 64, 0x100 - 64, 1),
              ('0x900000', '0x900010', None, None, 16, 1, 0, 0, 1),
              ('0x7f0000000000', '0x7f0000001000', '/lib/libc.so.6', 'r-xp', 0, 0, None, None, 2)]
    tap.case(rows == wanted, 'rows', rows)
    tap.case([r['gap_before'] for r in a['ranges']] == [0, 0xd000, 0x10000, 0x900000 - 0x30120, 0x7f0000000000 - 0x900010], 'gaps between rows', a)
    tap.case(a['ranges'][0]['resident'] == 8192 and a['ranges'][0]['dirty'] == 8192 and a['ranges'][2]['resident'] is None, 'resident memory', a['ranges'])
    tap.case(a['ranges'][0]['fill'] == {'step': 4096, 'bytes': [356, 0]} and a['ranges'][4]['fill'] is None, 'fill', a['ranges'])
    tap.case((a['outside_blocks'], a['clusters'], a['live_blocks'], a['live_bytes'], a['sample_ns']) == (3, 2, 7, 8660, 64), 'totals', a)
    some = ask('--leaks', '--filter', 'size:100', trace)
    tap.case(some['live_blocks'] == 1 and [r['free_bytes'] for r in some['ranges']] == [r['free_bytes'] for r in a['ranges']] and
             [r['live_bytes'] for r in some['ranges']] == [100, 0, 0, 0, 0], 'a filter selects only what is live', some)
    text = run('--address-space', '--leaks', trace).stdout.decode()
    tap.case('[heap]' in text and 'libc.so.6' not in text and 'and 1 row more' in text, 'text has the rows with blocks', text)
    text = run('--address-space', '--leaks', '-n', '0', trace).stdout.decode()
    tap.case('libc.so.6' in text and '...' in text, '-n 0 has all rows', text)


def check(what, a, blocks, maps):
    """Compares with a plain walk over the sorted blocks."""
    rows = {}
    regions = []
    for address, size in sorted(blocks):
        row = next((m for m in maps if m[0] <= address < m[1]), None)
        if row is None:
            if not regions or address - regions[-1][1] >= MIB or any(regions[-1][0] < m[0] <= address for m in maps):
                regions.append([address, address])
            row = tuple(regions[-1][:1])
            regions[-1][1] = max(regions[-1][1], address + size)
        rows.setdefault(row[0], []).append((address, size))
    ends = {**{m[0]: m[1] for m in maps}, **dict(regions)}
    wrong = []
    for r in a['ranges']:
        start, end = int(r['start'], 16), int(r['end'], 16)
        mine = rows.pop(start, [])
        at, free, gap = start, 0, 0
        for address, size in mine:
            gap = max(gap, address - at)
            free += max(0, address - at)
            at = max(at, address + size)
        free += max(0, end - at)
        gap = max(gap, end - at)
        if (ends[start], sum(s for _, s in mine), len(mine)) != (end, r['all_live_bytes'], r['all_live_blocks']) or \
                mine and (free, gap) != (r['free_bytes'], r['largest_gap_bytes']) or \
                mine and end - start > 0 and len(r['fill']['bytes']) not in ((end - start + r['fill']['step'] - 1) // r['fill']['step'], 64):
            wrong.append((r, ends[start], len(mine), free, gap))
    tap.case(not wrong and not rows, f'{what}: {len(a["ranges"])} rows', f'{wrong[:2]} {list(rows)[:3]}')


def generated(tmp):
    trace = f'{tmp}/gen.hlt'
    subprocess.run([gen, '-n', '100000', '-o', trace], check=True, stderr=subprocess.DEVNULL)
    listed = subprocess.run([heaplapse, 'export', '-f', 'csv', '-o', '-', trace], capture_output=True, env=ENV, check=True).stdout.decode()
    listed = list(csv.DictReader(listed.splitlines()))
    for percent in 30, 100:
        a = ask('--at', f'{percent}%', trace)
        at = a['time_ns']
        blocks = [(int(b['address'], 16), int(b['size'])) for b in listed if int(b['allocated_ns']) <= at and (not b['freed_ns'] or int(b['freed_ns']) > at)]
        tap.case(len(blocks) == a['all_live_blocks'] > 1000, f'{percent} %: blocks', (len(blocks), a['all_live_blocks']))
        check(f'{percent} %', a, blocks, [])


def recorded(tmp):
    """A program with mappings of many kinds; the kernel's list is that of the recording itself."""
    trace = f'{tmp}/recorded.hlt'
    program = 'import time; x = [bytes(1000 * i) for i in range(300)]; time.sleep(0.2); del x[::2]; time.sleep(0.1)'
    subprocess.run([heaplapse, 'record', '-q', '--mmap', '-o', trace, '--', '/usr/bin/python3', '-c', program], check=True, env=ENV)
    a = ask('--leaks', trace)
    maps = [(int(m['address'], 16), int(m['address'], 16) + m['size']) for m in json.loads(run('--json', '--resident', '--leaks', trace).stdout)['mappings']]
    listed = subprocess.run([heaplapse, 'export', '-f', 'csv', '-o', '-', trace], capture_output=True, env=ENV, check=True).stdout.decode()
    blocks = [(int(b['address'], 16), int(b['size'])) for b in csv.DictReader(listed.splitlines()) if not b['freed_ns']]
    check('recorded', a, blocks, maps)
    tap.case(a['sample_ns'] is not None and any(r['name'] == '[heap]' and r['live_blocks'] for r in a['ranges']), 'the heap has blocks', a['ranges'][:3])


with tempfile.TemporaryDirectory() as tmp:
    known(tmp)
    generated(tmp)
    recorded(tmp)
tap.finish()
