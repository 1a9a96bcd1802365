# SPDX-License-Identifier: Apache-2.0
"""late_traces - random queries that a whole trace and a late one of the same run must answer alike."""
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import case  # noqa: E402

CALLED = 'malloc', 'calloc', 'realloc', 'operator new', 'aligned_alloc', '[call not looked up]'


def lines(*args):
    return subprocess.run(args, capture_output=True, text=True, check=True).stdout.splitlines()


def plain(answer):
    """Without what may differ: the function that a stack called first (numbers.md) and its owner, resident memory,
    of which the late file has no earlier sample, and the notes that no block of the file matches a term, or all."""
    if isinstance(answer, dict):
        called = answer.get('function') in CALLED
        return {k: '*' if called and k in ('function', 'owner') else plain(v)
                for k, v in answer.items() if k not in ('resident_bytes', 'matches_no_block', 'terms_exclude_each_other')}
    if isinstance(answer, list):
        # children with equal sums are ordered by name
        return sorted(map(plain, answer), key=lambda x: json.dumps(x, sort_keys=True))
    return answer


class Tool:
    """The program under test."""

    def __init__(self, heaplapse):
        self.heaplapse = os.path.abspath(heaplapse)

    def run(self, *args):
        return subprocess.run([self.heaplapse, *args], capture_output=True, text=True, timeout=120,
                              env=dict(os.environ, LC_ALL='C.UTF-8', HEAPLAPSE_CACHE='off'))

    def ask(self, trace, args):
        done = self.run('report', '--json', *args, trace)
        if done.returncode:
            return done.returncode, done.stderr.replace(trace, 'TRACE')
        return 0, plain(json.loads(done.stdout))


class Pair:
    """A whole trace and a late one. Subclasses set whole, late, events (the whole trace's, as dump-trace prints
    them), n (the number of events before the base), begin and end (times of the base and of the last event)."""

    def __init__(self, rng):
        self.rng = rng

    def time(self, low=None):
        return self.rng.randrange(low or self.begin + 1, self.end)

    def address(self):
        return int(self.events[self.rng.randrange(self.n, len(self.events))].split()[4], 16)

    def size(self):
        return int(self.events[self.rng.randrange(len(self.events))].split()[5])

    def term(self):
        a, b = sorted((self.time(), self.time()))
        low, high = sorted((self.address(), self.address()))
        return self.rng.choice([
            f'size:>={self.size()}', f'size:<{self.size()}', f'life:>{self.rng.randrange(1, 3000)}us', f'life:<{self.rng.randrange(1, 900)}us',
            f'alive:{self.time()}ns', f'time:{a}ns..{b}ns', f'time:..{b}ns', f'addr:0x{low:x}..0x{high + 1:x}',
            f'thread:{self.rng.randrange(4)}', '-thread:1', 'call:calloc', 'call:malloc', 'module:made-up',
            f'time:{self.rng.randrange(1, self.begin)}ns..{b}ns', f'alive:{self.rng.randrange(1, self.begin)}ns'])

    def query(self):
        a = self.time()
        b = self.time(a)
        args = self.rng.choice([['--at', f'{a}ns'], ['--allocated', '--range', f'{a}ns..{b}ns'], ['--growth', f'{a}ns..{b}ns'],
                           ['--temporary', '--range', f'{a}ns..{b}ns'], ['--leaks'], ['--at', f'{self.begin}ns'],
                           ['--temporary=20us', '--range', f'{a}ns..'], ['--allocated', '--range', f'{a}ns..']])
        if self.rng.random() < .6:
            args = args + ['--filter', self.term()]
        if self.rng.random() < .2:
            args = args + ['--filter', self.term()]
        return args + self.rng.choice([[], [], ['--group', 'thread'], ['--group', 'call'], ['--group', 'tag'], ['--sizes'],
                                  ['--lifetimes'], ['--group', 'function'], ['--group', 'module'], ['--group', 'stack'],
                                  ['--fragmentation'] if args[0] in ('--at', '--leaks') else []])



def compare_queries(tool, pair, count, what):
    """`count` random queries have the same answers."""
    wrong = []
    for _ in range(count):
        args = pair.query()
        whole, late = tool.ask(pair.whole, args), tool.ask(pair.late, args)
        if whole != late or whole[0]:
            wrong.append(f'report {" ".join(args)}: {str(whole)[:300]} | {str(late)[:300]}')
    case(not wrong, f'{count} queries of {what} after event {pair.n}', '\n'.join(wrong[:5]))
