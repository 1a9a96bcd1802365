#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""refused_test - a view that a trace cannot answer is refused with a sentence, --explain says so of the
same views, and all others are answered.

	refused_test.py HEAPLAPSE STACKS

The traces lack different things: events, stacks of frees, mappings, and what a file of another
profiler does not have.
"""
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
import views  # noqa: E402
from tap import case, finish  # noqa: E402

HEAPLAPSE, STACKS = map(os.path.abspath, sys.argv[1:3])
RECORDED = {'all': ['--free-stacks', '--mmap'], 'plain': [], 'count': ['--mode=count', '--free-stacks'],
            'cull': ['--mode=cull', '--free-stacks'], 'sample': ['--mode=sample=4K']}
ASKED = [], ['--leaks'], ['--allocated'], ['--filter=size:>=64'], ['--filter=fn:main'], ['--growth=10%..90%']
USAGE, REFUSED = 2, 3
REASON = ': is refused: '


def run(*args):
    return subprocess.run([HEAPLAPSE, *args], capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, LC_ALL='C.UTF-8', COLUMNS='1000'))


def prepare(*args):
    done = run(*args)
    if done.returncode:
        case(False, f'{args}: status {done.returncode}', done.stderr)


def check(trace, view, asked):
    done, plan = (run('report', *more, view, *asked, trace) for more in ([], ['--explain']))
    if done.returncode == USAGE or 'has no snapshots' in done.stderr:
        return
    named = REASON in plan.stdout.splitlines()[0]
    case(done.returncode == (REFUSED if named else 0) and plan.returncode == 0 and (done.stderr or not named),
         ' '.join([trace, view, *asked]), f'{done.returncode}\n{done.stderr}\n{plan.stdout}')


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for name, options in RECORDED.items():
        prepare('record', '-q', '-o', f'{name}.hlt', '--churn=64K', *options, '--', STACKS)
    for form in 'heaptrack', 'pprof':
        prepare('export', '-q', '-f', form, '-o', form, 'all.hlt')
        prepare('import', '-q', '-o', f'{form}.hlt', form)
    for trace, view, asked in itertools.product([*RECORDED, 'heaptrack', 'pprof'], views.options(), ASKED):
        check(f'{trace}.hlt', view, asked)
    os.chdir('/')
finish()
