# SPDX-License-Identifier: Apache-2.0
"""tools - the tools that run a workload: one row each.

A row has the command that runs and records the program, the files that the tool writes, and the
command that prints them as text. `at` is a run (runs.At): its directory, its build, the program's
command.
"""
import glob
import os
import re
import subprocess
from dataclasses import dataclass

from measuring import Failed, info


@dataclass(frozen=True, eq=False)
class Tool:
    name: str
    command: object = lambda at: at.program
    preload: object = lambda at: []
    variables: object = lambda at: {}
    files: str = ''              # the files that it writes, in the run's directory
    report: object = None        # (at, files) -> the command that prints them as text
    read: object = lambda at, figures: None  # adds figures that only this tool has; fails if the recording is not complete
    slow: bool = False           # run on small inputs only
    events: bool = False         # its file has every event, so that bytes per event are meaningful
    needs: tuple = ()            # files that it needs to run, as glob patterns
    package: str = ''
    on: object = lambda work: True  # whether it runs on a workload
    ours: bool = False           # its failure ends the benchmark and is not only a remark in the table

    def __str__(self):
        return self.name

    def missing(self):
        return [pattern for pattern in self.needs if not glob.glob(pattern)]


def newest_file(files):
    return max(files, key=os.path.getmtime)


# heaplapse

def read_heaplapse(at, figures):
    about = info(at.build, os.path.join(at.folder, 'trace.hlt'))
    totals, cost = about['totals'], about['cost']
    if totals['dropped_events'] or not about['complete']:
        raise Failed('heaplapse dropped %d events of %s; the trace is %scomplete' %
                     (totals['dropped_events'], at.work, '' if about['complete'] else 'not '))
    if figures['cpu_all_ns'] < cost['collector_ns']:
        raise Failed('the collector says it used more processor time than all processes together')
    events = max(1, totals['allocations'] + totals['frees'])
    figures['totals'] = totals
    figures['wait'] = cost['wait_ns'] / events
    figures['collector'] = cost['collector_ns'] / events
    figures['walked'] = cost['frames_walked'] / max(1, cost['unwinds'])
    figures['verified'] = cost['frames_verified'] / max(1, cost['unwinds'])


def heaplapse_mode(name, *options, on):
    """heaplapse in a mode that records less than every event."""
    return Tool('heaplapse-' + name, ours=True, files='trace.hlt', on=on,
                command=lambda at: [os.path.join(at.build, 'heaplapse'), 'record', '-q', '-f', *options, '-o',
                                    os.path.join(at.folder, 'trace.hlt'), '--'] + at.program,
                variables=lambda at: {'HEAPLAPSE_STATS_JSON': os.path.join(at.folder, 'tags.json')})


# heaptrack

def read_heaptrack(at, figures):
    """heaptrack prints the number of allocations that it found. Its own library and the loader
    allocate too, so the number may be larger, but not smaller."""
    said = re.search(r'^\s*allocations:\s+(\d+)', figures['output'], re.M)
    if not said:
        raise Failed('did not say how many allocations it recorded')
    if at.expected and int(said.group(1)) < at.expected[0] * (1 - at.work.slack):
        raise Failed('recorded %s of %d allocations' % (said.group(1), at.expected[0]))


# jemalloc

JEMALLOC = '/usr/lib/*/libjemalloc.so.2'


def can_profile():
    """Whether this jemalloc was built with its profiler, as Debian's is."""
    said = subprocess.run(['true'], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={'LD_PRELOAD': glob.glob(JEMALLOC)[0], 'PATH': os.environ['PATH'],
                               'MALLOC_CONF': 'stats_print:true'})
    return b'config.prof: true' in said.stdout


def jemalloc(name, lg_sample, slow):
    return Tool(name, slow=slow, preload=lambda at: glob.glob(JEMALLOC)[:1],
                variables=lambda at: {'MALLOC_CONF': 'prof:true,prof_final:true,lg_prof_sample:%d,'
                                                     'prof_prefix:%s' % (lg_sample,
                                                                         os.path.join(at.folder, 'je'))},
                files='je.*.heap', report=lambda at, files: ['jeprof', '--text', at.executable, newest_file(files)],
                needs=(JEMALLOC, '/usr/bin/jeprof'), package='libjemalloc2')


# gperftools

TCMALLOC = '/usr/lib/*/libtcmalloc.so.4'


def valgrind(name):
    return Tool(name, slow=True, files='valgrind.out', needs=('/usr/bin/valgrind',), package='valgrind',
                command=lambda at: ['valgrind', '-q', '--tool=' + name, '--%s-out-file=%s' %
                                    (name, os.path.join(at.folder, 'valgrind.out'))] + at.program,
                report=(lambda at, files: ['ms_print', files[0]]) if name == 'massif' else None)


TOOLS = [
    Tool('native', ours=True),
    Tool('passthrough', ours=True, preload=lambda at: [os.path.join(at.build, 'bench', 'passthrough.so')]),
    Tool('heaplapse', ours=True, files='trace.hlt', events=True, read=read_heaplapse,
         command=lambda at: [os.path.join(at.build, 'heaplapse'), 'record', '-q', '-f', '-o',
                             os.path.join(at.folder, 'trace.hlt'), '--'] + at.program,
         report=lambda at, files: [os.path.join(at.build, 'heaplapse'), 'report', files[0]]),
    heaplapse_mode('count', '--mode=count', on=lambda work: work.real or work.name == 'loop-20'),
    heaplapse_mode('sample', '--mode=sample', on=lambda work: work.real),
    heaplapse_mode('tags', '--mode=tags', on=lambda work: work.scopes),
    heaplapse_mode('tags-owner', '--mode=tags', '--tags=owner', on=lambda work: work.scopes),
    Tool('heaptrack', files='trace.*', events=True, read=read_heaptrack,
         command=lambda at: ['heaptrack', '-o', os.path.join(at.folder, 'trace')] + at.program,
         report=lambda at, files: ['heaptrack_print', files[0]],
         needs=('/usr/bin/heaptrack', '/usr/bin/heaptrack_print'), package='heaptrack'),
    Tool('jemalloc', preload=lambda at: glob.glob(JEMALLOC)[:1], needs=(JEMALLOC,), package='libjemalloc2',
         on=lambda work: work.real),
    jemalloc('jemalloc-19', 19, slow=False),
    jemalloc('jemalloc-0', 0, slow=True),
    Tool('gperftools', slow=True, preload=lambda at: glob.glob(TCMALLOC)[:1],
         variables=lambda at: {'HEAPPROFILE': os.path.join(at.folder, 'gp')}, files='gp.*.heap',
         report=lambda at, files: ['google-pprof', '--text', at.executable, newest_file(files)],
         needs=(TCMALLOC, '/usr/bin/google-pprof'), package='libgoogle-perftools4'),
    valgrind('massif'),
    valgrind('dhat'),
]


def choose(names):
    """(the rows with these names, the reasons why others are missing); native always comes first."""
    known = {tool.name: tool for tool in TOOLS}
    wrong = [name for name in names if name not in known]
    if wrong:
        raise Failed('no such tool: %s (there are %s)' % (', '.join(wrong), ', '.join(known)))
    found, remarks = [], []
    for tool in TOOLS:
        if names and tool.name not in names and tool.name != 'native':
            continue
        if tool.missing():
            remarks.append('%s is not measured: there is no %s' % (tool, ', '.join(tool.missing())))
        elif tool.name.startswith('jemalloc') and not can_profile():
            remarks.append('%s is not measured: this libjemalloc2 was built without its profiler' % tool)
        else:
            found.append(tool)
    return found, remarks


def versions(tools):
    packages = sorted({tool.package for tool in tools if tool.package})
    if not packages:
        return
    said = subprocess.run(['dpkg-query', '-W', '-f', '${Package} ${Version}\n'] + packages, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    yield 'compared with: ' + ', '.join(said.stdout.decode().split('\n')[:-1])
