#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""debuginfod_test - debuginfod servers that have the file, do not have it, send a wrong file, or do
not respond. None of them may hang a report."""
import http.server, os, socket, sys, tempfile, threading, time
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from symbolizers import *

symbolize, subject, other = sys.argv[1], os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])
id, offsets = build_id(subject), offsets_of(subject, 11)
want = symbolize_offsets(symbolize, [], subject, offsets)[1]
asked, files = [], {}

class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(self.path)
        data = files.get(self.path)
        self.send_response(200 if data else 404)
        self.send_header('Content-Length', str(len(data or b'')))
        self.end_headers()
        self.wfile.write(data or b'')
    def log_message(self, *args):
        pass

def query(url, tmp, path, timeout='2'):
    os.makedirs(tmp, exist_ok=True)
    env = dict(os.environ, DEBUGINFOD_URLS=url, DEBUGINFOD_CACHE_PATH=f'{tmp}/client', DEBUGINFOD_TIMEOUT=timeout,
               no_proxy='127.0.0.1', NO_PROXY='127.0.0.1')
    text = ''.join(f'{o:x}\n' for o in offsets)
    start = time.monotonic()
    r = subprocess.run([symbolize, '--debuginfod', path, id], input=text, capture_output=True, text=True, env=env, timeout=60)
    return r, time.monotonic() - start

def equals_expected(r):
    return r.stdout.split('\n', 1)[1] == whole

def server_with_file(tmp, bare):
    r, took = query(url, tmp, bare)
    if 'libdebuginfod is not installed' in r.stderr:
        skip('libdebuginfod is not installed')
        return False
    check(equals_expected(r) and r.stdout.startswith('\n'), f'fetched: {r.stdout[:300]}')
    check('fetching' in r.stderr and 'failed' not in r.stderr, f'progress: {r.stderr[:300]}')
    n = len(asked)
    r, took = query(url, tmp, bare)
    check(equals_expected(r) and len(asked) == n, 'fetched twice')
    return True

def server_without_file(tmp, bare):
    files.clear()
    r, took = query(url, tmp, bare)
    check(asked and not equals_expected(r) and 'failed' not in r.stderr, f'404: {r.stderr[:300]}')

def server_with_wrong_file(tmp, bare):
    files[f'/buildid/{id}/debuginfo'] = open(other, 'rb').read()
    r, took = query(url, tmp, bare)
    check(r.stdout == poor, f'another program\'s names: {r.stdout[:300]}')
    files[f'/buildid/{id}/debuginfo'] = b'hello'
    r, took = query(url, f'{tmp}/2', bare)
    check(r.stdout == poor, f'no ELF file: {r.stdout[:300]}')

def dead_server(tmp, bare):
    s = socket.socket()
    s.bind(('127.0.0.1', 0))
    silent_server = f'http://127.0.0.1:{s.getsockname()[1]}'
    r, took = query(silent_server, tmp, bare)
    check(took < 5 and r.stderr.count('failed:') == 1, f'refused: {took:.1f} s, {r.stderr!r}')
    s.listen(5)
    r, took = query(silent_server, f'{tmp}/2', bare)
    check(took < 8 and r.stderr.count('failed:') == 1, f'silent: {took:.1f} s, {r.stderr!r}')
    print(f'a silent server was given up after {took:.1f} s (limit 2 s)')

with tempfile.TemporaryDirectory() as tmp:
    bare = f'{tmp}/bare'
    run('strip', '-o', bare, subject)
    run('objcopy', '--only-keep-debug', subject, f'{tmp}/debug')
    files[f'/buildid/{id}/debuginfo'] = open(f'{tmp}/debug', 'rb').read()
    whole = subprocess.run([symbolize, subject, id], input=''.join(f'{o:x}\n' for o in offsets), capture_output=True,
                           text=True).stdout.split('\n', 1)[1]
    poor = subprocess.run([symbolize, bare, id], input=''.join(f'{o:x}\n' for o in offsets), capture_output=True,
                          text=True).stdout
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f'http://127.0.0.1:{server.server_port}'
    note = symbolize_offsets(symbolize, [], bare, offsets[:9], id, env=dict(DEBUGINFOD_URLS=url))[0]
    check(note and not asked, 'the server was asked without being wanted')
    if server_with_file(f'{tmp}/a', bare):
        server_without_file(f'{tmp}/b', bare)
        server_with_wrong_file(f'{tmp}/c', bare)
        dead_server(f'{tmp}/d', bare)
    server.shutdown()
done()
