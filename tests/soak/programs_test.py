#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""programs_test - third-party programs behave the same bare and recorded.

	programs_test.py --heaplapse BIN --library SO --last-look SO [--preload] TIER|NAME...

It compares stdout, stderr, exit status, and the open descriptors and environment of every process
that ends by exit (see last_look.c), except for our entry in LD_PRELOAD and one variable. Runs that
differ are repeated on both sides; they count as different only if they never agree. --preload
records by LD_PRELOAD alone.
"""
import argparse
import glob
import os
import re
import sys
import tempfile

from programs import PROGRAMS, make_files
from soak import Side, Table, clean_env, is_installed, tap

OURS = ('env HEAPLAPSE_SOCKET=', 'env HEAPLAPSE_SESSION=',
        'env HEAPLAPSE_OUTPUT=')     # the last is set by the user, with LD_PRELOAD alone
AGAIN = 3


def exit_states(folder, heaplapse, library):
    """The output of last_look.c of each process, without our entries; sorted, because pids are not comparable."""
    found = []
    for name in glob.glob(os.path.join(folder, '*')):
        with open(name, encoding='utf-8', errors='surrogateescape') as file:
            text = file.read()
        if text.startswith(f'exe {heaplapse}\n'):
            continue    # record itself and its collector: not part of the program
        # pids in names: make 4.4's fifo for its jobs, git's packs
        text = re.sub(r'(/GMfifo|/\.tmp-)\d+', r'\1PID', text)
        lines = [line.replace(f'env LD_PRELOAD={library}:', 'env LD_PRELOAD=') for line in text.splitlines()
                 if not line.startswith(OURS)]
        found.append('\n'.join(lines))
    return sorted(found)


class Comparison:
    def __init__(self, args):
        self.args = args
        self.bare = Side('bare', seconds=300)
        if args.preload:
            self.recorded = Side('recorded', library=args.library, seconds=300)
        else:
            self.recorded = Side('recorded', args.heaplapse, seconds=300)

    def run(self, side, script):
        """All visible results of a run."""
        # the same directory prefix on both sides: programs print their paths
        with tempfile.TemporaryDirectory(prefix='heaplapse-soak-', ignore_cleanup_errors=True) as folder:
            work, seen = os.path.join(folder, 'work'), os.path.join(folder, 'seen')
            os.mkdir(work)
            os.mkdir(seen)
            make_files(work)
            env = clean_env(HOME=work, TMPDIR=work, LD_PRELOAD=self.args.last_look, LAST_LOOK=seen)
            done = side.run(['/bin/sh', '-c', script], work, env)
            same = [part.replace(folder, 'FOLDER') for part in (done.out, done.err)]
            return {'status': done.status, 'stdout': same[0], 'stderr': re.sub(r'/tmp/cc\w+\.', '/tmp/cc.', same[1]),
                    'descriptors and environment': [text.replace(folder, 'FOLDER')
                                                    for text in exit_states(seen, self.args.heaplapse, self.args.library)]}

    def differences(self, script):
        """{result: (bare, recorded)} of the results that never agree."""
        one, two = self.run(self.bare, script), self.run(self.recorded, script)
        wrong = {what for what in one if one[what] != two[what]}
        for _ in range(AGAIN):
            if not wrong:
                break
            again = self.run(self.bare, script), self.run(self.recorded, script)
            wrong = {what for what in wrong if not any(x[what] == y[what] for x in (one, again[0])
                                                       for y in (two, again[1]))}
        return one, {what: (one[what], two[what]) for what in wrong}


def explain(bare, recorded):
    if not isinstance(bare, (list, str)):
        return f'bare {bare!r}, recorded {recorded!r}'
    one, two = ('\n'.join(x).splitlines() if isinstance(x, list) else x.splitlines() for x in (bare, recorded))
    only = [f'bare: {line}' for line in one if line not in two] + [f'recorded: {line}' for line in two if line not in one]
    return '\n'.join(only[:20]) or 'the same lines in another order or number'


def main():
    parser = argparse.ArgumentParser()
    for name in ('--heaplapse', '--library', '--last-look'):
        parser.add_argument(name, type=os.path.abspath, required=True)
    parser.add_argument('--preload', action='store_true')
    parser.add_argument('wanted', nargs='+')
    args = parser.parse_args()
    comparison, table = Comparison(args), Table()
    for name, tier, needs, script in PROGRAMS:
        if not {name, tier} & {*args.wanted}:
            continue
        if not is_installed(needs):
            tap.skipped(name, f'{needs} is not installed')
            continue
        one, wrong = comparison.differences(script)
        for what in one:
            tap.case(what not in wrong, f'{name}: {what}', what in wrong and explain(*wrong[what]))
        tap.case(one['stdout'] + one['stderr'] and one['descriptors and environment'], f'{name}: there was something to compare')
        table.add(name, len(one), len(one) - len(wrong), len(wrong))
    tap.case(comparison.recorded.traces >= len(table.rows), 'what was compared was recorded', comparison.recorded.traces)
    table.finish()
    return tap.finish()


sys.exit(main())
