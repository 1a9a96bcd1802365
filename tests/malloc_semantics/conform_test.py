#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""conform_test - an allocator behaves the same whether or not it is recorded.

	conform_test.py --heaplapse BIN --library SO [--below LIBRARY] [--tunables TEXT] [--strict]
	                PROGRAM...

Each PROGRAM prints a line for each of its cases (see conform.h). It runs bare, under `heaplapse
record` and with LD_PRELOAD alone, and every line must be the same. --below preloads another
allocator; then there is a third recorded run with that allocator before libheaplapse.so, which must
print that it does not record. --strict: every case must also pass in the bare run.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..'), os.path.join(HERE, '..', 'exactness')]
import tap  # noqa: E402
from hltrace import Failure, Heaplapse  # noqa: E402

LIMIT = 120
ZERO = ('unknown_frees', 'implicit_frees', 'inherited_frees', 'late_events', 'dropped_events')
LINE = re.compile(r'^((?:not )?ok) \d+ - ([^#\n]*?)(?: # (.*))?$', re.M)
BEHIND = ('heaplapse: this program is not recorded: another allocator precedes libheaplapse.so '
          'in LD_PRELOAD; put libheaplapse.so first\n')


class Ran:
    """The output of a program: its cases by name, and the other text."""

    def __init__(self, command, env, folder):
        done = subprocess.run(command, env=env, cwd=folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=LIMIT)
        self.status, self.err, self.out = done.returncode, done.stderr, done.stdout
        self.cases = {name: (word, more) for word, name, more in LINE.findall(done.stdout)}


class Conform:
    def __init__(self, args):
        self.args = args
        self.heaplapse = Heaplapse(args.heaplapse, args.library)

    def env(self, *preload):
        env = {**os.environ, 'LD_PRELOAD': ':'.join(filter(None, preload))}
        if not env['LD_PRELOAD']:
            del env['LD_PRELOAD']
        env.pop('MALLOC_PERTURB_', None)    # set by meson; the tunable is set here
        if self.args.tunables:
            env['GLIBC_TUNABLES'] = self.args.tunables
        return env

    def bare(self, program, folder):
        return Ran([program], self.env(self.args.below), folder)

    def recorded(self, program, folder):
        return Ran([self.args.heaplapse, 'record', '-q', '-o', 't.hlt', '--', program],
                   self.env(self.args.below), folder)

    def preloaded(self, program, folder):
        env = self.env(self.args.library, self.args.below)
        return Ran([program], {**env, 'HEAPLAPSE_OUTPUT': 't.hlt'}, folder)

    def behind(self, program, folder):
        return Ran([program], self.env(self.args.below, self.args.library), folder)

    def modes(self):
        yield 'record', self.recorded
        yield 'LD_PRELOAD', self.preloaded
        if self.args.below:
            yield 'behind', self.behind

    def is_steady(self, program, name, folder):
        """Whether the bare program prints the same line for a case each time."""
        return len({self.bare(program, folder).cases.get(name) for _ in range(4)}) == 1

    def compare(self, program, title, bare, ran, folder):
        for name, line in bare.cases.items():
            same = ran.cases.get(name) == line
            if not same and not self.is_steady(program, name, folder):
                tap.skipped(f'{title}: {name}', 'differs from one bare run to the next')
                continue
            tap.case(same, f'{title}: {name}', f'bare: {line}\nrecorded: {ran.cases.get(name)}')
        tap.case((ran.status, len(ran.cases)) == (bare.status, len(bare.cases)),
                 f'{title}: exit status', f'{ran.status}, should be {bare.status}\n{ran.err}')

    def check_trace(self, title, folder):
        try:
            info = self.heaplapse.info_when_ended(os.path.join(folder, 't.hlt'))
            wrong = {name: info['totals'][name] for name in ZERO if info['totals'][name]}
            tap.case(info['complete'] and not wrong, f'{title}: the trace is whole', (wrong, info['end']))
        except Failure as failure:
            tap.case(False, f'{title}: the trace is whole', failure)

    def run(self, program):
        name = os.path.basename(program)
        with tempfile.TemporaryDirectory(prefix='heaplapse-conform-') as folder:
            bare = self.bare(program, folder)
        tap.case(bare.cases and (not self.args.strict or bare.status == 0), f'{name}: bare',
                 bare.out + bare.err)
        for mode, run in self.modes():
            title = f'{name}, {mode}'
            with tempfile.TemporaryDirectory(prefix='heaplapse-conform-',
                                             ignore_cleanup_errors=True) as folder:
                ran = run(program, folder)
                self.compare(program, title, bare, ran, folder)
                if mode == 'behind':
                    # each child that execs another program prints it again
                    tap.case(ran.err.startswith(BEHIND), f'{title}: says that it does not record',
                             ran.err)
                else:
                    self.check_trace(title, folder)


def main():
    parser = argparse.ArgumentParser()
    for name in ('--heaplapse', '--library'):
        parser.add_argument(name, type=os.path.abspath, required=True)
    parser.add_argument('--below', metavar='LIBRARY')
    parser.add_argument('--tunables')
    parser.add_argument('--strict', action='store_true')
    parser.add_argument('programs', nargs='+', type=os.path.abspath)
    args = parser.parse_args()
    if args.below and subprocess.run(['/bin/true'], env={'LD_PRELOAD': args.below},
                                     capture_output=True).stderr:
        print(f'{args.below} is not installed')
        return 77
    conform = Conform(args)
    for program in args.programs:
        conform.run(program)
    return tap.finish()


sys.exit(main())
