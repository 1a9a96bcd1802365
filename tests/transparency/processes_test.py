#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""processes_test - children of every kind: each has its own trace, with its own events and its own end."""
import collections
import json
import os
import shutil
import signal
import time

from transparency import Failure, Skip, children_of, expect, expect_lossless, main, wait_until

NUMBER = {1000: 100, 2000: 200, 3000: 300}      # number of blocks of a size that a process of family.c allocates


def sizes(place, trace):
    """{size: (allocations, frees)} of the sizes that identify a process."""
    count = collections.Counter()
    for line in place.dump(trace):
        op, _, _, _, _, size, _ = line.split(' ', 6)
        if op in ('alloc', 'free') and int(size) in NUMBER:
            count[op, int(size)] += 1
    return {size: (count['alloc', size], count['free', size]) for size in NUMBER
            if count['alloc', size] or count['free', size]}


class Family:
    """A run of family.c and its traces, found by the size of their blocks."""

    def __init__(self, place, mode, way, status, traces, *args, options=('-q',)):
        if mode == 'bare':
            self.done = place.bare(place.program('family'), way, *args)
        else:
            self.done = place.record(place.program('family'), way, *args, options=options)
        expect('status and output', (self.done.status, self.done.out, self.done.err), (status, '', ''))
        self.infos = place.infos(traces)
        self.place = place

    def member(self, size):
        """The info of the trace that has blocks of this size and of no other process."""
        found = [(name, info) for name, info in self.infos.items()
                 if sizes(self.place, name) == {size: (NUMBER[size], NUMBER[size] - 10)}]
        if len(found) != 1:
            raise Failure(f'{len(found)} traces with blocks of {size} bytes: '
                          f'{[sizes(self.place, name) for name in self.infos]}')
        return found[0][1]


def with_child(place, way, status, end, inherited=10):
    for mode in ('record', 'bare'):
        family = Family(place, mode, way, status, 2)
        parent, child = family.member(1000), family.member(2000)
        expect_lossless(parent, end=('exit', status))
        expect_lossless(child, end=end)
        expect('inherited frees of the parent', parent['totals']['inherited_frees'], 0)
        expect('inherited frees of the child', child['totals']['inherited_frees'], inherited)
        expect('one program', parent['program'], child['program'])
        place.remove_traces()


def test_fork(place):
    """fork: the child's events, what it inherited, its end"""
    with_child(place, 'fork', 21, ('exit', 21))


def test_raw_fork(place):
    """syscall(SYS_fork)"""
    with_child(place, 'raw-fork', 22, ('exit', 22))


def test_raw_clone(place):
    """syscall(SYS_clone)"""
    with_child(place, 'raw-clone', 23, ('exit', 23))


def test_clone(place):
    """clone() on a stack of its own"""
    with_child(place, 'clone', 24, ('exit', 24))


def test_signal(place):
    """a child that a signal kills"""
    with_child(place, 'signal', 128 + signal.SIGABRT, ('signal', 6))


def test_killed(place):
    """50 children that are killed at once and reaped at once: the end of each is known"""
    for mode in ('record', 'bare'):
        family = Family(place, mode, 'killed', 35, 51)
        expect_lossless(family.member(1000), end=('exit', 35))
        ends = collections.Counter((i['end']['kind'], i['end']['value']) for i in family.infos.values())
        expect('ends', dict(ends), {('signal', 9): 50, ('exit', 35): 1})
        for name, info in family.infos.items():
            expect_lossless(info)
            os.unlink(name)


def test_vfork(place):
    """vfork and exec: events of the child before the exec are its parent's"""
    with_child(place, 'vfork', 20, ('exit', 20), inherited=0)


def test_vfork_exit(place):
    """the _exit of a vfork child is not its parent's"""
    for mode in ('record', 'bare'):
        family = Family(place, mode, 'vfork-exit', -9, 1)
        expect_lossless(family.member(1000), end=('signal', 9))
        os.unlink(place.traces()[0])


def test_raw_stack(place):
    """syscall(SYS_clone) with CLONE_VM and its own stack: the child returns to the right place"""
    expect('alone', place.run(place.program('family'), 'raw-stack').status, 32)
    for mode in ('record', 'bare'):
        family = Family(place, mode, 'raw-stack', 32, 1)
        expect_lossless(family.member(1000), end=('exit', 32))
        os.unlink(place.traces()[0])


def test_spawn(place):
    """posix_spawn"""
    with_child(place, 'spawn', 20, ('exit', 20), inherited=0)


def with_shell(place, way):
    for mode in ('record', 'bare'):
        # dash execs the last command of -c
        family = Family(place, mode, way, 20, 3)
        expect_lossless(family.member(1000), end=('exit', 20))
        expect_lossless(family.member(2000), end=('exit', 20))
        place.remove_traces()


def test_system(place):
    """system()"""
    with_shell(place, 'system')


def test_popen(place):
    """popen()"""
    with_shell(place, 'popen')


def test_grandchild(place):
    """a child's child"""
    for mode in ('record', 'bare'):
        family = Family(place, mode, 'grandchild', 31, 3)
        expect_lossless(family.member(1000), end=('exit', 31))
        expect_lossless(family.member(2000), end=('exit', 31))
        # it does not free inherited blocks
        found = [sizes(place, name) for name, info in family.infos.items() if info['end']['value'] == 33]
        expect('the grandchild', found, [{3000: (300, 290)}])
        place.remove_traces()


def test_parents(place):
    """a trace names the process that forked its own"""
    Family(place, 'record', 'grandchild', 31, 3)
    pids = {}
    for name in place.traces():
        who = next(iter(sizes(place, name)))
        pids[who] = place.parents(name)
    expect('parent of the child', pids[2000][1], pids[1000][0])
    expect('parent of the grandchild', pids[3000][1], pids[2000][0])


def test_no_follow(place):
    """--no-follow-fork: no trace of children, the parent's is normal"""
    for way, status in (('fork', 21), ('raw-fork', 22), ('clone', 24), ('grandchild', 31)):
        family = Family(place, 'record', way, status, 1, options=('-q', '--no-follow-fork'))
        expect_lossless(family.member(1000), end=('exit', status))
        os.unlink(place.traces()[0])


def test_no_follow_exec(place):
    """--no-follow-exec: one trace, up to its own exec; the executed program has the same environment as bare"""
    other = 'libm.so.6'
    for preload in ({}, {'LD_PRELOAD': other}):
        env = {**os.environ, **preload}
        wanted = place.run(place.program('execs'), env=env).out
        expect('bare', wanted.splitlines()[0], f'bad 0, {preload.get("LD_PRELOAD", "none")}')
        done = place.record(place.program('execs'), options=('-q', '--no-follow-exec', '-o', 'r%n.hlt'), env=env)
        expect('recorded', (done.status, done.err), (0, ''))
        expect('environment', sorted(done.out.splitlines()), sorted(wanted.splitlines()))
        expect_lossless(next(iter(place.infos(1, 'r*.hlt').values())), end=('exec', 0))
        expect('blocks', sum(' 3001 ' in line for line in place.dump('r1.hlt')), 3)
        own = {'HEAPLAPSE_NO_FOLLOW_EXEC': '1', 'HEAPLAPSE_OUTPUT': 'b%p.hlt'}
        done = place.run(place.program('execs'), env={**env, **own, 'LD_PRELOAD': ':'.join([place.library, *preload.values()])})
        expect('environment under LD_PRELOAD', sorted(done.out.splitlines()),
               sorted(wanted.splitlines() + [f'{name}={value}' for name, value in own.items()]))
        expect_lossless(next(iter(place.infos(1, 'b*.hlt').values())), end=('exec', 0))
        done = place.run(place.program('execs'), env={**env, 'HEAPLAPSE_MODE': 'tags', 'HEAPLAPSE_NO_FOLLOW_EXEC': '1', 'LD_PRELOAD': place.library})
        expect('mode tags alone', 'libheaplapse' in done.out, False)
        place.remove_traces()
    done = place.record(place.program('execs'), options=('-q', '-o', 'f%n.hlt'))
    expect('without it all are recorded', len(place.infos(pattern='f*.hlt')) >= 5, True)


def test_threads(place):
    """20 forks from a thread while three others allocate"""
    for mode in ('record', 'bare'):
        family = Family(place, mode, 'threads', 26, 21)
        members = [sizes(place, name) for name, info in family.infos.items() if info['end']['value'] == 0]
        expect('children', members, [{2000: (200, 190)}] * 20)
        for info in family.infos.values():
            expect_lossless(info)
        place.remove_traces()


def test_start(place):
    """a child that is forked while recording is off, and starts it, has a trace of its own"""
    family = Family(place, 'record', 'start', 27, 2)
    ends = sorted((sizes(place, name) for name in family.infos), key=str)
    expect('blocks', ends, [{1000: (100, 90)}, {2000: (200, 190)}])


def test_reexec(place):
    """a program that executes itself: one trace each, all but the last end by exec"""
    for mode in ('record', 'bare'):
        family = Family(place, mode, 'reexec', 29, 4, '3')
        expect('ends', sorted((i['end']['kind'], i['end']['value']) for i in family.infos.values()),
               [('exec', 0)] * 3 + [('exit', 29)])
        for name, info in family.infos.items():
            expect_lossless(info)
            expect('blocks', sizes(place, name), {1000: (100, 90)})
            os.unlink(name)


def test_exec_static(place):
    """exec of a program that cannot be recorded ends the trace by exec"""
    with open('x.c', 'w', encoding='ascii') as file:
        file.write('int main(void) { return 9; }\n')
    expect('compiler', place.run('gcc', '-static', '-o', 'x', 'x.c').status, 0)
    for mode in ('record', 'bare'):
        done = place.in_mode(mode, '/bin/sh', '-c', 'exec ./x')
        expect('status', done.status, 9)
        expect_lossless(place.info(), end=('exec', 0))
        os.unlink(place.traces()[0])


def test_exec_fails(place):
    """an exec that fails is no end: the trace goes on"""
    for mode in ('record', 'bare'):
        family = Family(place, mode, 'exec-fails', 34, 1)
        expect_lossless(family.member(1000), end=('exit', 34))
        os.unlink(place.traces()[0])


def test_exec_words(place):
    """every function of the exec family passes its arguments and environment on"""
    for mode in ('record', 'bare'):
        for way in ('execve', 'execv', 'execvp', 'execvpe', 'fexecve', 'execveat', 'execl', 'execlp', 'execle'):
            done = place.in_mode(mode, place.program('family'), 'words', way)
            expect(f'{way}: status and output', (done.status, done.out), (0, 'one|two words|WORD=here\n'))
            infos = place.infos(2)
            expect(f'{way}: ends', sorted(info['end']['kind'] for info in infos.values())[0], 'exec')
            for name in infos:
                os.unlink(name)


def test_daemon(place):
    """a daemon that outlives record: record returns at once, the daemon's trace is complete later"""
    for mode in ('record', 'bare'):
        command = [place.program('family'), 'daemon', os.path.abspath('flag')]
        begin = time.monotonic()
        done = place.in_mode(mode, *command)
        expect('status', done.status, 0)
        if time.monotonic() - begin > 5:
            raise Failure('record waited for the daemon')
        wait_until('a running trace', lambda: any(
            place.heaplapse.info(name)['end']['kind'] == 'running' for name in place.traces()))
        open('flag', 'w').close()
        infos = place.infos(4)
        found = [(name, info) for name, info in infos.items() if info['end']['value'] == 28]
        expect('daemons', len(found), 1)
        expect_lossless(found[0][1], end=('exit', 28))
        expect('blocks', sizes(place, found[0][0]), {2000: (200, 190), 3000: (300, 290)})
        os.unlink('flag')
        for name in infos:
            os.unlink(name)


def test_script(place):
    """a shell script with 150 short children"""
    script = 'i=0; while [ $i -lt 150 ]; do /bin/true; i=$((i+1)); done; exit 4'
    done = place.record('/bin/sh', '-c', script)
    expect('status and stderr', (done.status, done.err), (4, ''))
    # on a busy machine the children's traces are written after the shell's own
    wait_until('150 traces', lambda: len(place.traces_of('true')) >= 150)
    infos = place.infos()
    expect('programs', sum(info['program'].endswith('true') for info in infos.values()), 150)
    for name, info in infos.items():
        try:
            expect_lossless(info)
        except Failure as failure:
            raise Failure(f'{name}: {failure}') from None


def test_parents_after_exec(place):
    """each process names its parent, also after exec"""
    for mode in ('record', 'bare'):
        done = place.in_mode(mode, '/bin/sh', '-c', 'echo $$ $PPID; /bin/true; /bin/echo; exit 0')
        shell, above = map(int, done.out.split())
        wait_until('two children', lambda: place.traces_of('true') and place.traces_of('echo'))
        place.infos()
        rows = json.loads(place.heaplapse.run('report', '--json', '--group', 'process', *place.traces()))['processes']
        parents = {row['pid']: row['parent_pid'] for row in rows}
        expect('parents', sorted(parents.values()), sorted([above, shell, shell]))
        expect('the parent of the shell', parents[shell], above)
        place.remove_traces()


def test_make(place):
    """make -j4: every compiler, assembler and linker has a complete trace, and a parent among them"""
    if not shutil.which('make'):
        raise Skip('make is not installed')
    with open('Makefile', 'w', encoding='ascii') as file:
        file.write('all: 1 2 3 4 5 6\n%: %.c\n\tgcc -o $@ $<\n')
    for number in range(1, 7):
        with open(f'{number}.c', 'w', encoding='ascii') as file:
            file.write('int main(void) { return 0; }\n')
    done = place.record('make', '-j4', '-s')
    expect('status and stderr', (done.status, done.err), (0, ''))
    infos = place.infos()
    programs = collections.Counter(os.path.basename(info['program']) for info in infos.values())
    expect('compilers', programs['cc1'], 6)
    expect('made', all(os.access(str(number), os.X_OK) for number in range(1, 7)), True)
    pids = {info['pid'] for info in infos.values()}
    for name, info in infos.items():
        expect_lossless(info)
        if not info['program'].endswith('make'):
            expect('the parent is recorded, too', place.parents(name)[1] in pids, True)


def test_stopped_script(place):
    """messages of the collector are not lost while record is stopped"""
    script = ('kill -STOP $PPID; i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done; '
              'kill -CONT $PPID; exit 4')
    done = place.record('/bin/sh', '-c', script)
    expect('status and stderr', (done.status, done.err), (4, ''))


def test_collector_ends(place):
    """no process of heaplapse is left"""
    before = len(collectors())
    for mode in ('record', 'bare'):
        place.in_mode(mode, place.program('family'), 'fork')
    wait_until('the collectors end', lambda: len(collectors()) <= before, 5)


def collectors():
    """Processes of the command in this directory; other tests may run at the same time in other directories."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as file:
                words = file.read().split(b'\0')
            if os.path.basename(words[0]) == b'heaplapse' and os.readlink(f'/proc/{pid}/cwd') == '/' and (
                    b'transparency_family' in words[-2] or b'family' in b' '.join(words)):
                found.append(pid)
        except (OSError, IndexError):
            pass
    return found


main(globals())
