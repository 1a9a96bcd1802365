#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""statics_test - the commands of docs/migrating.md for memory that objects with static storage allocate, and for one mapping.

	statics_test.py HEAPLAPSE STATICS
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
import tap  # noqa: E402

heaplapse, statics = map(os.path.abspath, sys.argv[1:3])
TOP = pathlib.Path(__file__).resolve().parent.parent.parent.parent
ENV = dict(os.environ, LC_ALL='C.UTF-8')


def ask(*args, status=0):
    done = subprocess.run([heaplapse, 'report', '--json', *map(str, args)], capture_output=True, env=ENV)
    assert done.returncode == status, (args, done.stderr)
    return json.loads(done.stdout) if status == 0 else done.stderr.decode()


def objects(trace):
    page = (TOP / 'docs/migrating.md').read_text()
    row = next(line for line in page.splitlines() if line.startswith('| `/dynamic_constants`'))
    options = re.search(r'`heaplapse report ([^`]*)`', row)[1].split()
    name = re.search(r'`(__static_\w+)`', row)[1]
    a = ask(*[o.replace('NAME', name) for o in options], trace)
    tap.case(a['total_bytes'] == 3500 and [(r['name'].endswith('statics.cpp'), r['bytes']) for r in a['rows']] == [(True, 3500)], 'by file', a)
    a = ask('--allocated', '--include-function', name, '--source', 'statics.cpp', trace)
    lines = {line['text'].split('(')[0].strip(): line['bytes'] for line in a['lines'] if line['bytes']}
    tap.case(lines.get('static Buffer first') == 3000 and lines.get('const Buffer second') == 500, 'by line', lines)


def mappings(trace):
    everything = ask('--resident', '--leaks', trace)
    heap = next(m for m in everything['mappings'] if m['name'] == '[heap]')
    amounts = ('size', 'resident', 'anonymous', 'dirty', 'clean', 'swap')
    for choice in '[heap]', heap['address'], hex(int(heap['address'], 16) + heap['size'] - 1), '/^.heap.$/':
        a = ask('--resident', '--leaks', '--mapping', choice, trace)
        # A heap that has grown to the address is looked at from then on.
        tap.case([{**m, 'first_ns': heap['first_ns']} for m in a['mappings']] == [heap] and {k: a['total'][k] for k in amounts} == {k: heap[k] for k in amounts}, f'--mapping {choice}', a['mappings'])
        tap.case(a['columns'][-1] == {k: heap[k] for k in amounts} and a['samples'] == everything['samples'], f'--mapping {choice}: its history', a['columns'][-1])
    names = {m['name'] for m in everything['mappings']}
    a = ask('--resident', '--leaks', '--mapping', 'anonymous', trace)
    tap.case('' in names and a['mappings'] == [m for m in everything['mappings'] if m['name'] == ''], 'memory without a name', a['mappings'])
    a = ask('--resident', '--leaks', '--mapping', 'libc.so*', trace)
    tap.case(len(a['mappings']) > 2 and len(a['groups']) == 1, 'a library', a['groups'])
    a = ask('--resident', '--mapping', '0x10', trace)
    tap.case(a['mappings'] == [] and a['total']['size'] == 0, 'no such mapping', a)
    for bad in ('--mapping', '[heap]'), ('--resident', '--mapping', ''), ('--resident', '--mapping', '0xz'), ('--resident', '--mapping', '/(/'), \
               ('--resident', '--mapping', 'a', '--mapping', 'b'), ('--sites', '--mapping', 'a'):
        tap.case('mapping' in ask(*bad, trace, status=2), f'{" ".join(bad)} is refused', '')


with tempfile.TemporaryDirectory() as tmp:
    trace = f'{tmp}/statics.hlt'
    subprocess.run([heaplapse, 'record', '-q', '-o', trace, '--', statics], check=True, env=ENV)
    objects(trace)
    trace = f'{tmp}/mapped.hlt'
    subprocess.run([heaplapse, 'record', '-q', '--mmap', '-o', trace, '--', '/usr/bin/python3', '-c',
                    'import time; x = [bytes(1000) for _ in range(9000)]; time.sleep(0.3)'], check=True, env=ENV)
    mappings(trace)
tap.finish()
