# SPDX-License-Identifier: Apache-2.0
"""hltrace - shared code of the whole-program tests: runs heaplapse, parses its output, prints the
results.

It uses only the commands and their documented output; it reads no trace file directly.
"""
import collections
import json
import os
import re
import subprocess
import sys
import time

# The fields of a line of dump that the tests need.
Event = collections.namedtuple('Event', 'op thread size')
SITE = re.compile(r'site_\w+')


class Failure(Exception):
    """A failed check; the text is one sentence for the log."""


class Heaplapse:
    """The heaplapse command, and the library for recordings without the command."""

    def __init__(self, binary, library=None):
        self.binary = binary
        self.library = library

    def run(self, *args):
        """Runs a command and returns its output. It must succeed and print no message."""
        done = subprocess.run([self.binary, *map(str, args)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise Failure(f'heaplapse {" ".join(map(str, args))}: status {done.returncode}: '
                          f'{done.stderr.strip()}')
        return done.stdout

    def record(self, trace, command, env=None, options=(), preload=None):
        """Starts recording `command`, with `preload` below the recorder, and returns the Popen."""
        env = {**os.environ, **(env or {})}
        if preload:
            env['LD_PRELOAD'] = preload
        return subprocess.Popen([self.binary, 'record', '-q', '-o', trace, *options, '--', *command],
                                env=env)

    def record_bare(self, trace, command, env=None, preload=None):
        """The same without the command: the library starts the collector itself."""
        below = ':' + preload if preload else ''
        env = {**os.environ, **(env or {}), 'LD_PRELOAD': self.library + below,
               'HEAPLAPSE_OUTPUT': trace}
        return subprocess.Popen(command, env=env)

    def this_file(self, trace):
        """The options that mean the file, not the last program of its process."""
        return ['--process', os.path.basename(trace)] if os.path.isdir(trace + '.d') else []

    def info(self, trace):
        return json.loads(self.run('info', '--json', *self.this_file(trace), trace))

    def info_when_ended(self, trace, seconds=10):
        """The info of a trace whose collector may still be writing. The collector writes the end
        first and the index after it, so a trace that has an end may still become complete: within a
        second, or never."""
        deadline, ended = time.monotonic() + seconds, None
        while True:
            try:
                info = self.info(trace)
                if info['end']['kind'] != 'running':
                    ended = ended or time.monotonic()
                    if info['complete'] or time.monotonic() > ended + 1:
                        return info
            except Failure:
                if time.monotonic() > deadline:
                    raise
            if time.monotonic() > deadline:
                raise Failure(f'{trace} is still being written after {seconds} s')
            time.sleep(0.02)

    def session(self, trace):
        """The processes of a session, the largest first (docs/json.md)."""
        return json.loads(self.run('info', '--json', '--all', trace))['processes']

    def report(self, trace, *args):
        return json.loads(self.run('report', '--json', *args, trace))

    def dump(self, trace):
        """The heap events in order (docs/trace-format.md, section 7)."""
        with subprocess.Popen([self.binary, 'dump', *self.this_file(trace), trace], stdout=subprocess.PIPE,
                              text=True) as command:
            for line in command.stdout:
                op, _, thread, _, _, size, _ = line.split(' ', 6)
                if op in ('alloc', 'free'):
                    yield Event(op, thread, int(size))
        if command.returncode:
            raise Failure(f'heaplapse dump {trace}: status {command.returncode}')


def site_of(node):
    found = SITE.match(node['function'] or '')
    return found[0] if found else None


def flatten(nodes):
    """{site: (blocks, bytes)} of a report's nodes: the sums of the outermost ones named site_*.

    A site calls the allocator and no other site, so everything below its node (an operator new, a
    libc function) was allocated for it.
    """
    sites = {}
    inside = []  # of each node: whether it is in a site
    for node in nodes:
        site = site_of(node)
        below = node['parent'] is not None and inside[node['parent']]
        inside.append(below or site is not None)
        if site is None or below:
            continue
        blocks, size = sites.get(site, (0, 0))
        sites[site] = (blocks + node['blocks'], size + node['bytes'])
    return sites


def check_sums(report):
    """Every node is the sum of its own part and its children; the report is the sum of its roots."""
    nodes = report['nodes']
    for unit in ('bytes', 'blocks'):
        roots = sum(node[unit] for node in nodes if node['parent'] is None)
        if roots != report['total_' + unit]:
            raise Failure(f'the tree holds {roots} {unit}, total_{unit} says '
                          f'{report["total_" + unit]}')
        parts = [node['self_' + unit] for node in nodes]
        for node in nodes:
            if node['parent'] is not None:
                parts[node['parent']] += node[unit]
        for node, part in zip(nodes, parts):
            if part != node[unit]:
                raise Failure(f'{node["function"]}: {node[unit]} {unit}, but its parts are {part}')


def expect(what, found, wanted):
    if found != wanted:
        raise Failure(f'{what}: {found}, should be {wanted}')


class Results:
    """Prints TAP lines, which tools/test-summary.py counts."""

    def __init__(self):
        self.failed = 0

    def case(self, name, check, *args):
        """Runs a check; returns True if it raised no Failure."""
        try:
            check(*args)
        except Failure as failure:
            self.failed += 1
            print(f'not ok {name}')
            print('  # ' + str(failure).replace('\n', '\n  # '))
            return False
        except (KeyError, TypeError, ValueError) as error:
            # the output does not have the documented form
            self.failed += 1
            print(f'not ok {name}\n  # {type(error).__name__}: {error}')
            return False
        finally:
            sys.stdout.flush()
        print(f'ok {name}', flush=True)
        return True

    def status(self):
        return 1 if self.failed else 0
