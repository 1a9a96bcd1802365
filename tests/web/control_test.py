#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""control_test - the recording of a running program is controlled over HTTP, with the answers of `ctl`.

	control_test.py HEAPLAPSE MKTRACE GEN-TRACE STEPS
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import web
import tap

heaplapse, mktrace, gen, steps = map(os.path.abspath, sys.argv[1:5])
CONTROL = '/api/traces/1/control'


def ctl(pid, *words):
    done = subprocess.run([heaplapse, 'ctl', '--json', str(pid), *words], capture_output=True, env=web.ENV, timeout=web.TIMEOUT)
    return json.loads(done.stdout)


def without_changing(status):
    """The status without the numbers that change from one moment to the next."""
    return {k: v for k, v in status.items() if k not in ('schema', 'collector_bytes', 'file_bytes', 'events')}


def serve(trace, *more):
    web.wait_until(lambda: pathlib.Path(trace).exists() and subprocess.run([heaplapse, 'info', trace], capture_output=True, env=web.ENV).returncode == 0,
               'there is a trace')
    return web.Server(heaplapse, trace, *more)


def post(server, verb, **more):
    return server.request(f'{CONTROL}/{verb}', 'POST', **more)


def live(program, pid):
    return ctl(pid, 'status')['live_bytes']


def states(server, program, pid):
    a = server.get(CONTROL).json()
    tap.case(a['controllable'] and a['state'] == 'recording' and a['reason'] is None, 'it is being recorded', a)
    tap.case(without_changing(a['status']) == without_changing(ctl(pid, 'status')), 'the status is that of ctl', a)
    listed = server.get('/api/traces').json()['traces'][0]['control']
    tap.case(listed == {'controllable': True, 'reason': None, 'state': 'recording', 'pending': None}, 'the list has it', listed)
    before = live(program, pid)
    for verb, state, adds in (('pause', 'paused', 0), ('resume', 'recording', 5000), ('stop', 'stopped', 0), ('resume', 'recording', 5000)):
        a = post(server, verb)
        now = a.json()
        # The program does some at its next call of the allocator.
        tap.case(a.status == 200 and (now['state'] == state and not now['pending'] or now['state'] != state and now['pending'] == verb), f'{verb}: {state}, or will be', a)
        program.alloc(5000)
        after = live(program, pid)
        now = server.get(CONTROL).json()
        tap.case(now['state'] == state and now['pending'] is None, f'{verb}: the state afterwards', now)
        tap.case(after - before == adds, f'{verb}: {adds} bytes are recorded', after - before)
        before = after


def modes(server, pid):
    for mode, rate in (('count', 0), ('sample=64K', 65536), ('trace', 0)):
        a = post(server, f'mode?mode={mode}')
        status = ctl(pid, 'status')
        tap.case(a.status == 200 and a.json()['status']['mode'] == mode.split('=')[0] == status['mode'] and
                 a.json()['status']['sample_bytes'] == rate == status['sample_bytes'], f'mode {mode}', f'{a} {status}')


def marks(server, program):
    label = 'after <b>login</b> ä "1"'
    tap.case(post(server, 'mark?label=after%20%3Cb%3Elogin%3C/b%3E%20%C3%A4%20%221%22').status == 200, 'a mark', '')
    tap.case(post(server, 'snapshot').status == 200, 'a snapshot', '')
    tap.case(post(server, 'snapshot?label=second').status == 200, 'a snapshot with a label', '')
    program.end()
    with serve(program.trace) as other:
        web.wait_until(lambda: not other.get('/api/traces').json()['traces'][0]['running'], 'the end')
        found = other.get('/api/traces/1/timeline').json()['marks']
        tap.case([m['name'] for m in found if m.get('name')] == [label, 'second'], 'they are in the trace', found)


def refused(server):
    """What is refused changes nothing."""
    for path, status in (('mark', 400), ('mode', 400), ('mode?mode=tags=1', 400), ('mode?mode=nonsense', 400), ('nonsense', 400), ('mode=count', 404),
                         ('pause?label=x', 400), ('pause?mode=count', 400), ('pause?nonsense=1', 400), ('mark?label=' + 'x' * 1024, 400),
                         ('mode?mode=sample=0', 400), ('mode?mode=tags', 409), ('mode?mode=' + 'x' * 200, 400)):
        a = post(server, path)
        tap.case(a.status == status and a.body and (status == 404 or a.json()['error']), f'POST {path[:40]}: {status}', a)
    tap.case(server.get(f'{CONTROL}/pause').status == 405, 'GET does not pause', '')
    tap.case(server.request(f'{CONTROL}/pause', 'PUT').status == 405, 'PUT does not pause', '')
    tap.case(server.request('/api/traces/2/control/pause', 'POST').status == 404, 'another trace', '')
    cookie = {'Cookie': f'heaplapse-{server.port}={server.token}'}
    here = {'Origin': f'http://127.0.0.1:{server.port}'}
    for what, headers, token, status in (
            ('no token', {}, False, 401), ('a foreign page with the token', {'Origin': 'http://evil.example'}, True, 403),
            ('a foreign page with the cookie', {'Origin': 'http://evil.example', **cookie}, False, 403),
            ('the origin null', {'Origin': 'null', **cookie}, False, 403),
            ('a cookie without an origin', cookie, False, 403),
            ('a foreign host', {'Host': 'evil.example'}, True, 403),
            ('another port of this machine', {'Origin': 'http://127.0.0.1:1', **cookie}, False, 403)):
        a = post(server, 'pause', headers=headers, token=token)
        tap.case(a.status == status, f'{what}: {status}', a)
    tap.case(server.get(CONTROL).json()['state'] == 'recording', 'nothing was paused', '')
    tap.case(post(server, 'pause', headers={**here, **cookie}, token=False).json()['state'] == 'paused', 'the page itself may', '')
    tap.case(post(server, 'resume').json()['state'] == 'recording', 'and with the token', '')


def rotated(server, program, pid):
    a = post(server, 'rotate')
    tap.case(a.status == 200 and a.json()['status']['closed'] == program.trace and a.json()['status']['file'] != program.trace, 'rotate', a)
    a = server.get(CONTROL).json()
    tap.case(not a['controllable'] and a['state'] is None and a['reason'], 'the closed file is not controlled any more', a)
    a = post(server, 'pause')
    tap.case(a.status == 409 and a.json()['error'], 'nor paused', a)
    tap.case(not ctl(pid, 'status')['paused'], 'the program is not paused', '')


def other_file(program, tmp):
    """A copy is not the file that is recorded, though it has the same pid."""
    copy = f'{tmp}/copy.hlt'
    shutil.copy(program.trace, copy)
    with web.Server(heaplapse, copy) as server:
        a = server.get(CONTROL).json()
        tap.case(not a['controllable'], 'a copy is not controlled', a)
        tap.case(post(server, 'stop').status == 409, 'a copy does not stop the program', '')


with tempfile.TemporaryDirectory() as tmp:
    program = web.Program(heaplapse, steps, f'{tmp}/app.hlt')
    with serve(program.trace) as server:
        pid = server.get('/api/traces').json()['traces'][0]['pid']
        states(server, program, pid)
        refused(server)
        modes(server, pid)
        with web.Server(heaplapse, '--no-token', program.trace) as open_server:
            a = open_server.get(CONTROL).json()
            tap.case(not a['controllable'] and 'token' in a['reason'], '--no-token controls nothing', a)
            tap.case(post(open_server, 'pause').status == 403, '--no-token refuses', '')
        other_file(program, tmp)
        marks(server, program)
        a = server.get(CONTROL).json()
        tap.case(not a['controllable'] and a['reason'] and a['status'] is None, 'it has ended', a)
        tap.case(post(server, 'pause').status == 409, 'a program that has ended', '')
    program = web.Program(heaplapse, steps, f'{tmp}/rotated.hlt')
    with serve(program.trace) as server:
        rotated(server, program, server.get('/api/traces').json()['traces'][0]['pid'])
    program.end()
tap.finish()
