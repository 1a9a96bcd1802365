#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""endpoints_test - each endpoint has the answer of the command that it names, and docs/http-api.md names each.

	endpoints_test.py HEAPLAPSE MKTRACE GEN-TRACE [--write]     --write writes docs/http-api.md
"""
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import web
import tap

heaplapse, mktrace, gen = map(os.path.abspath, sys.argv[1:4])
DOCUMENT = pathlib.Path(__file__).resolve().parent.parent.parent / 'docs/http-api.md'

TAGGED = '''module /opt/app/bin/app -
node - 0 1000
node 0 0 1010
node 1 0 2010
thread 100
thread 101
alloc 64000 0 1000 1 0 10000
alloc 128000 0 24 2 0 10400
free 192000 0 1 11
alloc 256000 0 500 2 1 10500
extra 320000 1 0 loaded
alloc 384000 1 64 2 9 10800
rss 400000 1048576
extra 448000 0 0 login
free 512000 1 2 11
alloc 576000 1 4096 1 0 11000
rss 600000 2097152
end 0 0 64000000
'''

# URL parameters, and the options that mean the same.
QUERIES = [
    ('', []),
    ('leaks', ['--leaks']),
    ('leaks=', ['--leaks']),
    ('at=50%25', ['--at', '50%']),
    ('allocated&range=10%25..60%25', ['--allocated', '--range', '10%..60%']),
    ('growth=20%25..', ['--growth', '20%..']),
    ('temporary=1ms', ['--temporary=1ms']),
    ('peak&filter=size:%3E%3D64', ['--peak', '--filter', 'size:>=64']),
    ('leaks&filter=thread:0&filter=size:%3C4K', ['--leaks', '--filter', 'thread:0', '--filter', 'size:<4K']),
    ('leaks&sort=blocks', ['--leaks', '--sort', 'blocks']),
    ('max-rows=3', ['--max-rows', '3']),
    ('max-bytes=4K', ['--max-bytes', '4K']),
    ('include-function=nothing+has+this+name', ['--include-function', 'nothing has this name']),
]
GROUPS = 'stack function site file module thread call size life snapshot tag pool'.split()


def run(*args):
    return subprocess.run([heaplapse, *map(str, args)], capture_output=True, env=web.ENV, timeout=web.TIMEOUT)


def comparable(text):
    """massif numbers frames in the order in which they were looked up, which depends on earlier answers."""
    return re.sub(rb'\b0x[0-9a-f]+: ', b'', text) if text.startswith(b'desc: ') else text


def same(what, answer, wanted):
    """The body of the answer is the output of the command; if that fails, the answer has an error."""
    if wanted.returncode in (0, 4):
        ok = comparable(answer.body) == comparable(wanted.stdout)
    else:
        ok = answer.status in (400, 422) and answer.json().get('error')
    tap.case(ok, what, f'{answer}\n{wanted.stdout[:300]}\n{wanted.stderr[:300]}')


def rows():
    """The endpoints that docs/http-api.md lists, as (method, path, the same command)."""
    for line in DOCUMENT.read_text().splitlines():
        cells = [c.strip(' `') for c in line.replace('\\|', '\0').split('|')]
        if len(cells) > 5 and cells[1] in ('GET', 'POST', 'DELETE'):
            yield cells[1], cells[2], cells[4].removeprefix('heaplapse ')


def document():
    made = run('serve', '--endpoints').stdout.decode()
    if '--write' in sys.argv:
        DOCUMENT.write_text(made)
    tap.case(made and DOCUMENT.read_text() == made, 'docs/http-api.md is what serve --endpoints prints',
             'write it again: heaplapse serve --endpoints > docs/http-api.md')


def reports(server, trace):
    for query, options in QUERIES:
        same(f'report?{query}', server.get(f'/api/traces/1/report?{query}'), run('report', '--json', *options, trace))
        same(f'tree?{query}', server.get(f'/api/traces/1/tree?{query}'), run('report', '--json', *options, trace))
        same(f'table/site?{query}', server.get(f'/api/traces/1/table/site?{query}'),
             run('report', '--json', '-g', 'site', *options, trace))
    for group in GROUPS:
        same(f'table/{group}', server.get(f'/api/traces/1/table/{group}'), run('report', '--json', '-g', group, trace))
        same(f'report?group={group}', server.get(f'/api/traces/1/report?leaks&group={group}'),
             run('report', '--json', '--leaks', '-g', group, trace))


def curves(server, trace):
    """A timeline by each group is that of the command, and its rows add up to the total."""
    for group in [g for g in GROUPS if g != 'pool'] + ['pool', 'process']:
        answer = server.get(f'/api/traces/1/timeline/{group}')
        if group in ('pool', 'process'):
            tap.case(answer.status == 400 and answer.json()['error'], f'timeline/{group}: refused', answer)
            continue
        same(f'timeline/{group}', answer, run('report', '--json', '--timeline', '-g', group, trace))
    for query, options in (('limit=1', ['-n', '1']), ('limit=0', ['-n', '0']), ('range=10%25..60%25', ['--range', '10%..60%']),
                           ('filter=size:%3E%3D64', ['--filter', 'size:>=64']), ('max-rows=1', ['--max-rows', '1'])):
        same(f'timeline/site?{query}', server.get(f'/api/traces/1/timeline/site?{query}'),
             run('report', '--json', '--timeline', '-g', 'site', *options, trace))
    for query in 'width=0', 'width=1025', 'limit=x', 'limit=', 'limit=-1', 'width=':
        answer = server.get(f'/api/traces/1/timeline/site?{query}')
        tap.case(answer.status == 400 and answer.json()['error'], f'timeline/site?{query}: refused', answer)


def every_row(server, trace):
    """Each row of the document answers, as its command does."""
    tried = 0
    for method, path, command in rows():
        if path == '/api/events':
            continue # it has no end: see growing_test.py
        path = path.replace('{verb}', 'pause').replace('{trace}', '1').replace('{group}', 'module').replace('{format}', 'collapsed').replace('{query}', '999')
        command = command.replace('{group}', 'module').replace('{format}', 'collapsed')
        answer = server.request(path, method)
        if path.endswith('/source'):
            tap.case(answer.status == 400, f'{path}: without a file', answer) # see source_test.py
        elif 'control/' in path:
            tap.case(answer.status == 409, f'{method} {path}: nothing is being recorded', answer)
        elif method != 'GET':
            tap.case(answer.status == 404, f'{method} {path}: no such query', answer)
        elif path == '/api/export':
            names = [f['format'] for f in answer.json()['formats']]
            tap.case(names == [line.split()[0] for line in run('export', '--list').stdout.decode().splitlines()], path, names)
        elif command:
            same(f'{path}: {command}', answer, run(*command.split(), trace))
        else:
            tap.case(answer.status == 200 and answer.body, path, answer)
        tried += 1
    tap.case(tried > 25, 'the document has all rows', tried)


def exports(server, trace):
    for line in run('export', '--list').stdout.decode().splitlines():
        name, suffix = line.split()[:2]
        wanted = run('export', '-f', name, trace)
        answer = server.get(f'/api/traces/1/export/{name}')
        same(f'export/{name}', answer, wanted)
        if wanted.returncode == 0:
            tap.case(f'heap-1{suffix}"' in answer.headers['Content-Disposition'] and
                     answer.headers['Content-Disposition'].startswith('attachment'), f'export/{name}: a download', answer.headers)
    for query, options in (('leaks&cost=blocks', ['--leaks', '--cost', 'blocks']), ('group=thread', ['-g', 'thread']),
                           ('full-stacks', ['--full-stacks']), ('filter=size:%3E%3D64', ['--filter', 'size:>=64'])):
        same(f'export/collapsed?{query}', server.get(f'/api/traces/1/export/collapsed?{query}'),
             run('export', '-f', 'collapsed', *options, trace))
    same('export/csv by module', server.get('/api/traces/1/export/csv?group=module'), run('export', '-f', 'csv', '-g', 'module', trace))
    same('export/parquet of stacks', server.get('/api/traces/1/export/parquet?table=stacks'),
         run('export', '-f', 'parquet', '--table', 'stacks', trace))
    for path, status in (('export/nothing', 404), ('export/chrome?leaks', 400), ('export/csv?table=stacks', 400),
                         ('export/html?group=stack', 400), ('export/csv?filter=foo:', 400), ('export/csv?view=x', 400)):
        answer = server.get(f'/api/traces/1/{path}')
        tap.case(answer.status == status and answer.json()['error'], f'{path}: {status}', answer)


def page(server):
    """The files of the page are those of web/dist."""
    for path, name in ('/', 'index.html'), ('/app.js', 'app.js'), ('/app.css', 'app.css'):
        wanted = (DOCUMENT.parent.parent / 'web/dist' / name).read_bytes()
        plain, packed = server.get(path), server.get(path, headers={'Accept-Encoding': 'gzip'})
        tap.case(plain.status == 200 and plain.body == wanted, f'{path} is web/dist/{name}', plain)
        tap.case(packed.headers['Content-Encoding'] == 'gzip' and gzip.decompress(packed.body) == wanted, f'{path}: packed', packed.headers)
        for answer in plain, packed:
            h = answer.headers
            tap.case(h['Cache-Control'] == 'no-cache' and h['Vary'] == 'Accept-Encoding' and "script-src 'self';" in h['Content-Security-Policy'] and
                     'unsafe' not in h['Content-Security-Policy'], f'{path}: headers', h)
            again = server.get(path, headers={'If-None-Match': h['ETag']})
            tap.case(again.status == 304 and not again.body, f'{path}: a known file is not sent again', again)
        tap.case(plain.headers['ETag'] != packed.headers['ETag'] and server.get(path, headers={'If-None-Match': '"x"'}).body == wanted,
                 f'{path}: another file is', plain.headers)
        tap.case(server.get(path + '?x').status == 400, f'{path} has no parameters', '')


def bounded(server, big):
    """Answers are at most 2 MB, and say what they leave out; a timeline has the columns of the screen."""
    for path in ('tree', 'tree?allocated', 'table/stack?allocated', 'flame?width=1000', 'log', 'report?allocated&max-bytes=900M'):
        answer = server.get(f'/api/traces/2/{path}')
        tap.case(answer.status == 200 and len(answer.body) <= 2000000, f'{path}: at most 2 MB', f'{answer.status} {len(answer.body)}')
        if path == 'tree?allocated':
            tap.case(answer.json()['truncated']['rows_left_out'] > 0, f'{path}: what is left out', answer.json().get('truncated'))
    for width in 1, 777, 4096:
        columns = server.get(f'/api/traces/2/timeline?width={width}').json()['columns']
        tap.case(len(columns) == width, f'timeline of {width} columns', len(columns))
    for width in 1, 77, 1024:
        found = server.get(f'/api/traces/2/timeline/site?width={width}&limit=3').json()
        n = len(found['moments_ns'])
        sums = [sum(values) for values in zip(found['others']['live_bytes'], *(r['live_bytes'] for r in found['rows']))]
        tap.case(0 < n <= width and len(found['rows']) == 3 and sums == found['total_live_bytes'], f'timeline/site: {width} moments', n)
    part = server.get('/api/traces/2/timeline?width=50&range=20%25..30%25').json()
    tap.case(len(part['columns']) == 50 and 0 < part['from_ns'] < part['to_ns'] < part['duration_ns'], 'timeline of a range', part.keys())
    for query in '', '&range=10%25..90%25', '&range=50%25..50.1%25':
        curve = server.get(f'/api/traces/2/curve?width=300{query}').json()
        columns = curve['columns']
        ok = (0 < len(columns) <= 300 and all(c['from_ns'] <= c['to_ns'] for c in columns) and
              all(a['to_ns'] <= b['from_ns'] for a, b in zip(columns, columns[1:])))
        tap.case(ok, f'curve{query}: columns in the order of time', columns[:3])
    peak = server.get('/api/traces/2/timeline').json()['peak_bytes']
    tap.case(max(c['max_live_bytes'] for c in server.get('/api/traces/2/curve').json()['columns']) == peak, 'curve: the peak', peak)
    curve = server.get('/api/traces/1/curve').json()
    tap.case(curve['resident'] == [{'time_ns': 400000, 'bytes': 1048576}, {'time_ns': 600000, 'bytes': 2097152}], 'curve: resident memory',
             curve['resident'])
    for query, times in ('range=450us..550us', [400000, 600000]), ('range=500us..', [400000, 600000]), ('range=..300us', [400000]), \
            ('width=1', [600000]):
        found = [s['time_ns'] for s in server.get(f'/api/traces/1/curve?{query}').json()['resident']]
        tap.case(found == times, f'curve?{query}: the samples in it, and those beside it', found)
    for query in 'width=0', 'range=x', 'range=90%25..10%25', 'filter=size:1', 'leaks':
        answer = server.get(f'/api/traces/2/curve?{query}')
        tap.case(answer.status == 400 and answer.json()['error'], f'curve?{query}: refused', answer)
    whole, narrow = server.get('/api/traces/2/tree?min=0').json(), server.get('/api/traces/2/flame?width=100').json()
    least = whole['total_bytes'] / 200
    wanted = [n for n in whole['nodes'] if n['bytes'] >= least]
    tap.case('truncated' in whole or len(narrow['nodes']) == len(wanted) < len(whole['nodes']), 'flame: nodes of half a pixel',
             f'{len(narrow["nodes"])} {len(wanted)} {len(whole["nodes"])}')
    tap.case(all(n['bytes'] >= least for n in narrow['nodes']) and narrow['nodes_left_out'] > 0, 'flame: the others are counted',
             narrow.get('nodes_left_out'))
    late = server.get('/api/traces/2/sites?max-time=1us')
    tap.case(late.status == 503 and late.json()['refused'] == 'max-time', 'a query that takes too long is refused', late)


def refused(server):
    for path, status in (('nothing', 404), ('report?bogus=1', 400), ('report?limit=3', 400), ('timeline?width=0', 400),
                         ('timeline?width=5000', 400), ('timeline?width=1e3', 400), ('tree?min=101', 400), ('report?leaks=1', 400),
                         ('report?at', 400), ('report?at=soon', 400), ('report?at=@mark:none', 400), ('report?leaks&peak', 400),
                         ('report?sites&sizes', 400), ('table/nothing', 400), ('report?range=3s..1s&allocated', 400),
                         ('report?max-bytes=1', 400), ('log?from=2&to=1', 400), ('log?from=1&to=999', 400), ('log?sort=x', 400),
                         ('report?filter=foo:', 400), ('freed-by', 422)):
        answer = server.get(f'/api/traces/1/{path}')
        tap.case(answer.status == status and (status == 404 or answer.json()['error']), f'{path}: {status}', answer)
    answer = server.get('/api/traces/77/report')
    tap.case(answer.status == 404 and '/api/traces' in answer.json()['error'], 'a trace that does not exist', answer)


def lists(server):
    traces = server.get('/api/traces').json()['traces']
    tap.case([t['id'] for t in traces] == [1, 2] and [t['trace'] for t in traces] == ['a.hlt', 'big.hlt'], '/api/traces', traces)
    wanted = json.loads(run('info', '--json', server.traces[0]).stdout)
    tap.case(traces[0]['totals'] == wanted['totals'] and traces[0]['program'] == wanted['program'], '/api/traces: totals', traces[0])
    metrics = server.get('/metrics').body.decode()
    values = dict(line.rsplit(' ', 1) for line in metrics.splitlines() if not line.startswith('#'))
    label = '{trace="1",program="%s",pid="%d"}' % (wanted['program'], wanted['pid'])
    for name, value in (('live_bytes', wanted['totals']['live_bytes_end']), ('live_blocks', wanted['totals']['live_blocks_end']),
                        ('peak_bytes', wanted['totals']['peak_bytes']), ('allocations_total', wanted['totals']['allocations']),
                        ('freed_bytes_total', wanted['totals']['bytes_freed']), ('rss_bytes', 2097152), ('running', 0)):
        tap.case(values.get(f'heaplapse_{name}{label}') == str(value), f'/metrics: {name}', values)
    tap.case(all(re.fullmatch(r'# (HELP|TYPE) heaplapse_\w+ .+|heaplapse_\w+\{.*\} [-+.e\d]+', line) for line in metrics.splitlines()),
             '/metrics: the format', metrics)


def transport(server):
    plain = server.get('/api/traces/2/tree')
    packed = server.get('/api/traces/2/tree', headers={'Accept-Encoding': 'gzip'})
    tap.case(packed.headers['Content-Encoding'] == 'gzip' and gzip.decompress(packed.body) == plain.body and len(packed.body) < len(plain.body),
             'gzip', packed.headers)
    head = server.request('/api/traces', 'HEAD')
    tap.case(head.status == 200 and not head.body and int(head.headers['Content-Length']) > 100, 'HEAD', head)
    c = server.connect()
    c.request('HEAD', '/api/traces/1/export/json', headers={'Authorization': f'Bearer {server.token}'})
    head = web.Answer(c.getresponse())
    c.request('GET', '/api', headers={'Authorization': f'Bearer {server.token}'})
    tap.case(head.status == 405 and web.Answer(c.getresponse()).status == 200, 'HEAD of a stream', head)
    c.close()
    for method in 'POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE':
        answer = server.request('/api/traces', method)
        tap.case(answer.status == 405, f'{method} is not allowed', answer)
    c = server.connect()
    for _ in range(3):
        c.request('GET', '/api', headers={'Authorization': f'Bearer {server.token}'})
        answer = web.Answer(c.getresponse())
        tap.case(answer.status == 200 and answer.headers['Connection'] != 'close', 'a connection is kept', answer.headers)
    c.close()


def stream(server, trace):
    found = web.events(server, '/api/traces/1/sites')
    wanted = json.loads(run('report', '--json', '--sites', trace).stdout)
    tap.case(found[0][0] == 'query' and found[0][1]['query'] > 0, 'events: the number of the query', found[:1])
    tap.case(found[-1] == ('answer', wanted), 'events: the answer', found[-1:])
    found = web.events(server, '/api/traces/1/freed-by')
    tap.case(found[-1][0] == 'failed' and found[-1][1]['error'], 'events: an error', found[-1:])


with tempfile.TemporaryDirectory() as tmp:
    trace, big = f'{tmp}/a.hlt', f'{tmp}/big.hlt'
    subprocess.run([mktrace, trace], input=TAGGED.encode(), check=True)
    subprocess.run([gen, '-n', '5000000', '--nodes', '30000', '-o', big], check=True)
    document()
    with web.Server(heaplapse, trace) as server:
        curves(server, trace)
        every_row(server, trace)
        reports(server, trace)
        exports(server, trace)
        page(server)
        refused(server)
        stream(server, trace)
    with web.Server(heaplapse, trace, big) as server:
        server.traces = [trace, big]
        lists(server)
        bounded(server, big)
        transport(server)
        tap.case(server.stop() == 0, 'ends with status 0', server.err)
tap.finish()
