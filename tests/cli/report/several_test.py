#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""several_test - several views in one command equal the same views one by one, for any quantity and
filter.

	several_test.py HEAPLAPSE GEN_TRACE
"""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
import views  # noqa: E402
from tap import case, finish  # noqa: E402

heaplapse, gen_trace = map(os.path.abspath, sys.argv[1:3])

# Traces of several chunks: with summaries, without, and with all special cases.
TRACES = {'summaries': ['--nodes=20', '--live=500'], 'stacks': ['--nodes=5000', '--live=20000'],
          'strange': ['--nodes=200', '--live=2000', '--strange', '--free-stacks']}
# Views that need every event come first, last and between others.
VIEWS = [['--sizes', '--threads'], ['--threads', '--sizes', '--timeline'],
         ['--lifetimes', '--sites', '--threads'], ['--sizes', '--threads', '--sites'],
         ['--group=thread', '--group=call', '--group=function', '--sizes', '--lifetimes']]
# Holders with the same number of pages are in the order in which their names were looked up, so
# this view comes first.
MOMENT = [['--fragmentation', '--sizes', '--threads'], ['--fragmentation', '--sites', '--group=call'], ['--fragmentation', '--sites', '--timeline']]
ASKED = [[], ['--allocated', '--range=20%..70%'], ['--temporary'], ['--growth=10%..90%'],
         ['--filter=size:>=64 thread:0,1'], ['--allocated', '--range=@peak..', '--filter=life:<1ms'],
         ['--filter=time:30%..60%'], ['--range=..50%', '--filter=fn:e']]
ASKED_MOMENT = [[], ['--at=40%'], ['--leaks'], ['--leaks', '--no-default-suppressions'],
                ['--at=70%', '--filter=size:<1K'], ['--filter=alive:50%']]


def report(*arguments):
    done = subprocess.run([heaplapse, 'report', '--min=0', *arguments], capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, LC_ALL='C.UTF-8', COLUMNS='100'))
    # The notes on missing names are printed once for all views.
    return done.returncode, done.stdout.split('\nnames:\n')[0]


def check(trace, name, parts, asked):
    alone = [report(view, *asked, trace) for view in parts]
    together = report(*parts, *asked, trace)
    expected = (max(status for status, _ in alone), '\n'.join(text for _, text in alone))
    case(together == expected and all(text for _, text in alone), ' '.join([name, *parts, *asked]),
         f'{together[0]}, alone {expected[0]}\n{together[1]}\nalone:\n{expected[1]}')


def damage(trace):
    """A copy with some bytes in the middle changed."""
    data = bytearray(pathlib.Path(trace).read_bytes())
    middle = len(data) // 2
    data[middle:middle + 8] = bytes(byte ^ 0x5a for byte in data[middle:middle + 8])
    path = trace.replace('.hlt', '-damaged.hlt')
    pathlib.Path(path).write_bytes(data)
    return path


with tempfile.TemporaryDirectory() as folder:
    for name, options in TRACES.items():
        trace = f'{folder}/{name}.hlt'
        subprocess.run([gen_trace, '--events=200000', *options, '-o', trace], check=True, stdout=subprocess.DEVNULL)
        for parts in VIEWS:
            for asked in ASKED:
                check(trace, name, parts, asked)
        for parts in MOMENT:
            for asked in ASKED_MOMENT:
                check(trace, name, parts, asked)
    for view in views.options():
        if view in ('--mmaps', '--resident'):  # the generated traces have none
            continue
        for asked in [], ['--filter=size:>=64 thread:0,1']:
            check(trace, name, [view, *(other for other in ('--sizes', '--threads') if other != view)], asked)
        check(damage(trace), name + ', damaged', ['--sizes', '--threads'], [])
finish()
