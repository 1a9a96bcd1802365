# SPDX-License-Identifier: Apache-2.0
"""workloads - the programs that are run under every tool: one row each.

A row has three sizes: `full` takes over 2 s natively, `small` is for --quick and for tools that
slow a program down a hundred times, `tiny` is for those tools with --quick. A size is a number that
the row's program interprets; twice the number is about twice the work.
"""
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

import inputs
from measuring import ROOT, Failed

# libc allocates for each thread that starts, and frees a part of it; the program cannot count these events.
EVENTS_OF_A_THREAD = 8


@dataclass(frozen=True, eq=False)
class Work:
    name: str
    sizes: tuple            # full, small, tiny
    program: object         # (place, size) -> the command
    allocations: object = None   # size -> the number of allocations, where it is known in advance
    slack: float = 0.0      # how much two runs of the program differ, as a fraction
    threads: int = 1
    how: str = 'once'       # 'served': by bench/serve.py; 'again': `size` times, medians count
    real: bool = False      # a program in common use
    countable: bool = True  # a counting preload may be placed below the recorder
    report: bool = True
    scopes: bool = False    # measures scopes: only for tools that support them
    needs: tuple = ()       # programs that it needs to run
    variables: dict = field(default_factory=dict)

    def __str__(self):
        return self.name


def loop(name, sizes, depth, threads=1, walk=0, live=0, scopes=0, sites=0):
    def program(place, size):
        return [place.built('loop'), '--pairs=%d' % size, '--depth=%d' % depth, '--threads=%d' % threads,
                '--walk=%d' % walk] + (['--live=%d' % live] if live else []) + \
               (['--scopes=%d' % scopes] if scopes else []) + (['--sites=%d' % sites] if sites else [])
    return Work(name, sizes, program, allocations=lambda size: size + live, threads=threads, scopes=scopes > 0)


def cross(name, sizes, depth):
    return Work(name, sizes, lambda place, size: [place.built('cross'), str(size), str(depth)],
                allocations=lambda size: size, threads=2)


def sqlite3(place, size):
    return ['sqlite3', '-batch', ':memory:', '.read ' + inputs.sql_script(place.inputs, size)]


def xmllint(place, size):
    """A size of ten or more: the 30 MB document size/10 times. Below ten: a 3 MB document `size` times."""
    document = inputs.xml_document(place.inputs, 30 if size >= 10 else 3)
    return ['xmllint', '--noout'] + [document] * (size // 10 if size >= 10 else size)


def python3(_, size):
    return ['/usr/bin/python3', os.path.join(ROOT, 'bench', 'objects.py'), str(size)]


def clang(place, size):
    """Runs the compiler itself, not the driver that starts it. A size of ten or more:
    bench/unit.cpp at -O2, size/10 times. Below ten: a small file; one: an empty file."""
    if size >= 10:
        source, level, times = os.path.join(ROOT, 'bench', 'unit.cpp'), '-O2', size // 10
    else:
        source, level, times = inputs.source(place.inputs, empty=size == 1), '-O0', 1
    said = subprocess.run(['clang++', '-###', '-std=c++17', level, '-c', '-o', 'out.o', source],
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = [line for line in said.stdout.decode().splitlines() if '"-cc1"' in line]
    if not lines:
        raise Failed('clang++ -### does not show its compiler: ' + said.stdout.decode())
    return shlex.split(lines[0]) + [source] * (times - 1)


def redis(place, _):
    return [inputs.redis_server(place.inputs), '--port', '0', '--unixsocket', 'socket', '--save', '',
            '--appendonly', 'no']


MILLION = 10**6
LOOP = (280 * MILLION, MILLION, 20000)

WORKS = [
    loop('loop-5', LOOP, 5),
    loop('loop-20', LOOP, 20),
    loop('loop-60', LOOP, 60),
    loop('loop-200', LOOP, 200),
    loop('walk-20', (110 * MILLION, MILLION, 20000), 20, walk=3),
    loop('walk-60', (110 * MILLION, MILLION, 20000), 60, walk=3),
    loop('live-100000', (40 * MILLION, MILLION, 20000), 20, live=100000),
    loop('wrapper-1', (200 * MILLION, MILLION, 20000), 5, sites=1),
    loop('wrapper-4', (90 * MILLION, MILLION, 20000), 5, sites=4),
    loop('wrapper-64', (90 * MILLION, MILLION, 20000), 5, sites=64),
    cross('cross-2', (100 * MILLION, MILLION, 20000), 20),
    loop('threads-4', (500 * MILLION, MILLION, 20000), 20, threads=4),
    loop('scopes-3', LOOP, 5, scopes=3),
    loop('scopes-3-2', LOOP, 5, threads=2, scopes=3),
    Work('sqlite3', (900, 30, 3), sqlite3, real=True, needs=('sqlite3',)),
    Work('xmllint', (60, 3, 1), xmllint, real=True, needs=('xmllint',)),
    Work('python3', (700, 5, 1), python3, slack=0.0001, real=True,
         variables={'PYTHONMALLOC': 'malloc', 'PYTHONHASHSEED': '0', 'PYTHONDONTWRITEBYTECODE': '1'}),
    Work('clang', (10, 2, 1), clang, slack=0.002, real=True, needs=('clang++',)),
    # Its allocator is jemalloc, whose malloc_usable_size does not accept the blocks of another allocator.
    Work('redis', (200, 20, 2), redis, slack=0.01, how='served', real=True, countable=False,
         needs=('redis-check-rdb', 'redis-cli', 'redis-benchmark')),
    Work('true', (50, 5, 3), lambda place, size: [shutil.which('true')], how='again', report=False),
]


def choose(names):
    """(the rows with these names, or all rows; the reasons why others are missing)"""
    known = {work.name: work for work in WORKS}
    wrong = [name for name in names if name not in known]
    if wrong:
        raise Failed('no such workload: %s (there are %s)' % (', '.join(wrong), ', '.join(known)))
    found, remarks = [], []
    for work in WORKS:
        missing = [name for name in work.needs if not shutil.which(name)]
        if names and work.name not in names:
            continue
        if missing:
            remarks.append('%s is not run: there is no %s' % (work, ', '.join(missing)))
        else:
            found.append(work)
    return found, remarks


def serve(size, command):
    return [sys.executable, os.path.join(ROOT, 'bench', 'serve.py'), str(size)] + command


def check(work, size, expected, totals, what):
    """Fails unless a recording has the program's events: (allocations, frees) of the whole run."""
    extra = EVENTS_OF_A_THREAD * work.threads if work.threads > 1 else 0
    for name, wanted in zip(('allocations', 'frees'), expected):
        slack = wanted * work.slack
        if not wanted - slack <= totals[name] <= wanted + slack + extra:
            raise Failed('%s recorded %d %s of %s, size %d, which made %d' %
                         (what, totals[name], name, work, size, wanted))
