#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""trouble_test - the server with recordings that are in trouble: a full disk while the program runs, and no symbols.

	trouble_test.py HEAPLAPSE MKTRACE GEN-TRACE STEPS STEPS-MOVED

files_test.py has traces that are damaged, deleted or replaced.
"""
import os
import subprocess
import sys
import tempfile

import web
import tap

heaplapse, mktrace, gen, steps, moved = map(os.path.abspath, sys.argv[1:6])


def run(*args):
    return subprocess.run([heaplapse, *args], capture_output=True, env=web.ENV, timeout=web.TIMEOUT)


def same(server, trace, what):
    for path, options in (('overview', ['--overview']), ('tree?leaks', ['--leaks']), ('table/site?allocated', ['-g', 'site', '--allocated']),
                          ('timeline', ['--timeline']), ('sizes', ['--sizes']), ('fragmentation', ['--fragmentation']), ('address-space', ['--address-space'])):
        answer, wanted = server.get(f'/api/traces/1/{path}'), run('report', '--json', *options, trace)
        tap.case(answer.status == 200 and answer.body == wanted.stdout, f'{what}: {path}', f'{answer} {wanted.stdout[:300]} {wanted.stderr}')
    for path in ('export/json', 'export/collapsed', 'log'):
        answer = server.get(f'/api/traces/1/{path}')
        tap.case(answer.status == 200 and answer.body, f'{what}: {path}', answer)


def full_disk(tmp):
    small = f'{tmp}/small'
    os.mkdir(small)
    if os.getuid() != 0 or subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=24k', 'none', small], stderr=subprocess.DEVNULL).returncode:
        tap.skipped('a full disk', 'a small file system cannot be mounted here')
        return
    trace = f'{small}/app.hlt'
    program = web.Program(heaplapse, steps, trace)
    try:
        web.wait_until(lambda: os.path.exists(trace) and run('info', trace).returncode == 0, 'a trace')
        with web.Server(heaplapse, trace) as server:
            before = server.get('/api/traces').json()['traces'][0]
            tap.case(before['running'] and not before['error'], 'it is being recorded', before)
            program.say('churn 300000')
            web.wait_until(lambda: server.get('/api/traces/1/info').json()['unwritten'], 'the disk is full')
            for path in ('/api/traces', '/metrics', '/api/traces/1/info', '/api/traces/1/curve', '/api/traces/1/control'):
                answer = server.get(path)
                tap.case(answer.status == 200, f'while the disk is full: {path}', answer)
            tap.case(server.request('/api/traces/1/control/mark?label=full', 'POST').status in (200, 409), 'while the disk is full: a mark', '')
            same(server, trace, 'while the disk is full')
            program.end()
            web.wait_until(lambda: not server.get('/api/traces').json()['traces'][0]['running'], 'its end')
            after = server.get('/api/traces').json()['traces'][0]
            tap.case(not after['complete'] and after['totals']['allocations'] < 300000 and not after['error'], 'the trace ends before the program', after)
            unwritten = server.get('/api/traces/1/info').json()['unwritten']
            tap.case(unwritten['reason'] == 'No space left on device' and unwritten['events'] > 0, 'info says why', unwritten)
            same(server, trace, 'after a full disk')
    finally:
        program.process.kill()
        program.process.wait()
        subprocess.run(['umount', '-l', small], check=False)


def no_symbols(tmp):
    stripped, trace = f'{tmp}/stripped', f'{tmp}/stripped.hlt'
    subprocess.run(['strip', '-o', stripped, steps], check=True)
    program = web.Program(heaplapse, stripped, trace)
    program.alloc(5000)
    program.end()
    with web.Server(heaplapse, trace) as server:
        same(server, trace, 'no symbols')
        rows = server.get('/api/traces/1/table/function?leaks').json()['rows']
        tap.case(sum(r['bytes'] for r in rows) == 5100 and all(r['name'].startswith('0x') for r in rows), 'functions are addresses', rows)
        answer = server.get('/api/traces/1/source?file=steps.c')
        tap.case(answer.status == 400 and 'no stack of the trace has a source file' in answer.json()['error'], 'no source file', answer)
        same_with = server.get('/api/traces/1/table/file?leaks').json()['rows']
        tap.case(len(same_with) == 1 and same_with[0]['bytes'] == 5100, 'one row of files', same_with)
    with web.Server(heaplapse, '--symbols', steps, trace) as server:
        rows = server.get('/api/traces/1/table/function?leaks').json()['rows']
        tap.case([(r['name'], r['bytes']) for r in rows] == [('step', 5100)], '--symbols has the names', rows)
        answer = server.get('/api/traces/1/source?file=steps.c&leaks')
        tap.case(answer.status == 200 and answer.json()['own_bytes'] == 5100, '--symbols has the source file', answer)


with tempfile.TemporaryDirectory() as tmp:
    no_symbols(tmp)
    full_disk(tmp)
tap.finish()
