# SPDX-License-Identifier: Apache-2.0
"""bars - cost limits ("bars") for recording and reading, and whether a run stays within them.

The figures come from three sources: the lines of the cost table, a few points of the curves, and
generated traces. A bar without the runs that it needs has no row.
"""
import os
import shutil
from dataclasses import dataclass

import workloads
from measuring import Failed, info, measure, median, say
from runs import clean_environment, compare

MIB = 2**20
READ_RUNS = 3


@dataclass
class Bar:
    what: str
    of: str
    shown: str
    limit: str
    met: object  # None: not measurable


def at_most(what, of, figure, limit, form='%.2f'):
    return Bar(what, of, form % figure, '<= ' + form % limit, figure <= limit)


def at_least(what, of, figure, limit, form='%.2f'):
    return Bar(what, of, form % figure, '>= ' + form % limit, figure >= limit)


class Table:
    """The lines of the cost table, looked up by name."""

    def __init__(self, lines):
        self.lines = {(line.work.name, line.tool.name): line for line in lines if not line.small}
        self.works = list(dict.fromkeys(line.work for line in lines))

    def figure(self, work, tool, key):
        line = self.lines.get((work, tool))
        return line.median_of(key) if line else None

    def extra(self, work, tool, key):
        """The ratio minus one: the cost that the tool adds."""
        ratio = self.figure(work, tool, key)
        return None if ratio is None else ratio - 1


def share_of_heaptrack(table, key):
    """{work: heaplapse's extra cost divided by heaptrack's}; None where heaptrack's is noise."""
    parts = {}
    for work in table.works:
        ours, theirs = (table.extra(work.name, tool, key) for tool in ('heaplapse', 'heaptrack'))
        if ours is not None and theirs is not None:
            parts[work.name] = ours / theirs if theirs > 0.02 else None
    return parts


def overhead_bars(table):
    parts = share_of_heaptrack(table, 'wall_ns_ratio')
    for work, part in parts.items():
        if part is None:
            yield Bar("wall overhead / heaptrack's", work, '-', '<= 0.200', None)
        else:
            yield at_most("wall overhead / heaptrack's", work, part, 0.2, '%.3f')
    told = [part for part in parts.values() if part is not None]
    if told:
        tenth = sum(part <= 0.1 for part in told)
        yield Bar("wall overhead / heaptrack's at most 0.1", 'half of all', '%d of %d' % (tenth, len(told)),
                  '>= %.1f' % (len(told) / 2), 2 * tenth >= len(told))
    for work, part in share_of_heaptrack(table, 'cpu_ns_ratio').items():
        if part is not None:
            yield at_most("extra CPU / heaptrack's", work, part, 0.25, '%.3f')


def loop_bars(table):
    for work, limit in (('loop-20', 6), ('loop-60', 9), ('loop-200', 20)):
        ratio = table.figure(work, 'heaplapse', 'wall_ns_ratio')
        if ratio is not None:
            yield at_most('wall x native', work, ratio, limit)
    ratio = table.figure('cross-2', 'heaplapse', 'ns_ratio')
    if ratio is not None:
        yield at_least('throughput / native', 'cross-2', 1 / ratio, 0.5)


def added_ns(table, work):
    """The extra time of a pair compared with native, by the program's own clock; None: not run."""
    ours, native = (table.figure(work, tool, 'ns') for tool in ('heaplapse', 'native'))
    return None if ours is None or native is None else ours - native


def wrapper_bars(table):
    one, many = (added_ns(table, work) for work in ('wrapper-1', 'wrapper-64'))
    if one is not None and many is not None and one > 0:
        yield Bar('ns added to a pair, x', 'wrapper-64 beside wrapper-1', '%.2f (%.0f / %.0f ns)' %
                  (many / one, many, one), '<= 1.70', many <= 1.7 * one)


def memory_bars(table):
    for work in table.works:
        extra = table.figure(work.name, 'heaplapse', 'extra_rss')
        if extra is not None and work.threads == 1:
            yield at_most('target RSS more, MiB', work.name, extra / MIB, 4)


def size_bars(table):
    real = [table.lines[work.name, 'heaplapse'] for work in table.works
            if work.real and (work.name, 'heaplapse') in table.lines]
    if real:
        bytes_ = sum(line.median_of('trace_bytes') for line in real)
        yield at_most('bytes/event', 'together: ' + ', '.join(line.work.name for line in real),
                      bytes_ / sum(line.events() for line in real), 2, '%.3f')


def start_bars(table):
    extra = table.figure('true', 'heaplapse', 'extra_wall_ns')
    if extra is not None:
        yield at_most('record true over true, ms', 'true', extra / 1e6, 20, '%.1f')


def level_bars(table):
    for work in table.works:
        extra = table.extra(work.name, 'heaplapse-sample', 'wall_ns_ratio')
        if extra is not None:
            yield at_most('sample: wall more, %', work.name, extra * 100, 3, '%.1f')
        bare, theirs = (table.figure(work.name, tool, 'wall_ns_ratio') for tool in ('jemalloc', 'jemalloc-19'))
        if extra is not None and bare and theirs:
            yield at_most("sample: points above jemalloc's", work.name, (1 + extra - theirs / bare) * 100, 2, '%.1f')
        for tool, limit in (('heaplapse-tags', 2), ('heaplapse-tags-owner', 4)):
            ratio = table.figure(work.name, tool, 'ns_ratio')
            if ratio is not None:
                yield at_most(tool[10:] + ': pair x native', work.name, ratio, limit)
    count, trace = (table.figure('loop-20', tool, 'wall_ns_ratio') for tool in ('heaplapse-count', 'heaplapse'))
    if count is not None and trace is not None:
        yield at_most("count: wall / trace's", 'loop-20', count / trace, 1)


def table_bars(lines):
    table = Table(lines)
    return [bar for bars in (overhead_bars, loop_bars, wrapper_bars, memory_bars, size_bars, start_bars, level_bars)
            for bar in bars(table)]


# Points of the curves

def point_bars(place, tools, rounds, pairs):
    """Runs only native and heaplapse: other tools have no bar here."""
    tools = [tool for tool in tools if tool.name in ('native', 'heaplapse')]
    sizes = (pairs,)
    works = [workloads.loop('10^5 live', sizes, 20, live=10**5),
             workloads.loop('10^7 live', sizes, 20, live=10**7),
             workloads.loop('2 threads', sizes, 20, threads=2),
             workloads.loop('64 threads', sizes, 20, threads=64)]
    ours = {line.work.name: line for line in compare(place, tools, works, rounds)
            if line.tool.name == 'heaplapse'}

    def grows(few, many, limit):
        a, b = (ours[name].cost_of_event() for name in (few, many))
        return Bar('cost/event, x', '%s beside %s' % (many, few), '%.2f (%.0f / %.0f ns)' % (b / a, b, a),
                   '<= %.2f' % limit, b <= limit * a)

    yield grows('10^5 live', '10^7 live', 2)
    yield grows('2 threads', '64 threads', 1.5)
    more = (ours['64 threads'].median_of('extra_rss') - ours['2 threads'].median_of('extra_rss')) / 62
    yield at_most('target RSS more, MiB', 'each further thread', more / MIB, 0.3)


# Reading

def generate(place, folder, events):
    trace = os.path.join(folder, '%d.hlt' % events)
    say('making a trace of %d events' % events)
    measure(place.build, folder, [place.built('gen-trace'), '--events=%d' % events, '--output=' + trace])
    totals = info(place.build, trace)['totals']
    if totals['allocations'] + totals['frees'] != events:
        raise Failed('the generated trace has not the %d events that were asked for' % events)
    return trace


def read(place, folder, *arguments, cores=None, runs=READ_RUNS):
    """(median seconds, largest peak in MiB) of a command that reads a trace, with its symbols cached."""
    command = (['taskset', '-c', cores] if cores else []) + [os.path.join(place.build, 'heaplapse'), *arguments]
    done = [measure(place.build, folder, command, clean_environment(),
                    {'HEAPLAPSE_CACHE': os.path.join(folder, 'cache')}, folder) for _ in range(runs)]
    return median(run['wall_ns'] for run in done) / 1e9, max(run['peak_rss'] for run in done) / MIB


def read_bars(place, events):
    folder = place.folder()
    try:
        os.mkdir(os.path.join(folder, 'cache'), 0o700)
        trace = generate(place, folder, events)
        of = '%g events' % events
        read(place, folder, 'report', '--peak', trace, runs=1)  # fills the cache
        seconds, peak = read(place, folder, 'report', '--peak', trace)
        yield at_most('report --peak, s', of, seconds, 1.0)
        yield at_most('report --peak, MiB', of, peak, 150, '%.0f')
        core = str(min(os.sched_getaffinity(0)))
        seconds, _ = read(place, folder, 'report', '--sizes', '--threads', trace, cores=core)
        yield at_least('report --sizes --threads on one core, million events/s', of,
                       events / seconds / 1e6, 80, '%.1f')
        cores = sorted(os.sched_getaffinity(0))[:2]
        if len(cores) == 2:
            seconds, _ = read(place, folder, 'report', '--sites', trace, cores=','.join(map(str, cores)))
            yield at_least('report --sites on two cores, million events/s', of,
                           events / seconds / 1e6, 80, '%.1f')
    finally:
        shutil.rmtree(folder)


REPORTS = (['--peak'], ['--leaks'], ['--at=50%'], ['--allocated'], ['--temporary'], ['--growth=25%..75%'],
           ['--sites'], ['--sizes'], ['--lifetimes'], ['--threads'], ['--timeline'], ['--fragmentation'],
           ['--group=function'])


def large_bars(place, size):
    """A generated trace of `size` bytes. It needs that much disk space and takes minutes to write."""
    folder = place.folder()
    try:
        os.mkdir(os.path.join(folder, 'cache'), 0o700)
        probe = generate(place, folder, 10**7)
        events = int(size / os.path.getsize(probe) * 10**7 * 1.01)
        if shutil.disk_usage(folder).free < 2 * size:
            raise Failed('there is not enough room in %s for a trace of %d bytes' % (folder, size))
        trace = generate(place, folder, events)
        of = '%.1f GB, %.1e events' % (os.path.getsize(trace) / 1e9, events)
        seconds, peak = read(place, folder, 'info', trace)
        yield at_most('info, s', of, seconds, 0.3)
        yield at_most('info, MiB', of, peak, 50, '%.0f')
        for options in REPORTS:
            say('report ' + ' '.join(options))
            seconds, peak = read(place, folder, 'report', *options, trace, runs=1)
            yield at_most('report %s, MiB' % ' '.join(options), '%s, in %.1f s' % (of, seconds), peak, 400,
                          '%.0f')
    finally:
        shutil.rmtree(folder)
