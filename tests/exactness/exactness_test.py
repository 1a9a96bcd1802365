#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""exactness_test - records a program that counts its own blocks, and compares every number of the
trace with it.

	exactness_test.py [--bare] [--option=OPTION...] --heaplapse BIN --library SO --count SO PROGRAM [ARG...]
	exactness_test.py --judges REST --count SO PROGRAM [ARG...]     without a recorder

There are three independent counts: the program's own, per site (programs/truth.h); a preload below
the recorder that counts the calls of the whole process (count_preload.c); and the trace. --bare
records with LD_PRELOAD alone, --option is passed on to `heaplapse record`, --below replaces the
counting preload by another allocator.
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile

from hltrace import Failure, Heaplapse, Results, check_sums, expect, flatten

MUTEX_FIRST, MUTEX_CYCLE = 1000, 50000
ZERO = ('unknown_frees', 'implicit_frees', 'inherited_frees', 'late_events', 'dropped_events')


def compare_sites(found, wanted):
    """Compares two {site: (blocks, bytes)}; a missing site has nothing."""
    wrong = []
    for site in sorted({*found, *wanted}):
        has, should = found.get(site, (0, 0)), tuple(wanted.get(site, (0, 0)))
        if has != should:
            wrong.append(f'{site}: {has[0]} blocks, {has[1]} bytes; '
                         f'should be {should[0]} blocks, {should[1]} bytes')
    if wrong:
        raise Failure('\n'.join(wrong))


class Truth:
    """The program's own counts."""

    def __init__(self, path):
        with open(path, encoding='ascii') as file:
            books = json.load(file)
        self.sites = books['sites']
        self.peak = books['peak']
        self.peak_min, self.peak_max = books['peak_min'], books['peak_max']
        self.moments = books['moments']

    def allocated(self):
        return {name: (s['alloc_blocks'], s['alloc_bytes']) for name, s in self.sites.items()}

    def live(self):
        return {name: (s['alloc_blocks'] - s['free_blocks'], s['alloc_bytes'] - s['free_bytes'])
                for name, s in self.sites.items()}

    def at_peak(self):
        return {name: (s['peak_blocks'], s['peak_bytes']) for name, s in self.sites.items()}


class Run:
    """One recording and the expected values."""

    def __init__(self, args, folder):
        self.args = args
        self.heaplapse = Heaplapse(args.heaplapse, args.library)
        self.trace = os.path.join(folder, 'trace.hlt')
        self.truth_file = os.path.join(folder, 'truth.json')
        self.count_file = os.path.join(folder, 'count')
        self.truth = self.info = None

    def record(self):
        env = {'TRUTH': self.truth_file, 'COUNT_FILE': self.count_file}
        command = [self.args.program, *self.args.args]
        below = self.args.below or self.args.count
        if self.args.bare:
            done = self.heaplapse.record_bare(self.trace, command, env, below)
        else:
            done = self.heaplapse.record(self.trace, command, env, self.args.option, below)
        expect('exit status', done.wait(), 0)
        self.truth = Truth(self.truth_file)
        self.info = self.heaplapse.info_when_ended(self.trace)
        expect('end', self.info['end'], {'kind': 'exit', 'value': 0})
        expect('complete', self.info['complete'], True)
        for name in ZERO:
            expect(name, self.info['totals'][name], 0)

    def check_counts(self):
        """Compares the totals of the process with the counting preload."""
        with open(f'{self.count_file}.{self.info["pid"]}', 'rb') as file:
            allocations, size, frees = struct.unpack('=QQQ', file.read())
        totals = self.info['totals']
        expect('allocations', totals['allocations'], allocations)
        expect('bytes_allocated', totals['bytes_allocated'], size)
        expect('frees', totals['frees'], frees)
        expect('live_blocks_end', totals['live_blocks_end'], allocations - frees)
        expect('bytes_freed + live_bytes_end', totals['bytes_freed'] + totals['live_bytes_end'],
               size)

    def report(self, *args):
        report = self.heaplapse.report(self.trace, *args)
        check_sums(report)
        return report

    def check_allocated(self):
        report = self.report('--allocated')
        expect('total_bytes', report['total_bytes'], self.info['totals']['bytes_allocated'])
        expect('total_blocks', report['total_blocks'], self.info['totals']['allocations'])
        compare_sites(flatten(report['nodes']), self.truth.allocated())

    def check_leaks(self):
        report = self.report('--leaks', '--no-default-suppressions')
        expect('total_bytes', report['total_bytes'], self.info['totals']['live_bytes_end'])
        expect('total_blocks', report['total_blocks'], self.info['totals']['live_blocks_end'])
        compare_sites(flatten(report['nodes']), self.truth.live())

    def check_peak(self):
        report = self.report('--peak')
        sites = flatten(report['nodes'])
        total = sum(size for _, size in sites.values())
        expect('total_bytes', report['total_bytes'], self.info['totals']['peak_bytes'])
        expect('total_blocks', report['total_blocks'], self.info['totals']['peak_blocks'])
        if self.truth.peak == 'exact':
            compare_sites(sites, self.truth.at_peak())
        elif self.truth.peak == 'bounds':
            if not self.truth.peak_min <= total <= self.truth.peak_max:
                raise Failure(f'peak of {total} bytes is outside of {self.truth.peak_min} .. '
                              f'{self.truth.peak_max}')

    def check_sizes(self):
        """The n-th allocation of programs/mutex.c has FIRST + n % CYCLE bytes."""
        number = 0
        for event in self.heaplapse.dump(self.trace):
            # smaller blocks are libc's, for the threads
            if event.op == 'alloc' and event.size >= MUTEX_FIRST:
                expect(f'size of allocation {number}', event.size,
                       MUTEX_FIRST + number % MUTEX_CYCLE)
                number += 1
        expect('allocations', number, sum(n for n, _ in self.truth.allocated().values()))

    def check_moment(self, moment):
        at = moment['unix_ns'] - self.info['start_unix_ns']
        report = self.report('--at', f'{at}ns')
        compare_sites(flatten(report['nodes']), moment['live'])

    def check_moment_is_not_known(self, moment):
        """Between two snapshots an exact answer would need events: the report shows an earlier
        snapshot, and says so."""
        at = moment['unix_ns'] - self.info['start_unix_ns']
        said = subprocess.run([self.heaplapse.binary, 'report', '--strict', '--json', '--at',
                               f'{at}ns', self.trace], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        expect('exit status', said.returncode, 4)
        if b'is not in the file; showing the latest before it' not in said.stderr:
            raise Failure(said.stderr.decode())

    def check_by_thread_is_refused(self):
        said = subprocess.run([self.heaplapse.binary, 'report', '--allocated', '--group', 'thread',
                               self.trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        expect('exit status', said.returncode, 3)
        if b'needs every event' not in said.stderr:
            raise Failure(said.stderr.decode())


def check_all(args, folder):
    results = Results()
    run = Run(args, folder)
    if not results.case('recorded, complete, nothing lost', run.record):
        return 1
    if not args.below:
        results.case('totals equal the count taken below', run.check_counts)
    results.case('allocated, by site', run.check_allocated)
    results.case('live at the end, by site', run.check_leaks)
    results.case({'exact': 'peak, by site', 'bounds': 'peak, within the bounds',
                  'none': 'peak, the same in info and report'}[run.truth.peak], run.check_peak)
    if args.sizes_count_up:
        results.case('events are in the order of the lock', run.check_sizes)
    for number, moment in enumerate(run.truth.moments):
        if args.sums:
            results.case(f'moment {number} is not known', run.check_moment_is_not_known, moment)
        else:
            results.case(f'live at moment {number}, by site', run.check_moment, moment)
    if args.sums:
        results.case('what needs events is refused', run.check_by_thread_is_refused)
    return results.status()


def check_counters(args, folder):
    """Without a recorder: the program's counts and those of the preload must agree with each other first."""
    results = Results()
    truth_file, count_file = os.path.join(folder, 'truth'), os.path.join(folder, 'count')
    env = {**os.environ, 'TRUTH': truth_file, 'COUNT_FILE': count_file, 'LD_PRELOAD': args.count}

    def compare_counters():
        program = subprocess.Popen([args.program, *args.args], env=env)
        expect('exit status', program.wait(), 0)
        with open(f'{count_file}.{program.pid}', 'rb') as file:
            counted = struct.unpack('=QQQ', file.read())
        sites = Truth(truth_file).sites.values()
        own = tuple(sum(s[key] for s in sites)
                    for key in ('alloc_blocks', 'alloc_bytes', 'free_blocks'))
        # The rest is libc's: allocations for threads, exceptions and libstdc++. Some programs have none.
        rest = tuple(c - o for c, o in zip(counted, own))
        if min(rest) < 0 or rest[0] > args.judges or rest[2] > rest[0]:
            raise Failure(f'counted {counted}, the program says {own}')

    results.case('books and count agree', compare_counters)
    return results.status()


def library_exists(name):
    """Whether the loader finds the library; it prints an error if it does not find a preload."""
    said = subprocess.run(['/bin/true'], env={'LD_PRELOAD': name}, stderr=subprocess.PIPE).stderr
    return not said


def main():
    parser = argparse.ArgumentParser()
    # Absolute, because the loader searches its own path for a preload without a directory.
    for name in ('--heaplapse', '--library', '--count'):
        parser.add_argument(name, type=os.path.abspath)
    parser.add_argument('--below', metavar='LIBRARY', help='another allocator instead of the count')
    parser.add_argument('--bare', action='store_true')
    parser.add_argument('--option', action='append', default=[])
    parser.add_argument('--sizes-count-up', action='store_true',
                        help='the program is mutex: its allocations show their order')
    parser.add_argument('--sums', action='store_true',
                        help='not all events are in the trace: of moments only snapshots are known')
    parser.add_argument('--judges', type=int, metavar='REST',
                        help="record nothing; at most REST allocations are not the program's own")
    parser.add_argument('program', type=os.path.abspath)
    parser.add_argument('args', nargs=argparse.REMAINDER)
    args = parser.parse_args()
    if args.below and not library_exists(args.below):
        print(f'{args.below} is not installed')
        return 77
    with tempfile.TemporaryDirectory(prefix='heaplapse-truth-') as folder:
        return check_all(args, folder) if args.judges is None else check_counters(args, folder)


sys.exit(main())
