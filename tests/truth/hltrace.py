"""hltrace - what the whole-program tests share: run heaplapse, read its answers, tell the results.

Everything goes through the commands and their documented output; no file is read behind their back.
"""
import collections
import json
import os
import re
import subprocess
import sys
import time

# What the tests need of a line of dump.
Event = collections.namedtuple('Event', 'op thread size')
SITE = re.compile(r'site_\w+')


class Failure(Exception):
    """A sentence for whoever reads the log."""


class Heaplapse:
    """The command, and for recordings without it the library."""

    def __init__(self, binary, library=None):
        self.binary = binary
        self.library = library

    def run(self, *args):
        """What a command prints; it must succeed and complain about nothing."""
        done = subprocess.run([self.binary, *map(str, args)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise Failure(f'heaplapse {" ".join(map(str, args))}: status {done.returncode}: '
                          f'{done.stderr.strip()}')
        return done.stdout

    def record(self, trace, command, env=None, options=(), preload=None):
        """Start recording `command`; `preload` comes below the recorder. A Popen."""
        env = {**os.environ, **(env or {})}
        if preload:
            env['LD_PRELOAD'] = preload
        return subprocess.Popen([self.binary, 'record', '-q', '-o', trace, *options, '--', *command],
                                env=env)

    def record_bare(self, trace, command, env=None, preload=None):
        """The same without the command: the library starts its collector by itself."""
        below = ':' + preload if preload else ''
        env = {**os.environ, **(env or {}), 'LD_PRELOAD': self.library + below,
               'HEAPLAPSE_OUTPUT': trace}
        return subprocess.Popen(command, env=env)

    def info(self, trace):
        return json.loads(self.run('info', '--json', trace))

    def info_when_ended(self, trace, seconds=10):
        """Of a trace whose collector may still be writing."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                info = self.info(trace)
                if info['end']['kind'] != 'running':
                    return info
            except Failure:
                if time.monotonic() > deadline:
                    raise
            if time.monotonic() > deadline:
                raise Failure(f'{trace} is still being written after {seconds} s')
            time.sleep(0.02)

    def report(self, trace, *args):
        return json.loads(self.run('report', '--json', *args, trace))

    def dump(self, trace):
        """The heap events in order (docs/trace-format.md, section 7)."""
        with subprocess.Popen([self.binary, 'dump', trace], stdout=subprocess.PIPE,
                              text=True) as command:
            for line in command.stdout:
                op, _, thread, _, _, size, _ = line.split(' ', 6)
                if op in ('alloc', 'free'):
                    yield Event(op, thread, int(size))
        if command.returncode:
            raise Failure(f'heaplapse dump {trace}: status {command.returncode}')


def nodes_of(tree):
    """Every node of a report's tree."""
    for node in tree:
        yield node
        yield from nodes_of(node['children'])


def site_of(node):
    found = SITE.match(node['function'] or '')
    return found[0] if found else None


def flatten(tree):
    """{site: (blocks, bytes)} of a report's tree: the sums of the outermost nodes named site_*.

    A site calls the allocator and no other site, so whatever hangs below its node (an operator
    new, a libc function) was allocated for it.
    """
    sites = {}
    todo = list(tree)
    while todo:
        node = todo.pop()
        site = site_of(node)
        if site is None:
            todo += node['children']
            continue
        blocks, size = sites.get(site, (0, 0))
        sites[site] = (blocks + node['blocks'], size + node['bytes'])
    return sites


def check_sums(report):
    """Every node is its own part and its children; the report is the sum of its roots."""
    todo = list(report['tree'])
    for unit in ('bytes', 'blocks'):
        roots = sum(node[unit] for node in report['tree'])
        if roots != report['total_' + unit]:
            raise Failure(f'the tree holds {roots} {unit}, total_{unit} says '
                          f'{report["total_" + unit]}')
    while todo:
        node = todo.pop()
        todo += node['children']
        for unit in ('bytes', 'blocks'):
            parts = node['self_' + unit] + sum(child[unit] for child in node['children'])
            if parts != node[unit]:
                raise Failure(f'{node["function"]}: {node[unit]} {unit}, but its parts are {parts}')


def expect(what, found, wanted):
    if found != wanted:
        raise Failure(f'{what}: {found}, should be {wanted}')


class Results:
    """TAP lines, as tools/test-summary.py counts them."""

    def __init__(self):
        self.failed = 0

    def case(self, name, check, *args):
        """Run a check; True if it raised no Failure."""
        try:
            check(*args)
        except Failure as failure:
            self.failed += 1
            print(f'not ok {name}')
            print('  # ' + str(failure).replace('\n', '\n  # '))
            return False
        except (KeyError, TypeError, ValueError) as error:
            # an answer that is not what the documents promise
            self.failed += 1
            print(f'not ok {name}\n  # {type(error).__name__}: {error}')
            return False
        finally:
            sys.stdout.flush()
        print(f'ok {name}', flush=True)
        return True

    def status(self):
        return 1 if self.failed else 0
