#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""count_test - the counts of a program equal those of its trace, for each function that it called.

	count_test.py --heaplapse BIN --library SO [--below LIBRARY] PROGRAM...

See conform_count.cpp: each way to allocate has a distinct size.
"""
import argparse
import collections
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..'), os.path.join(HERE, '..', 'exactness')]
import tap  # noqa: E402
from hltrace import Heaplapse  # noqa: E402

REPEATS = 25
HEADER = 64     # of conform_count_header, in front of the blocks of its own operators
ZERO = ('unknown_frees', 'implicit_frees', 'late_events', 'dropped_events')


def count(heaplapse, program, env, folder, mode):
    trace = os.path.join(folder, 't.hlt')
    command = [program, str(REPEATS)]
    if mode == 'record':
        command = [heaplapse.binary, 'record', '-q', '-o', trace, '--', *command]
    else:
        preload = ':'.join(filter(None, (heaplapse.library, env.get('LD_PRELOAD'))))
        env = {**env, 'LD_PRELOAD': preload, 'HEAPLAPSE_OUTPUT': trace}
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, timeout=60)
    title = f'{os.path.basename(program)}, {mode}'
    tap.case(done.returncode == 0, f'{title}: exit status', done.returncode)
    totals = heaplapse.info_when_ended(trace)['totals']
    found = collections.Counter((event.op, event.size) for event in heaplapse.dump(trace))
    for line in done.stdout.splitlines():
        size, allocations, frees, name = line.split(' ', 3)
        has = tuple(found[op, int(size)] + found[op, int(size) + HEADER] for op in ('alloc', 'free'))
        tap.case(has == (int(allocations), int(frees)), f'{title}: {name}',
                 f'{has[0]} allocations and {has[1]} frees, should be {allocations} and {frees}')
    wrong = {name: totals[name] for name in ZERO if totals[name]}
    tap.case(not wrong, f'{title}: nothing unknown, nothing lost', wrong)


def main():
    parser = argparse.ArgumentParser()
    for name in ('--heaplapse', '--library'):
        parser.add_argument(name, type=os.path.abspath, required=True)
    parser.add_argument('--below', metavar='LIBRARY')
    parser.add_argument('programs', nargs='+', type=os.path.abspath)
    args = parser.parse_args()
    env = {name: value for name, value in os.environ.items() if name != 'LD_PRELOAD'}
    if args.below:
        env['LD_PRELOAD'] = args.below
        if subprocess.run(['/bin/true'], env=env, capture_output=True).stderr:
            print(f'{args.below} is not installed')
            return 77
    heaplapse = Heaplapse(args.heaplapse, args.library)
    for program in args.programs:
        for mode in ('record', 'LD_PRELOAD'):
            with tempfile.TemporaryDirectory(prefix='heaplapse-conform-') as folder:
                count(heaplapse, program, env, folder, mode)
    return tap.finish()


sys.exit(main())
