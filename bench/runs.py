# SPDX-License-Identifier: Apache-2.0
"""runs - runs workloads under tools, interleaved, and checks that each recording is complete.

A round runs every tool once on every workload, the tools of a workload one after another; the next
round begins with another tool. A ratio compares a run with the native run of the same workload and
round. Slow tools have a smaller input, with a native run of its own.
"""
import glob
import json
import os
import re
import shutil
import struct
import tempfile
from dataclasses import dataclass, field

import tools as tool_rows
import workloads
from measuring import ROOT, Failed, first_line, info, measure, median, say

NATIVE_S = 2.0        # least native time of a full run
OTHERS_LIMIT_S = 900  # a foreign tool that takes longer has no figures


class Place:
    """The build directory; below it are the inputs and temporary directories of runs. If
    `programs`, another build directory, is given, the workloads' own programs are those of it."""

    def __init__(self, build, programs=None):
        self.build = build
        self.programs = programs or build
        self.inputs = os.path.join(self.programs, 'bench-inputs')
        os.makedirs(self.inputs, exist_ok=True)

    def built(self, name):
        return os.path.join(self.programs, 'bench', name)

    def folder(self):
        return tempfile.mkdtemp(prefix='bench-run-', dir=self.build)  # on disk, like a user's trace


@dataclass
class At:
    """One run, as the rows of tools.py see it."""
    work: object
    size: int
    build: str
    folder: str
    program: list
    expected: tuple = None  # (allocations, frees)

    @property
    def executable(self):
        return shutil.which(self.program[0])


@dataclass
class Line:
    """A tool on a workload, in all rounds."""
    work: object
    tool: object
    size: int
    small: bool = False
    expected: tuple = None
    runs: list = field(default_factory=list)
    failed: str = ''

    def median_of(self, key):
        """The median of a figure over all runs, or None."""
        values = [run[key] for run in self.runs if key in run]
        return median(values) if values and not self.failed else None

    def events(self):
        """The number of events of the program: the recorder's count if there is one, else the expected count."""
        totals = [run['totals'] for run in self.runs if 'totals' in run]
        if totals:
            return median(t['allocations'] + t['frees'] for t in totals)
        return sum(self.expected) if self.expected else None

    def cost_of_event(self):
        """Additional nanoseconds of the whole command per event."""
        return self.median_of('extra_wall_ns') / self.events()

    def span(self, key):
        values = [run[key] for run in self.runs]
        return '%.1f-%.1f' % (min(values), max(values))


def clean_environment():
    """The environment without variables that slow a tool down or change what it does: heaptrack's
    script opens a window on the recording where there is a display, and its interpreter queries
    debuginfod."""
    foreign = ('LD_PRELOAD', 'DISPLAY', 'WAYLAND_DISPLAY', 'DEBUGINFOD_URLS')
    return {key: value for key, value in os.environ.items()
            if key not in foreign and not key.startswith(('HEAPLAPSE_', 'PYTHON'))}


def variables_of(at, tool, below=()):
    preload = [*tool.preload(at), os.path.join(at.build, 'bench', 'peak.so'), *below]
    return {'LD_PRELOAD': ':'.join(preload), 'BENCH_PEAK': os.path.join(at.folder, 'peak'),
            **at.work.variables, **tool.variables(at)}


def half_of_memory():
    return int(first_line('/proc/meminfo', 'MemTotal:').split()[1]) * 512


def files_of(at, tool):
    return sorted(glob.glob(os.path.join(glob.escape(at.folder), tool.files))) if tool.files else []


def measure_once(at, tool, variables):
    """Wall time ends with the command, or with the last write to its file if that is later."""
    command = tool.command(at)
    if at.work.how == 'served':
        command = workloads.serve(at.size, ['env'] + ['%s=%s' % v for v in variables.items()] + command)
        variables = {}
    # heaptrack's interpreter is known to use up all memory. valgrind maps more than it uses.
    limits = {} if tool.ours else {'limit_s': OTHERS_LIMIT_S}
    if not tool.ours and tool.package != 'valgrind':
        limits['memory'] = half_of_memory()
    figures = measure(at.build, at.folder, command, clean_environment(), variables, at.folder, **limits)
    figures['wall_ns'] = max([figures['wall_ns']] + [os.stat(path).st_mtime_ns - figures['began_unix_ns']
                                                     for path in files_of(at, tool)])
    figures['cpu_all_ns'] = figures['cpu_ns']
    if at.work.how == 'served':
        own = json.loads(re.search(r'^\{"wall_ns".*\}$', figures['output'], re.M).group())
        figures['wall_ns'] = own['wall_ns']
        figures['cpu_ns'] -= own['cpu_ns']
    said = re.search(r'^\{"pairs":.*\}$', figures['output'], re.M)
    if said:
        figures['ns'] = json.loads(said.group())['ns_per_pair']
    return figures


def measure_repeated(at, tool, variables):
    runs = [measure_once(at, tool, variables) for _ in range(at.size)]
    return {**runs[-1], **{key: median(run[key] for run in runs)
                           for key in ('wall_ns', 'cpu_ns', 'cpu_all_ns')}}


def target_rss(at):
    """The largest peak that the program, not the tool, wrote (bench/peak.c); none if it was killed before."""
    name = os.path.basename(at.program[0])
    try:
        with open(os.path.join(at.folder, 'peak'), encoding='utf-8') as file:
            lines = [line.split() for line in file]
    except FileNotFoundError:
        lines = []
    return max((int(rss) for rss, who in lines if who == name), default=0)


def add_files(at, tool, figures):
    """Adds the size of the recording and the cost of the tool's own report. heaplapse reports
    without cached symbols."""
    files = files_of(at, tool)
    if not files:
        raise Failed('%s left no %s' % (tool, tool.files))
    figures['trace_bytes'] = sum(map(os.path.getsize, files))
    if tool.report and at.work.report:
        cache = os.path.join(at.folder, 'cache')
        os.mkdir(cache, 0o700)
        report = measure(at.build, at.folder, tool.report(at, files), clean_environment(),
                         {'HEAPLAPSE_CACHE': cache}, at.folder, OTHERS_LIMIT_S)
        figures['report_ns'], figures['report_rss'] = report['wall_ns'], report['peak_rss']


def run_once(place, tool, work, size, expected=None):
    folder = place.folder()
    try:
        at = At(work, size, place.build, folder, work.program(place, size), expected)
        way = measure_repeated if work.how == 'again' else measure_once
        figures = way(at, tool, variables_of(at, tool))
        figures['target_rss'] = target_rss(at)
        tool.read(at, figures)
        if 'totals' in figures and expected:
            workloads.check(work, size, expected, figures['totals'], tool)
        if tool.files:
            add_files(at, tool, figures)
        return figures
    finally:
        shutil.rmtree(folder)


def count(place, work, size):
    """(allocations, frees) that a recording must have. Where the program does not know them, it is
    recorded once with a counting preload below the recorder, and both counts must agree exactly."""
    if work.allocations:
        return (work.allocations(size),) * 2
    recorder = next(tool for tool in tool_rows.TOOLS if tool.name == 'heaplapse')
    folder = place.folder()
    try:
        at = At(work, size, place.build, folder, work.program(place, size))
        below = [os.path.join(place.build, 'tests', 'exactness', 'count_preload.so')] if work.countable else []
        variables = {**variables_of(at, recorder, below), 'COUNT_FILE': os.path.join(folder, 'count')}
        measure_once(at, recorder, variables)
        about = info(place.build, os.path.join(folder, 'trace.hlt'))
        found = about['totals']['allocations'], about['totals']['frees']
        if work.countable:
            with open(os.path.join(folder, 'count.%d' % about['pid']), 'rb') as file:
                allocations, _, frees = struct.unpack('<3Q', file.read(24))
            if found != (allocations, frees):
                raise Failed('heaplapse recorded %d allocations and %d frees of %s, which made %d and %d' %
                             (*found, work, allocations, frees))
        return found
    finally:
        shutil.rmtree(folder)


def grow_size(place, work, size):
    """A size with which the work takes at least NATIVE_S natively."""
    if work.how == 'again':
        return size
    native = tool_rows.TOOLS[0]
    while True:
        took = run_once(place, native, work, size)['wall_ns'] / 1e9
        if took >= NATIVE_S:
            return size
        size *= max(2, int(1.2 * NATIVE_S / took + 1))


def failure_reason(text):
    """One line of a failed tool's output, without the names of our directories."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ['for no reason that it tells']
    telling = [line for line in lines if re.search(r'alloc\b|error|killed|memory|abort|fault', line, re.I)]
    return re.sub(r'\S*/bench-run-[^/\s]*/', '', (telling or lines)[0]).replace(ROOT + '/', '')[:200]


def run_line(place, line):
    if line.failed:
        return
    try:
        line.runs.append(run_once(place, line.tool, line.work, line.size, line.expected))
    except Failed as why:
        if line.tool.ours:
            raise
        line.failed = failure_reason(str(why))
        say('%s on %s: %s' % (line.tool, line.work, line.failed))


def run_round(place, lines, turn):
    """Runs the lines of one workload and size; the first of them is native."""
    turn %= len(lines)
    for line in lines[turn:] + lines[:turn]:
        run_line(place, line)
    native = lines[0].runs[-1]
    for line in lines:
        if not line.failed:
            add_ratios(line.runs[-1], native)


def add_ratios(run, native):
    for key in ('ns', 'wall_ns', 'cpu_ns'):
        if key in run:
            run[key + '_ratio'] = run[key] / native[key]
    run['extra_rss'] = run['target_rss'] - native['target_rss']
    run['extra_wall_ns'] = run['wall_ns'] - native['wall_ns']
    if 'ns' in run and 'wait' in run:
        run['hook'] = (run['ns'] - native['ns']) / 2 - run['wait']


def is_applicable(tool, work):
    knows_scopes = tool.name == 'native' or tool.name.startswith('heaplapse-tags')
    return tool.on(work) and (knows_scopes or not work.scopes)


def compare(place, tools, works, rounds, first_size=0, full=False):
    """The lines, workload by workload, fast tools before slow ones. Fast tools run
    sizes[first_size], slow ones the next smaller size."""
    groups = []
    for work in works:
        for slow in (False, True):
            used = [tool for tool in tools if (tool.slow == slow or tool.name == 'native') and is_applicable(tool, work)]
            if len(used) == 1 and (slow or work.scopes):
                continue
            size = work.sizes[min(first_size + slow, len(work.sizes) - 1)]
            if full and not slow:
                size = grow_size(place, work, size)
            expected = count(place, work, size) if any(tool.events for tool in used) else None
            groups.append([Line(work, tool, size, slow, expected) for tool in used])
    for n in range(rounds):
        for lines in groups:
            say('round %d of %d: %s%s' % (n + 1, rounds, lines[0].work, ', small' * lines[0].small))
            run_round(place, lines, n)
    return [line for lines in groups for line in lines]
