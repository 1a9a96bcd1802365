#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sample_test - report prints what memtrail's README shows, for a program like memtrail's sample,
with the true maximum.

	sample_test.py HEAPLAPSE SAMPLE
"""
import json, os, subprocess, sys, tempfile

heaplapse, sample = map(os.path.abspath, sys.argv[1:3])
failures = []

def check(ok, what):
    if not ok:
        failures.append(what)
        print('FAILED:', what)

def run(*args):
    r = subprocess.run([heaplapse, *args], capture_output=True, text=True, timeout=60, env=dict(os.environ, LC_ALL='C.UTF-8'))
    check(r.returncode == 0, f'{args}: {r.returncode} {r.stderr}')
    return r.stdout

with tempfile.TemporaryDirectory() as folder:
    trace = f'{folder}/sample.hlt'
    highest, live = map(int, run('record', '-o', trace, '--', sample).split())
    peak = json.loads(run('report', '--json', '--filter', 'module:sample', trace))
    check(peak['total_bytes'] == highest == 384 + 1024 + 4096 + 2048, f'{peak["total_bytes"]}, the program counted {highest}')

    # The sites first, then their callers.
    text = run('report', '--min', '0', '--filter', 'module:sample', trace)
    heads = {l[33:].split()[1]: l[9:19].strip() for l in text.splitlines() if l[33:34] and l[33:34] in '├└'}
    check(heads == {'test_calloc': '4.0 KiB', 'test_realloc': '2.0 KiB', 'test_malloc': '1.0 KiB', 'before_main': '384 B'}, f'{heads}\n{text}')

    # With all frames: the called function first, then its caller, then the caller's callers, as in memtrail.
    text = run('report', '--full-stacks', '--min', '0', '--filter', 'module:sample', trace)
    lines = [line for line in text.splitlines()[2:] if line.strip()]
    heads = {l[33:].split()[1]: (l[9:19].strip(), l[21:31].strip()) for l in lines if l[33:34] in '├└' and l[33:34]}
    check(heads == {'calloc': ('4.0 KiB', '2'), 'realloc': ('2.0 KiB', '1'), 'malloc': ('1.4 KiB', '2')}, f'{heads}\n{text}')
    calls = [i for i, l in enumerate(lines) if 'test_calloc' in l]
    check(len(calls) == 1 and lines[calls[0] + 1 :] and any(' main ' in l for l in lines[calls[0] + 1 : calls[0] + 5]), text)

    leaks = json.loads(run('report', '--json', '--leaks', '--filter', 'module:sample', trace))
    check(leaks['total_bytes'] == live == 384 + 64, f'{leaks["total_bytes"]}, the program counted {live}')
    delta = json.loads(run('report', '--json', '--cumulative-delta', trace))['snapshots'][0]
    check((delta['name'], delta['since_snapshot'], delta['total_bytes'], delta['freed_bytes']) == ('two', 1, 64, 0), str(delta))

    off = f'{folder}/off.hlt'
    run('record', '--start=off', '-o', off, '--', sample)
    r = subprocess.run([heaplapse, 'report', '--strict', off], capture_output=True, text=True, timeout=60)
    check(r.returncode == 4 and 'before the program started recording' in r.stderr and 'read' not in r.stderr, f'--start=off: {r}')
print(f'{len(failures)} failures')
sys.exit(bool(failures))
