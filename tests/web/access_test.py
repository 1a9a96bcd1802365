#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""access_test - requests that are refused: without a token, of other sites, malformed, too large, too slow.

	access_test.py HEAPLAPSE MKTRACE GEN-TRACE
"""
import os
import re
import socket
import subprocess
import sys
import tempfile

import web
import tap

heaplapse, mktrace, gen = map(os.path.abspath, sys.argv[1:4])
EVIL = '<script>alert(1)</script>"\'&%0A%1b]0;x'
HOSTILE = f'''module /opt/{EVIL.replace(' ', '')}/app -
node - 0 1000
node 0 0 1010
name 0 1000 {EVIL}main {EVIL}.c 7
name 0 1010 {EVIL}leak {EVIL}.c 9
thread 100
extra 100 4 0 {EVIL}thread
alloc 64000 0 1000 1 0 10000
extra 320000 0 0 {EVIL}mark
extra 330000 1 0 {EVIL}snapshot
end 0 0 64000000
'''


def tokens(server):
    for path in '/', '/api', '/metrics', '/app.css', '/api/traces/1/report', '/api/traces/1/export/json', '/nothing':
        for what, headers in (('none', {}), ('wrong', {'Authorization': 'Bearer ' + '0' * 32}), ('empty', {'Authorization': 'Bearer '}),
                              ('basic', {'Authorization': 'Basic ' + server.token}), ('short', {'Authorization': 'Bearer ' + server.token[:-1]}),
                              ('cookie', {'Cookie': f'heaplapse-{server.port}=' + '0' * 32}), ('port', {'Cookie': f'heaplapse-1={server.token}'})):
            answer = server.get(path, token=False, headers=headers)
            tap.case(answer.status == 401 and b'Bearer' in answer.body, f'{path}, token {what}: refused', answer)
    answer = server.get('/?token=' + '0' * 32, token=False)
    tap.case(answer.status == 401, 'a wrong token in the address', answer)
    answer = server.get(f'/?token={server.token}', token=False)
    cookie = answer.headers['Set-Cookie']
    tap.case(answer.status == 200 and b'url=/"' in answer.body and 'HttpOnly' in cookie and 'SameSite=Strict' in cookie,
             'the printed address sets a cookie and leads to the page', answer.headers)
    tap.case(server.token.encode() not in answer.body, 'the page does not have the token', answer)
    answer = server.get('/', token=False, headers={'Cookie': f'other=1; {cookie.split(";")[0]}'})
    tap.case(answer.status == 200 and b'<html' in answer.body, 'the cookie is enough', answer)
    answer = server.get(f'/api/traces?token={server.token}', token=False)
    tap.case(answer.status == 200 and 'Set-Cookie' not in answer.headers, 'the token in an address of a program', answer)


def origins(server):
    here = f'127.0.0.1:{server.port}'
    for host, ok in ((here, True), (f'localhost:{server.port}', True), ('localhost:1', True), ('[::1]:7', True), ('evil.example', False),
                     (f'evil.example:{server.port}', False), ('127.0.0.1.evil.example', False), ('', False), ('box.example', True)):
        answer = server.get('/api', headers={'Host': host})
        tap.case(answer.status == (200 if ok else 403), f'Host: {host}', answer)
    for origin, ok in ((f'http://{here}', True), ('http://evil.example', False), ('null', False), (f'https://{here}', False),
                       (f'http://{here}.evil.example', False), ('http://127.0.0.1:1', False)):
        answer = server.get('/api', headers={'Origin': origin})
        tap.case(answer.status == (200 if ok else 403), f'Origin: {origin}', answer)
        tap.case(not [h for h in answer.headers if h.lower().startswith('access-control')], f'Origin: {origin}: no CORS', answer.headers)
    auth = f'Authorization: Bearer {server.token}\r\n'
    got = server.raw(f'GET /api HTTP/1.1\r\n{auth}Connection: close\r\n\r\n'.encode())
    tap.case(got.startswith((b'HTTP/1.1 403', b'HTTP/1.1 400')), 'no Host', got[:200])
    got = server.raw(f'GET /api HTTP/1.1\r\nHost: {here}\r\nHost: evil.example\r\n{auth}Connection: close\r\n\r\n'.encode())
    tap.case(got.startswith((b'HTTP/1.1 403', b'HTTP/1.1 400')), 'two Hosts', got[:200])


def headers(server):
    for path in '/', '/api', '/app.js', '/metrics', '/nothing', '/api/traces/1/export/svg', '/api/traces/1/report?bogus':
        h = server.get(path).headers
        ok = (h['X-Content-Type-Options'] == 'nosniff' and "default-src 'none'" in h['Content-Security-Policy'] and
              "frame-ancestors 'none'" in h['Content-Security-Policy'] and h['Referrer-Policy'] == 'no-referrer' and
              'http' not in h['Content-Security-Policy'])
        tap.case(ok, f'{path}: headers', h)
    svg = server.get('/api/traces/1/export/svg').headers
    tap.case('sandbox' in svg['Content-Security-Policy'] and svg['Content-Disposition'].startswith('attachment'), 'a picture is not run', svg)


def paths(server, tmp):
    secret = os.path.join(tmp, 'secret')
    with open(secret, 'w') as f:
        f.write('top-secret')
    tried = ['/../secret', '/..%2fsecret', '/%2e%2e/secret', '/traces/../secret', f'/traces/{secret}', f'/{secret}', '//etc/passwd',
             '/api/traces/1/export/../../../secret', '/api/traces/..%2f..%2fsecret/info', '/api/traces/1%00/info', '/api/traces/%2e%2e/info',
             '/api/traces/+1/info', '/api/traces/1.0/info', '/api/traces/18446744073709551617/info', '/api/traces/4294967297/info',
             '/app.js/..', '/app.js%00', '/api/traces/1/table/%2e%2e', '/api/traces/1/export/json%2fx', '/%', '/%zz', '/\\..\\secret']
    for path in tried:
        answer = server.get(path)
        tap.case(answer.status in (400, 404) and b'top-secret' not in answer.body, f'path {path}', answer)
    got = server.raw(f'GET file://{secret} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\nConnection: close\r\n\r\n'.encode())
    tap.case(b'top-secret' not in got, 'the address of a file', got[:200])


def floods(server):
    begin = f'GET /api HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n'
    for what, data in (('a header of 1 MB', begin + 'X: ' + 'x' * 1000000 + '\r\n\r\n'),
                       ('20,000 headers', begin + ''.join(f'X{i}: 1\r\n' for i in range(20000)) + '\r\n'),
                       ('an address of 1 MB', 'GET /api?' + 'x' * 1000000 + ' HTTP/1.1\r\nHost: localhost\r\n\r\n'),
                       ('20,000 parameters', 'GET /api/traces/1/report?' + '&'.join(f'x{i}' for i in range(20000)) + ' HTTP/1.1\r\n' + begin.split('\r\n', 1)[1] + '\r\n'),
                       ('a cookie of 1 MB', begin.replace('Authorization: Bearer ', 'Cookie: x=') + 'Cookie: ' + 'a=b; ' * 200000 + '\r\n\r\n')):
        got = server.raw(data.encode())
        tap.case(not got.startswith(b'HTTP/1.1 200'), what, got[:100])
    got = server.get('/api/traces/1/report?' + '&'.join(['filter=size:>1'] * 100))
    tap.case(got.status == 400, '100 parameters', got)
    body = f'POST /api/queries/1/cancel HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\nContent-Length: 1000000000000\r\n\r\n'
    got = server.raw(body.encode() + b'x' * 5000000)
    tap.case(not got.startswith(b'HTTP/1.1 200'), 'a body of 1 TB', got[:100])
    chunked = body.replace('Content-Length: 1000000000000', 'Transfer-Encoding: chunked').encode() + b'ffffff\r\n' + b'x' * 3000000
    got = server.raw(chunked)
    tap.case(not got.startswith(b'HTTP/1.1 200'), 'a body in pieces', got[:100])
    for data in (b'', b'\r\n\r\n', b'\0' * 1000, b'GET', b'GET / HTTP/9.9\r\n\r\n', b'HELLO\r\n\r\n', b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
                 b'GET /api HTTP/1.1\r\nContent-Length: -5\r\n\r\n', b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'):
        s = server.raw(data, wait=False)
        s.shutdown(socket.SHUT_WR)
        s.close()
    tap.case(server.get('/api').status == 200, 'the server is alive')


def slow_clients(server):
    """64 clients that never finish their request do not keep others from being answered."""
    slow = [server.raw(b'GET /api HTTP/1.1\r\nHo', wait=False) for _ in range(64)]
    for i in range(20):
        tap.case(server.get('/api/traces/1/timeline').status == 200, f'answered beside 64 slow clients, {i}')
    stalled = [server.begin('/api/traces/1/export/json') for _ in range(10)]
    tap.case(server.get('/api/traces/1/tree').status == 200, 'answered beside clients that read nothing')
    # The time of a request ends, although a byte comes now and then.
    ended = 0
    for s in slow:
        s.settimeout(web.TIMEOUT)
        try:
            while s.send(b'x') and not web.has_input(s, 0.2):
                pass
            ended += s.recv(1000) is not None
        except OSError:
            ended += 1
    tap.case(ended == 64, 'slow clients are disconnected', ended)
    for s in slow + stalled:
        s.close()


def hostile_names(server, hostile):
    """Names of a trace are text in the page, in the list, and in JSON."""
    for path in '/', '/api/traces/2/export/html', '/metrics', '/api/traces':
        answer = server.get(path)
        html = 'html' in answer.headers['Content-Type']
        tap.case(answer.status == 200 and not (html and re.search(rb'<script>alert', answer.body)), f'{path}: names are text', answer)
        tap.case(b'\x1b' not in answer.body, f'{path}: no control characters', answer)
    for view in 'report', 'sites', 'log', 'threads', 'timeline', 'overview', 'table/file', 'table/thread':
        answer = server.get(f'/api/traces/2/{view}')
        tap.case(answer.status == 200 and answer.headers['Content-Type'] == 'application/json' and answer.json(), f'{view}: JSON', answer)
    tap.case('alert(1)' in server.get('/api/traces/2/tree').body.decode(), 'the names are there', '')
    note = server.get('/api/traces/2/report?filter=fn:%0d%0aSet-Cookie:x%20%1b')
    tap.case('Set-Cookie' not in note.headers and note.status == 200, 'a note has no line breaks', note.headers)


def addresses(trace):
    with web.Server(heaplapse, trace) as first:
        second = web.Server(heaplapse, trace, listen=f'127.0.0.1:{first.port}')
        tap.case(second.port != first.port and second.get('/api').status == 200, 'a taken port', second.port)
        tap.case(second.get('/api', headers={'Authorization': f'Bearer {first.token}'}, token=False).status == 401, 'another token', '')
        second.stop()
        tap.case(f'port {first.port} is taken; using {second.port}'.encode() in second.err, 'a taken port is named', second.err)
    with web.Server(heaplapse, '--no-token', trace) as open_server:
        tap.case('token' not in open_server.url and open_server.get('/api', token=False).status == 200, '--no-token', open_server.url)
        tap.case(open_server.get('/api', token=False, headers={'Host': 'evil.example'}).status == 403, '--no-token: Host', '')
        tap.case(open_server.get('/api', token=False, headers={'Origin': 'http://evil.example'}).status == 403, '--no-token: Origin', '')
    wide = web.Server(heaplapse, '--no-token', trace, listen='0.0.0.0:0')
    tap.case(wide.get('/api', token=False).status == 200, '0.0.0.0', wide.url)
    wide.stop()
    tap.case(b'anyone' in wide.err, 'a warning: other machines, and no token', wide.err)
    for listen in 'nowhere', '1.2.3.4.5:80', '127.0.0.1:99999', '127.0.0.1:', '[::1', '192.0.2.1:0':
        r = subprocess.run([heaplapse, 'serve', '--no-browser', '--listen', listen, trace], capture_output=True, env=web.ENV, timeout=web.TIMEOUT)
        tap.case(r.returncode in (2, 3) and b'heaplapse' in r.stderr and not r.stdout, f'--listen {listen}', r)


with tempfile.TemporaryDirectory() as tmp:
    trace, hostile = f'{tmp}/a.hlt', f'{tmp}/<img src=x onerror=alert(2)>&".hlt'
    subprocess.run([gen, '-n', '200000', '-o', trace], check=True, stderr=subprocess.DEVNULL)
    subprocess.run([mktrace, hostile], input=HOSTILE.encode(), check=True)
    with web.Server(heaplapse, '--host', 'box.example', trace) as server:
        tokens(server)
        origins(server)
        headers(server)
        paths(server, tmp)
        floods(server)
        slow_clients(server)
    with web.Server(heaplapse, trace, hostile) as server:
        hostile_names(server, hostile)
        tap.case(b'<img' not in server.get('/').body, 'the name of a file is text', '')
    addresses(trace)
tap.finish()
