#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""files_test - traces that are damaged, deleted or replaced, queries that are cancelled, and which operands mean what.

	files_test.py HEAPLAPSE MKTRACE GEN-TRACE
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

import web
import tap

heaplapse, mktrace, gen = map(os.path.abspath, sys.argv[1:4])


def make(path, events=20000, seed=1):
    subprocess.run([gen, '-n', str(events), '--seed', str(seed), '-o', path], check=True, stderr=subprocess.DEVNULL)
    return path


def report(trace, *options):
    return subprocess.run([heaplapse, 'report', '--json', *options, trace], capture_output=True, env=web.ENV, timeout=web.TIMEOUT).stdout


def library(tmp):
    """libmicrohttpd is loaded when it is needed; without it the command says how to get it."""
    os.mkdir(f'{tmp}/lib')
    pathlib.Path(f'{tmp}/lib/libmicrohttpd.so.12').write_bytes(b'')
    r = subprocess.run([heaplapse, 'serve', '--no-browser', make(f'{tmp}/one.hlt')], capture_output=True, timeout=web.TIMEOUT,
                       env={**web.ENV, 'LD_LIBRARY_PATH': f'{tmp}/lib'})
    tap.case(r.returncode == 3 and b'cannot be loaded' in r.stderr and b'apt install libmicrohttpd12' in r.stderr, 'no libmicrohttpd', r)


def damaged(tmp):
    """A trace that cannot be read is named; the others are served, also a trace with a damaged part."""
    good, partly, bad, empty = make(f'{tmp}/good.hlt'), make(f'{tmp}/partly.hlt', 400000), f'{tmp}/bad.hlt', f'{tmp}/empty.hlt'
    data = bytearray(pathlib.Path(partly).read_bytes())
    data[len(data) // 2] ^= 0x55
    pathlib.Path(partly).write_bytes(data)
    pathlib.Path(bad).write_bytes(b'this is no trace' * 100)
    pathlib.Path(empty).write_bytes(b'')
    missing = f'{tmp}/missing.hlt'
    server = web.Server(heaplapse, good, partly, bad, empty, missing)
    traces = server.get('/api/traces').json()['traces']
    tap.case([bool(t['error']) for t in traces] == [False, False, True, True, True], 'damaged: each error is named', traces)
    for query, options in (('', []), ('leaks', ['--leaks']), ('allocated', ['--allocated'])):
        # Nodes of equal size are in the order of lookup, so each query has a server of its own.
        with web.Server(heaplapse, bad, partly) as other:
            answer = other.get(f'/api/traces/2/tree?{query}')
            tap.case(answer.body == report(partly, '--max-bytes', '2000000', *options), f'damaged in part: {query}', answer)
    tap.case(server.get('/api/traces/1/tree').body == report(good, '--max-bytes', '2000000'), 'damaged: the others are served', '')
    for i in 3, 4, 5:
        for path in 'info', 'report', 'overview', 'export/json', 'log':
            answer = server.get(f'/api/traces/{i}/{path}')
            tap.case(answer.status == 422 and answer.json()['error'], f'damaged: trace {i}, {path}', answer)
    tap.case('heaplapse_up{trace="3"} 0' in server.get('/metrics').body.decode(), 'damaged: metrics', '')
    shutil.copy(good, missing)
    tap.case(server.get('/api/traces/5/tree').body == report(good), 'a trace that appears is served', '')
    tap.case(server.stop() == 0 and all(name.encode() in server.err for name in ('bad.hlt', 'empty.hlt', 'missing.hlt')),
             'damaged: messages', server.err)
    r = subprocess.run([heaplapse, 'serve', '--no-browser', bad, empty], capture_output=True, env=web.ENV, timeout=web.TIMEOUT)
    tap.case(r.returncode == 3 and not r.stdout and b'bad.hlt' in r.stderr and b'empty.hlt' in r.stderr, 'no trace can be read', r)


def changed(tmp):
    trace, other = make(f'{tmp}/a.hlt', seed=2), make(f'{tmp}/b.hlt', seed=3)
    before, after = report(trace), report(other)
    tap.case(before != after, 'two different traces', '')
    with web.Server(heaplapse, trace) as server:
        tap.case(server.get('/api/traces/1/tree').body == before, 'before', '')
        os.unlink(trace)
        for path in 'tree', 'sites', 'export/json', 'info':
            answer = server.get(f'/api/traces/1/{path}')
            tap.case(answer.status == 200 and (path != 'tree' or answer.body == before), f'deleted: {path} is still answered', answer)
        tap.case(server.get('/api/traces').json()['traces'][0]['deleted'], 'deleted: said', '')
        os.rename(other, trace)
        tap.case(server.get('/api/traces/1/tree').body == after, 'replaced: the new trace is served', '')
        tap.case(server.get('/api/traces/1/sites').body == report(trace, '--sites'), 'replaced: also by slots', '')
        tap.case(not server.get('/api/traces').json()['traces'][0]['deleted'], 'replaced: not deleted', '')
        os.truncate(trace, 5000)
        answer = server.get('/api/traces/1/sites?filter=size:%3E1')
        tap.case(server.alive() and answer.status in (200, 422, 500), 'truncated while it is open', answer)


def operands(tmp):
    directory, session, empty = f'{tmp}/d[1]', f'{tmp}/s', f'{tmp}/empty'
    for path in directory, session, empty:
        os.mkdir(path)
    one, two = make(f'{directory}/one.hlt'), make(f'{directory}/two.hlt', seed=4)
    pathlib.Path(f'{directory}/other.txt').write_text('no trace')
    with web.Server(heaplapse, directory) as server:
        names = [t['trace'] for t in server.get('/api/traces').json()['traces']]
        tap.case(names == ['one.hlt', 'two.hlt'], 'a directory means the traces in it', names)
    with web.Server(heaplapse, one, two, one) as server:
        tap.case(len(server.get('/api/traces').json()['traces']) == 2, 'a trace that is named twice', '')
    with web.Server(heaplapse, cwd=directory) as server:
        tap.case(len(server.get('/api/traces').json()['traces']) == 1, 'without an operand the newest trace', '')
    for args, where in (([empty], tmp), ([], empty), ([f'{tmp}/nothing.hlt'], tmp)):
        r = subprocess.run([heaplapse, 'serve', '--no-browser', *args], capture_output=True, env=web.ENV, timeout=web.TIMEOUT, cwd=where)
        tap.case(r.returncode in (2, 3) and b'heaplapse' in r.stderr and not r.stdout, f'no trace: {args}', r)


def run_report(directory, *options):
    return json.loads(report(directory, '--group', 'process', *options))


def processes(server, trace, query, wanted, traces):
    """The same processes and totals as report --group process."""
    a = server.get(f'/api/traces/{trace}/processes{query}').json()
    found = {p['pid']: (p['answer']['total_bytes'], p['answer']['total_blocks'], p['parent_pid'], p['program']) for p in a['processes']}
    expected = {p['pid']: (p['total_bytes'], p['total_blocks'], p['parent_pid'], p['program']) for p in wanted['processes']}
    tap.case(found == expected and len(found) > 1, f'processes{query}', f'{found} {expected}')
    tap.case((a['total_bytes'], a['total_blocks']) == (wanted['total_bytes'], wanted['total_blocks']), f'processes{query}: the sum', a)
    tap.case(all(traces[p['id'] - 1]['pid'] == p['pid'] and traces[p['id'] - 1]['totals']['peak_bytes'] == p['peak_bytes'] for p in a['processes']),
             f'processes{query}: their traces', a)


def session(tmp):
    """The processes of a run: those of the directory that has the list."""
    script = f'{tmp}/run.hlt'
    r = subprocess.run([heaplapse, 'record', '-o', script, 'sh', '-c', '/bin/true; /bin/echo x >/dev/null'], capture_output=True, env=web.ENV)
    if r.returncode or not os.path.exists(f'{script}.d/session'):
        tap.skipped('a session', 'nothing can be recorded here')
        return
    wanted = 1 + len([n for n in os.listdir(f'{script}.d') if n.endswith('.hlt')])
    for operand in script, f'{script}.d':
        with web.Server(heaplapse, operand) as server:
            traces = server.get('/api/traces').json()['traces']
            tap.case(len(traces) == wanted > 1 and traces[0]['trace'] == 'run.hlt', f'a session: {operand}', traces)
            tap.case(all(t['session'] == 1 for t in traces), 'all are of one session', traces)
            for query, options in (('', []), ('?leaks', ['--leaks']), ('?allocated&filter=size:%3E64', ['--allocated', '--filter', 'size:>64'])):
                for i in 1, len(traces):
                    processes(server, i, query, run_report(script + '.d', *options), traces)
            a = server.get('/api/traces/1/processes?max-rows=1').json()
            tap.case(len(a['processes']) == 1 and a['left_out'] > 0, 'the largest process', a)
            tap.case(server.get('/api/traces/1/processes?group=site').status == 400, 'no other group', '')


def browser(tmp):
    """On a desktop a file that only the user can read is opened, because arguments are visible to all."""
    trace, seen = make(f'{tmp}/a.hlt'), f'{tmp}/seen'
    os.mkdir(f'{tmp}/bin')
    pathlib.Path(f'{tmp}/bin/xdg-open').write_text(f'#!/bin/sh\n{{ echo "$1"; stat -c %a "$1"; cat "$1"; }} >{seen}.part\nmv {seen}.part {seen}\n')
    os.chmod(f'{tmp}/bin/xdg-open', 0o755)
    env = dict(web.ENV, PATH=f'{tmp}/bin:{os.environ["PATH"]}', DISPLAY=':0', XDG_RUNTIME_DIR=tmp)
    for name in 'CI', 'SSH_CONNECTION':
        env.pop(name, None)
    for what, options, more, opened in (('a desktop', [], {}, True), ('--no-browser', ['--no-browser'], {}, False),
                                        ('ssh', [], {'SSH_CONNECTION': 'x'}, False), ('no desktop', [], {'DISPLAY': None}, False)):
        master, terminal = os.openpty()
        own = {k: v for k, v in {**env, **more}.items() if v is not None}
        p = subprocess.Popen([heaplapse, 'serve', '--listen', '127.0.0.1:0', *options, trace], stdout=subprocess.PIPE, stderr=terminal, env=own)
        url = p.stdout.readline().decode().strip()
        while opened and not os.path.exists(seen):
            pass
        p.send_signal(signal.SIGINT)
        status = p.wait(web.TIMEOUT)
        os.close(master)
        os.close(terminal)
        got = pathlib.Path(seen).read_text().splitlines() if os.path.exists(seen) else []
        if opened:
            tap.case(status == 0 and got[1] == '600' and url in got[2] and 'token' not in got[0], f'{what}: the page is opened', got)
            tap.case(not os.path.exists(got[0]), f'{what}: the file is removed', got)
            os.unlink(seen)
        else:
            tap.case(status == 0 and not got, f'{what}: nothing is opened', got)


def wait_for_queries(server, number):
    while True:
        found = [q for q in server.get('/api/queries').json()['queries'] if 'export' in q['endpoint']]
        if len(found) == number:
            return found


def cancelled(tmp):
    """Both slots of exports are used by clients that read nothing, so further exports wait: until they are
    cancelled, or until another one ends. Nothing else waits."""
    trace = make(f'{tmp}/big.hlt', 2000000)
    with web.Server(heaplapse, trace) as server:
        blocked = [server.begin('/api/traces/1/export/json') for _ in range(2)]
        first = wait_for_queries(server, 2)
        results = []
        waiting = threading.Thread(target=lambda: results.append(server.get('/api/traces/1/export/csv')))
        waiting.start()
        number = max(q['query'] for q in wait_for_queries(server, 3))
        for path in 'tree', 'timeline', 'sites', 'info', 'overview':
            tap.case(server.get(f'/api/traces/1/{path}').status == 200, f'{path} does not wait for exports')
        answer = server.request(f'/api/queries/{number}', 'DELETE')
        waiting.join(web.TIMEOUT)
        tap.case(answer.json()['cancelled'] == number and results and results[0].status == 409, 'a waiting query is cancelled', results)
        waiting = threading.Thread(target=lambda: results.append(server.get('/api/traces/1/export/collapsed')))
        waiting.start()
        wait_for_queries(server, 3)
        blocked[0].close()
        waiting.join(web.TIMEOUT)
        tap.case(len(results) == 2 and results[1].status == 200, 'a client that goes away frees its slot', results[1:])
        left = wait_for_queries(server, 1)[0]
        answer = server.request(f'/api/queries/{left["query"]}/cancel', 'POST')
        got = b''
        while part := blocked[1].recv(1 << 20):
            got += part
        tap.case(answer.status == 200 and not got.endswith(b'0\r\n\r\n'), 'a cancelled download is not complete', got[-100:])
        tap.case(server.request('/api/queries/999999', 'DELETE').status == 404, 'no such query', '')
        found = web.events(server, '/api/traces/1/sites?filter=size:%3E7&max-time=1us')
        tap.case(found[-1][0] in ('answer', 'failed') and found[-1][1].get('refused') == 'max-time', 'events: too late', found[-1:])
        server.begin('/api/traces/1/export/json')
        wait_for_queries(server, 1)
        tap.case(server.stop(signal.SIGINT) == 0, 'ends with an export under way', server.err)
        blocked[1].close()


with tempfile.TemporaryDirectory() as tmp:
    for number, test in enumerate((library, damaged, changed, operands, session, browser, cancelled)):
        os.mkdir(f'{tmp}/{number}')
        test(f'{tmp}/{number}')
tap.finish()
