#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""growing_test - a trace that is still being written: each answer is of this moment, and events say when it grows.

	growing_test.py HEAPLAPSE MKTRACE GEN-TRACE

The file is written by this test, with the lock of a collector.
"""
import fcntl
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import web
import tap

heaplapse, mktrace, gen = map(os.path.abspath, sys.argv[1:4])


class Writer:
    """Writes a trace piece by piece, as a collector does."""

    def __init__(self, path, data):
        self.file, self.data, self.done = open(path, 'wb', buffering=0), data, 0
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def write(self, percent):
        until = len(self.data) * percent // 100
        self.file.write(self.data[self.done:until])
        self.done = until

    def close(self):
        self.file.close()


class Events:
    """The events of a stream, one after the other."""

    def __init__(self, server):
        self.connection = server.connect()
        self.connection.request('GET', '/api/events', headers={'Authorization': f'Bearer {server.token}'})
        self.response = self.connection.getresponse()

    def next(self):
        name = None
        while line := self.response.readline().decode():
            if line.startswith('event: '):
                name = line[7:].strip()
            elif line.startswith('data: '):
                return name, json.loads(line[6:])
        return None, None

    def close(self):
        self.connection.close()


def caught_up(server, events):
    """The event that has all that was written. A write may be seen in parts, with an event each."""
    now = server.get('/api/traces').json()['traces'][0]['totals']['allocations']
    while True:
        name, data = events.next()
        if not name or data.get('allocations') == now:
            return name, data


def same(server, trace, what):
    """The answers are those of a command now, also those of models that were opened before."""
    for path, options in (('timeline', ['--timeline']), ('table/thread?allocated', ['-g', 'thread', '--allocated']), ('report?leaks&group=size', ['--leaks', '-g', 'size']),
                          ('threads', ['--threads']), ('lifetimes', ['--lifetimes']), ('report?leaks&group=size&filter=thread:0', ['--leaks', '-g', 'size', '--filter', 'thread:0'])):
        answer = server.get(f'/api/traces/1/{path}')
        wanted = subprocess.run([heaplapse, 'report', '--json', *options, trace], capture_output=True, env=web.ENV, timeout=web.TIMEOUT)
        tap.case(answer.body == wanted.stdout and answer.status == 200, f'{what}: {path}', f'{answer}\n{wanted.stdout[:300]}\n{wanted.stderr}')


def grow(server, trace, writer, events):
    name, data = events.next()
    tap.case(name == 'trace' and data['running'] and data['id'] == 1, 'the first event', f'{name} {data}')
    same(server, trace, '30 %')
    for percent in 55, 80:
        before = data
        writer.write(percent)
        name, data = caught_up(server, events)
        tap.case(name == 'grown' and data['running'] and data['duration_ns'] > before['duration_ns'] and data['allocations'] > before['allocations'],
                 f'{percent} %: the trace has grown', f'{name} {data}')
        same(server, trace, f'{percent} %')
        listed = server.get('/api/traces').json()['traces'][0]
        tap.case(listed['running'] and listed['totals']['allocations'] == data['allocations'], f'{percent} %: the list', listed)
        tap.case(f'heaplapse_running{{trace="1",' in server.get('/metrics').body.decode(), f'{percent} %: metrics', '')
    writer.write(100)
    writer.close()
    while name != 'ended':
        name, data = events.next()
        if name not in ('grown', 'ended'):
            break
    tap.case(name == 'ended' and not data['running'] and data['end'] == 'exit', 'the program has ended', f'{name} {data}')
    same(server, trace, 'the end')


def killed(tmp, data):
    """The lock is gone and the end is missing: the program was lost."""
    trace = f'{tmp}/killed.hlt'
    writer = Writer(trace, data)
    writer.write(60)
    with web.Server(heaplapse, trace) as server:
        events = Events(server)
        tap.case(events.next()[0] == 'trace', 'killed: the first event', '')
        writer.close()
        name, state = events.next()
        tap.case(name == 'ended' and state['end'] == 'lost', 'killed: it has ended', f'{name} {state}')
        os.rename(f'{tmp}/whole.hlt', trace)
        name, state = events.next()
        tap.case(name == 'replaced' and state['end'] == 'exit', 'another file has the name', f'{name} {state}')
        events.close()


def begin(tmp, data):
    """A trace that has nothing yet is served as soon as it has something."""
    trace, other = f'{tmp}/begin.hlt', f'{tmp}/other.hlt'
    pathlib.Path(other).write_bytes(data)
    writer = Writer(trace, data)
    with web.Server(heaplapse, trace, other) as server:
        events = Events(server)
        found = sorted(events.next()[1]['id'] for _ in range(2))
        tap.case(found == [1, 2], 'empty: an event for each trace', found)
        tap.case(server.get('/api/traces/1/info').status == 422, 'empty: it cannot be read yet', '')
        writer.write(50)
        name, state = caught_up(server, events)
        tap.case(name in ('trace', 'grown') and state['running'] and state['id'] == 1, 'it has a begin', f'{name} {state}')
        writer.close()
        name = events.next()[0]
        tap.case(name == 'ended', 'and an end', name)
        tap.case(server.stop() == 0, 'ends with a stream of events open', server.err)
        tap.case(events.next() == (None, None), 'the stream has ended', '')


with tempfile.TemporaryDirectory() as tmp:
    whole, trace = f'{tmp}/whole.hlt', f'{tmp}/trace.hlt'
    subprocess.run([gen, '-n', '1000000', '-o', whole], check=True, stderr=subprocess.DEVNULL)
    data = pathlib.Path(whole).read_bytes()
    writer = Writer(trace, data)
    writer.write(30)
    with web.Server(heaplapse, trace) as server:
        events = Events(server)
        grow(server, trace, writer, events)
        events.close()
    begin(tmp, data)
    killed(tmp, data)
tap.finish()
