#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""fuzz_test - requests with parts that are wrong leave the server alive, and its answers right.

	fuzz_test.py HEAPLAPSE MKTRACE GEN-TRACE [NUMBER [SEED]]     10,000 requests; soak sends 100,000
"""
import http.client
import os
import random
import subprocess
import sys
import tempfile
import urllib.parse

import web
import tap

heaplapse, mktrace, gen = map(os.path.abspath, sys.argv[1:4])
NUMBER = int(sys.argv[4]) if len(sys.argv) > 4 else 10000
SEED = int(sys.argv[5]) if len(sys.argv) > 5 else 1

KEYS = '''peak leaks at allocated temporary growth range filter pool include-function exclude-function include-module exclude-module
full-stacks fold alloc-fn no-wrappers sort max-time max-rows max-bytes width folded bottom-up min group cost table from to sources
no-default-suppressions overview sites threads snapshots token x'''.split()
VALUES = ['', '0', '1', '-1', '50%', '@peak', '@end', '@mark:x', '1s..2s', '..', '50%..10%', '10%..90%', '1ms', '4K', '2M', '18446744073709551616',
          'size:>=64', 'thread:0', 'fn:/(a+)+$/', 'fn:/[/', 'fn:*', '-fn:x', 'life:<1ms', 'alive:end', 'chain-length:>=2', 'addr:0x1000', 'time:1s..',
          'tag:*', '"', "'", '<script>', '\x00', '\r\nX: y', '\xff\xfe', 'ü', 'a' * 300, '/x/', '*', 'bytes', 'blocks', 'stack', 'site', 'module',
          'thread', 'size', 'life', 'process', '..%2f..', '1e9', 'nan', 'inf', '%']
TAILS = '''info report overview sites sizes lifetimes threads timeline fragmentation freed-by mmaps snapshots snapshot-deltas cumulative-delta
tree flame log table/site table/module table/x export/collapsed export/json export/csv export/svg export/pprof export/html export/x x'''.split()
PATHS = ['/', '/api', '/api/traces', '/metrics', '/app.js', '/app.css', '/traces/1', '/api/export', '/api/queries', '/api/queries/1', '//', '/..', '*']
METHODS = ['GET'] * 30 + ['HEAD', 'POST', 'DELETE', 'PUT', 'OPTIONS', 'X' * 50]


def pick_path(r):
    if r.random() < 0.15:
        path = r.choice(PATHS)
    else:
        path = f'/api/traces/{r.choice([1] * 16 + [2, 0, -1, 99999999999])}/{r.choice(TAILS)}'
    pairs = []
    for _ in range(r.choice([0, 0, 0, 1, 1, 1, 2, 3, 10])):
        key, value = r.choice(KEYS), r.choice(VALUES)
        pairs.append(urllib.parse.quote(key) + (r.choice(['=', '=', '=', '', '==', '%3d']) + urllib.parse.quote(value) if r.random() < 0.9 else ''))
    return path + ('?' + r.choice(['&', '&', '&&', ';']).join(pairs) if pairs else '')


def damage(r, data):
    """Some bytes are changed, added or removed."""
    data = bytearray(data)
    for _ in range(r.randrange(1, 5)):
        at = r.randrange(len(data))
        kind = r.randrange(3)
        if kind == 0:
            data[at] = r.randrange(256)
        elif kind == 1:
            data[at:at] = bytes(r.randrange(256) for _ in range(r.randrange(1, 10)))
        else:
            del data[at:at + r.randrange(1, 10)]
        if not data:
            return b'x'
    return bytes(data)


def send_damaged(r, server, path):
    data = damage(r, f'GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\nConnection: close\r\n\r\n'.encode('latin-1'))
    s = server.raw(data, wait=False)
    s.close()


def send(r, server, connection, path):
    """Returns the status and the length of the answer."""
    headers = {'Authorization': f'Bearer {server.token}'}
    if r.random() < 0.1:
        headers['Accept-Encoding'] = 'gzip'
    if r.random() < 0.1:
        headers['Accept'] = 'text/event-stream'
    if r.random() < 0.05:
        headers[r.choice(['Host', 'Origin', 'Cookie', 'If-None-Match', 'Range'])] = r.choice(VALUES[:10])
    connection.request(r.choice(METHODS), path, headers=headers)
    answer = connection.getresponse()
    return answer.status, len(answer.read()), answer.headers


def fuzz(server):
    r = random.Random(SEED)
    connection = server.connect()
    statuses, long = {}, []
    for i in range(NUMBER):
        path = pick_path(r)
        if not server.alive():
            return f'it has ended before request {i}', statuses, long
        try:
            if r.random() < 0.1:
                send_damaged(r, server, path)
                continue
            status, n, headers = send(r, server, connection, path)
            statuses[status] = statuses.get(status, 0) + 1
            if n > 2200000 and 'export' not in path and 'traces/1' not in path.split('?')[0][:9]:
                long.append((path, n))
            if headers.get('Connection') == 'close':
                connection.close()
        except (http.client.HTTPException, OSError):
            connection.close() # an answer that fails in the middle ends its connection
            statuses['broken'] = statuses.get('broken', 0) + 1
    connection.close()
    return '', statuses, long


with tempfile.TemporaryDirectory() as tmp:
    trace = f'{tmp}/a.hlt'
    subprocess.run([gen, '-n', '3000', '--nodes', '300', '--strange', '--free-stacks', '-o', trace], check=True, stderr=subprocess.DEVNULL)
    with web.Server(heaplapse, trace) as server:
        before = server.get('/api/traces/1/tree').body
        problem, statuses, long = fuzz(server)
        print(f'# seed {SEED}: {statuses}')
        tap.case(not problem, f'{NUMBER} requests leave the server alive', problem)
        tap.case(not long, 'answers are bounded', long[:3])
        tap.case(statuses.get(200, 0) > NUMBER / 20 and statuses.get(400, 0) > NUMBER / 20 and not statuses.get(500) and not statuses.get('broken'),
                 'right and wrong requests, no error of the server', statuses)
        tap.case(server.alive() and server.get('/api/traces/1/tree').body == before, 'the same answer afterwards', '')
        status = server.stop()
        tap.case(status == 0, 'ends with status 0', f'{status} {server.err[-3000:]}')
tap.finish()
