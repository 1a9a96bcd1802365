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
        """Of a trace whose collector may still be writing. It writes the end first and the index after it, so one that has an end may
        become complete yet: within a second, or never."""
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


def site_of(node):
    found = SITE.match(node['function'] or '')
    return found[0] if found else None


def flatten(nodes):
    """{site: (blocks, bytes)} of a report's nodes: the sums of the outermost ones named site_*.

    A site calls the allocator and no other site, so whatever hangs below its node (an operator
    new, a libc function) was allocated for it.
    """
    sites = {}
    inside = []  # of each node: it is in a site
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
    """Every node is its own part and its children; the report is the sum of its roots."""
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
