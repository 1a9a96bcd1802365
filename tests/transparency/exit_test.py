#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""exit_test - with LD_PRELOAD alone the trace is complete when the program has ended."""
import glob
import os
import signal
import subprocess
import threading

from transparency import Failure, contains, expect, expect_lossless, main, wait_until

LONG = {'HEAPLAPSE_EXIT_WAIT': '1h'}      # longer than any test: a wait that does not end is noticed
SHELLS = ('sh', 'dash', 'bash')


def expect_complete(place, name):
    """Checks the trace at once: a test must not have to wait for it."""
    info = place.heaplapse.info(name)
    expect('damage', info['damage'], None)
    expect_lossless(info, end=('exit', 3))
    return info


def blocks(place, name):
    return sum(event.op == 'alloc' and event.size == 5000 for event in place.heaplapse.dump(name))


def collector_of(pid):
    for cmdline in glob.glob('/proc/[0-9]*/cmdline'):
        try:
            with open(cmdline, 'rb') as file:
                words = file.read().split(b'\0')
        except OSError:
            continue
        if words[1:3] == [b'collect', str(pid).encode()]:
            return int(cmdline.split('/')[2])
    raise Failure(f'{pid} has no collector')


def start(place, way, **env):
    """(the program, which waits for a line; its collector)"""
    process = place.start([place.program('leaving'), way, 'wait'], stdin=subprocess.PIPE,
                          env=place.bare_env(HEAPLAPSE_OUTPUT='x.hlt', **env))
    expect('what it says', process.stdout.readline(), 'ready\n')
    return process, collector_of(process.pid)


def test_complete(place):
    """the trace is complete when the program has ended, whichever way it exits"""
    for way in ('return', 'handlers', 'quick') * 4:
        done = place.bare(place.program('leaving'), way, env={**LONG, 'HEAPLAPSE_OUTPUT': 'x.hlt'})
        expect(f'{way}: status and output', (done.status, done.out, done.err), (3, '', ''))
        try:
            expect_complete(place, 'x.hlt')
            expect('blocks', blocks(place, 'x.hlt'), 10)
        except Failure as failure:
            raise Failure(f'{way}: {failure}') from None
        os.unlink('x.hlt')


def test_threads(place):
    """while other threads run the exit does not wait: they would use objects that destructors have destroyed"""
    for way in ('threads', 'two'):
        process, collector = start(place, way, **LONG)
        os.kill(collector, signal.SIGSTOP)
        done = place.finish(process, '\n')
        os.kill(collector, signal.SIGCONT)
        expect(f'{way}: status', done.status, 3)
        expect_lossless(place.info('x.hlt'), end=('exit', 3))
        expect('blocks', blocks(place, 'x.hlt'), 10)
        os.unlink('x.hlt')


def test_reader(place):
    """a command that finds the trace of an ended program waits while the collector writes the rest"""
    process, collector = start(place, 'kill', **LONG)
    wait_until('the trace', lambda: os.path.exists('x.hlt'))
    os.kill(collector, signal.SIGSTOP)
    place.finish(process, '\n')
    timer = threading.Timer(0.3, os.kill, (collector, signal.SIGCONT))
    timer.start()
    expect_lossless(place.heaplapse.info('x.hlt'), end=('signal', 9))
    timer.join()


def test_overwrite(place):
    """children of a recorded program do not replace its trace, and it has the requested name"""
    program = place.program('leaving')
    env = {'HEAPLAPSE_OUTPUT': 'x.hlt', 'HEAPLAPSE_OVERWRITE': '1'}
    place.bare('/bin/sh', '-c', f'sleep 0.1; {program} return; {program} return; true', env=env)
    wait_until('all rows', lambda: len(place.session_rows('x.hlt')) >= 3)
    programs = [os.path.basename(row[2]) for row in place.session_rows('x.hlt')]
    # a shell forks, and its child may allocate before it calls exec
    expect('programs', sorted(name for name in programs if name not in SHELLS), sorted(['sleep', *[os.path.basename(program)] * 2]))
    expect('the first', os.path.basename(place.heaplapse.info('x.hlt')['program']) in SHELLS, True)


def test_reserved(place):
    """the trace has its name before the program runs: neither a child nor an exec can take it"""
    for script in ('[ -e x.hlt ]', f'exec {place.program("leaving")} return'):
        done = place.bare('/bin/sh', '-c', script, env={**LONG, 'HEAPLAPSE_OUTPUT': 'x.hlt'})
        expect(f'{script}: status', done.status, 3 if script.startswith('exec') else 0)
        expect('the first', os.path.basename(place.heaplapse.info('x.hlt')['program']) in SHELLS, True)
        place.remove_traces()


def test_children(place):
    """the same for the program's fork children, and there is exactly one trace for each process"""
    for _ in range(4):
        done = place.bare(place.program('leaving'), 'fork', env={**LONG, 'HEAPLAPSE_OUTPUT': 'x.hlt'})
        expect('status', done.status, 3)
        (child,) = place.session_rows('x.hlt')
        expect('traces', place.traces(), ['x.hlt', f'x.hlt.d/{child[0]}.transparency_leaving.hlt'])
        for name in place.traces():
            expect_complete(place, name)
            expect('blocks', blocks(place, name), 10)
        place.remove_traces()


def test_exec(place):
    """exec waits for nothing, and the image that exits has its trace"""
    done = place.bare(place.program('leaving'), 'exec', env={**LONG, 'HEAPLAPSE_OUTPUT': '%n.hlt'})
    expect('status', done.status, 3)
    expect('ends', sorted(info['end']['kind'] for info in place.infos(2).values()), ['exec', 'exit'])


def test_record(place):
    """record: a script may read the trace of its own command with --exit-wait; record waits in any case"""
    script = f'{place.program("leaving")} return; {place.binary} info *.hlt.d/*leaving*.hlt'
    done = place.record('/bin/sh', '-c', script, options=('-q', '--exit-wait=1h'))
    expect('status', done.status, 0)
    contains('what info says', done.out, 'exit status 3')
    for name in place.traces():
        expect('damage', place.heaplapse.info(name)['damage'], None)


def test_never(place):
    """a program that is killed or crashes does not wait (behind a seccomp filter: transparency/sandbox)"""
    for way, status in (('kill', -9), ('abort', -6)):
        process, collector = start(place, way, **LONG)
        os.kill(collector, signal.SIGSTOP)
        done = place.finish(process, '\n')
        os.kill(collector, signal.SIGCONT)
        expect(f'{way}: status', done.status, status)
        expect_lossless(place.info('x.hlt'), end=('signal', -status))
        os.unlink('x.hlt')


def test_bounded(place):
    """a stopped collector is waited for no longer than configured, a dead one not at all"""
    for wait, sign in (('0', signal.SIGSTOP), ('50ms', signal.SIGSTOP), ('1h', signal.SIGKILL)):
        process, collector = start(place, 'return', HEAPLAPSE_EXIT_WAIT=wait)
        os.kill(collector, sign)
        done = place.finish(process, '\n')
        expect(f'{wait}: status and stderr', (done.status, done.err), (3, ''))
        if sign == signal.SIGSTOP:
            for name in place.traces():     # on a slow machine it was begun before the stop
                expect('its end', place.heaplapse.info(name)['end']['kind'], 'running')
            os.kill(collector, signal.SIGCONT)
            expect_lossless(place.info('x.hlt'), end=('exit', 3))
            expect('blocks', blocks(place, 'x.hlt'), 10)
            os.unlink('x.hlt')


def test_name(place):
    """a name that is taken: one line says which is used, unless the parent is recorded or quiet"""
    env = {'HEAPLAPSE_OUTPUT': 'x.hlt'}
    program = place.program('leaving')
    expect('first', place.bare(program, 'return', env=env).err, '')
    expect('second', place.bare(program, 'return', env=env).err,
           'heaplapse: x.hlt exists; the trace is written to x.2.hlt\n')
    expect('third', place.bare(program, 'return', env={**env, 'HEAPLAPSE_QUIET': '1'}).err, '')
    expect_complete(place, 'x.3.hlt')
    done = place.bare('/bin/sh', '-c', f'{program} return; {program} return', env=env)
    expect('lines for a script', done.err.count('\n'), 1)
    name = done.err.split()[-1]
    expect('the trace that is named', place.parents(name)[1], os.getpid())


main(globals())
