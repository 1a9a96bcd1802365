# SPDX-License-Identifier: Apache-2.0
"""web - a server under test, and requests to it."""
import http.client
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

TIMEOUT = 120
ENV = dict(os.environ, LC_ALL='C.UTF-8', CI='1')


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f'{self.status} {self.body[:300]!r}'


class Server:
    """Port 0 is any free port, so that tests can run at the same time."""

    def __init__(self, heaplapse, *args, listen='127.0.0.1:0', **more):
        self.process = subprocess.Popen([heaplapse, 'serve', '--no-browser', '--listen', listen, *map(str, args)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV, **more)
        self.url = self.process.stdout.readline().decode().strip()
        parts = urllib.parse.urlsplit(self.url)
        self.port, self.host = parts.port, parts.hostname
        self.token = urllib.parse.parse_qs(parts.query).get('token', [''])[0]
        self.err = b''

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def alive(self):
        return self.process.poll() is None

    def stop(self, sig=signal.SIGTERM):
        """Returns the exit status."""
        if self.alive():
            self.process.send_signal(sig)
        try:
            self.err += self.process.communicate(timeout=TIMEOUT)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.err += self.process.communicate()[1]
        return self.process.returncode

    def connect(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT)

    def request(self, path, method='GET', headers=(), token=True, body=None):
        c = self.connect()
        all_headers = {'Authorization': f'Bearer {self.token}'} if token else {}
        all_headers.update(headers)
        try:
            c.request(method, path, body=body, headers=all_headers)
            return Answer(c.getresponse())
        finally:
            c.close()

    def get(self, path, **more):
        return self.request(path, **more)

    def raw(self, data, wait=True):
        """Sends bytes, and returns all that comes back; or the open socket."""
        s = socket.create_connection((self.host, self.port), timeout=TIMEOUT)
        try:
            s.sendall(data)
        except OSError:
            pass
        if not wait:
            return s
        got = b''
        try:
            while True:
                part = s.recv(65536)
                if not part:
                    break
                got += part
        except OSError:
            pass
        s.close()
        return got

    def begin(self, path, headers=()):
        """Sends a request whose answer is not read."""
        lines = [f'GET {path} HTTP/1.1', f'Host: {self.host}:{self.port}', f'Authorization: Bearer {self.token}', *headers]
        return self.raw('\r\n'.join([*lines, '', '']).encode(), wait=False)


def events(server, path):
    """The events of an answer, as (name, data)."""
    a = server.get(path, headers={'Accept': 'text/event-stream'})
    found = []
    for block in a.body.decode().split('\n\n'):
        lines = dict(line.split(': ', 1) for line in block.split('\n') if ': ' in line and line[0] != ':')
        if lines:
            found.append((lines['event'], json.loads(lines['data'])))
    return found


def has_input(s, seconds):
    return bool(select.select([s], [], [], seconds)[0])


class Program:
    """A recorded program that does what the test says."""

    def __init__(self, heaplapse, steps, trace, *options):
        self.trace = str(trace)
        self.process = subprocess.Popen([heaplapse, 'record', '-q', '-o', self.trace, *options, '--', steps],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENV)
        self.alloc(100)

    def say(self, line):
        self.process.stdin.write(line.encode() + b'\n')
        self.process.stdin.flush()
        self.process.stdout.readline()

    def alloc(self, size):
        self.say(f'alloc {size}')

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=TIMEOUT)
        self.process.stdout.close()


def wait_until(true, what):
    until = time.monotonic() + TIMEOUT
    while not true():
        if time.monotonic() > until:
            raise TimeoutError(what)
        time.sleep(0.02)
