#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""status_test - a recorded program behaves as it does bare: same status, signals, descriptors, environment."""
import os
import select
import signal
import subprocess
import sys
import time

from transparency import (Failure, contains, children_of, expect, main, expect_lossless, state_of, wait_until)

WAYS = {            # way: (status of the command, kind of end, value, frees)
    'exit:0': (0, 'exit', 0, 40),
    'exit:3': (3, 'exit', 3, 40),
    'exit:256': (0, 'exit', 0, 40),
    'exit:-1': (255, 'exit', 255, 40),
    '_exit:4': (4, 'exit', 4, 40),
    '_Exit:4': (4, 'exit', 4, 40),
    'quick_exit:9': (9, 'exit', 9, 40),
    'syscall:8': (8, 'exit', 8, 40),
    'syscall:0': (0, 'exit', 0, 40),
    'thread': (5, 'exit', 5, 40),
    'leave-main': (0, 'exit', 0, 60),
    'leave-main-exit': (6, 'exit', 6, 60),
    'abort': (-6, 'signal', 6, 40),
    'segv': (-11, 'signal', 11, 40),
    'kill:9': (-9, 'signal', 9, 40),
    'kill:15': (-15, 'signal', 15, 40),
    'kill:13': (-13, 'signal', 13, 40),
}


def check_ends(place, mode):
    for way, (status, kind, value, frees) in WAYS.items():
        done = place.in_mode(mode, place.program('ending'), way)
        try:
            expect('status', done.status, status)
            expect('output', (done.out, done.err), ('', ''))
            info = place.info()
            expect_lossless(info, end=(kind, value))
            events = [line.split()[0] for line in place.heaplapse.run(
                'dump', '--filter', 'size>=7000 size<=7099', place.traces()[0]).splitlines()]
            expect('allocations and frees', (events.count('alloc'), events.count('free')), (100, frees))
        except Failure as failure:
            raise Failure(f'{way}: {failure}') from None
        os.unlink(place.traces()[0])


def test_ends_recorded(place):
    """every way to end gives the program's status, and the trace has it: record"""
    check_ends(place, 'record')


def test_ends_bare(place):
    """every way to end gives the program's status, and the trace has it: LD_PRELOAD alone"""
    check_ends(place, 'bare')


def test_shell_status(place):
    """a shell sees 128+n for a program that a signal killed"""
    command = ' '.join(place.record_command(place.program('ending'), 'kill:15'))
    done = place.run('/bin/sh', '-c', f'{command}; echo $?')
    contains('output of the shell', done.out, '143')


def differences(one, two):
    one, two = one.splitlines(), two.splitlines()
    only = [line for line in one if line not in two] + [line for line in two if line not in one]
    return [line for line in only if not line.startswith(('env LD_PRELOAD=', 'env HEAPLAPSE_SOCKET='))]


def same_state(place, mode):
    state = place.program('state')
    options = {'stdin': subprocess.DEVNULL, 'pass_fds': (), 'text': None}
    ignored = {'preexec_fn': lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN)}
    blocked = {'preexec_fn': lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD,
                                                                               signal.SIGPIPE})}
    deaf = {'preexec_fn': lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)}
    masked = {'preexec_fn': lambda: os.umask(0o027)}
    for name, more in {'as it is': {}, 'a signal ignored': ignored, 'signals blocked': blocked,
                       'SIGCHLD ignored': deaf, 'umask': masked}.items():
        options = {'stdin': subprocess.DEVNULL, 'restore_signals': False, **more}
        alone = place.run(state, 'a', 'b c', '', **options)
        recorded = place.in_mode(mode, state, 'a', 'b c', '', **options)
        expect('status', (alone.status, recorded.status), (0, 0))
        expect('stderr', recorded.err, alone.err)
        expect(f'{name}: what differs', differences(alone.out, recorded.out), [])
        expect('lines', len(recorded.out.splitlines()), len(alone.out.splitlines())
               + (2 if mode == 'record' else 1))


def test_state_recorded(place):
    """descriptors, environment, mask, dispositions, threads and children as bare: record"""
    same_state(place, 'record')


def test_state_bare(place):
    """descriptors, environment, mask, dispositions, threads and children as bare: LD_PRELOAD alone"""
    same_state(place, 'bare')


def test_state_closed(place):
    """closed standard descriptors stay closed, and higher ones are passed on"""
    state = place.program('state')
    for redirect in ('0<&-', '2>&-', '0<&- 2>&-', '5</dev/null 9>>/dev/zero'):
        alone = place.run('/bin/sh', '-c', f'exec "$@" {redirect}', 'sh', state)
        for command in (place.record_command(state), ['env', f'LD_PRELOAD={place.library}', state]):
            recorded = place.run('/bin/sh', '-c', f'exec "$@" {redirect}', 'sh', *command)
            expect(f'{redirect}: what differs', differences(alone.out, recorded.out), [])


def test_preload_kept(place):
    """another LD_PRELOAD is kept, behind the recorder"""
    other = '/lib/x86_64-linux-gnu/libm.so.6'
    done = place.record(place.program('state'), env={**os.environ, 'LD_PRELOAD': other})
    contains('environment', done.out, f'env LD_PRELOAD={place.library}:{other}\n')


def test_streams(place):
    """stdin, stdout and stderr pass through untouched"""
    text = ''.join(chr(32 + i % 90) for i in range(300000)) + '\n'
    for mode in ('record', 'bare'):
        done = place.in_mode(mode, '/bin/cat', text=text)
        expect('status', done.status, 0)
        expect('same text', done.out == text, True)
        expect('stderr', done.err, '')
    done = place.record('/bin/sh', '-c', 'echo out; echo err >&2; exit 3')
    expect('all', (done.status, done.out, done.err), (3, 'out\n', 'err\n'))


def test_secrets(place):
    """neither the environment nor the contents of the heap are in a trace"""
    secret = 'canary-7261-in-the-coal-mine'
    done = place.record('/bin/sh', '-c', 'x=$SECRET; y=$x$x; read z; echo "$y" >/dev/null; exit 3',
                        env={**os.environ, 'SECRET': secret}, text=secret[::-1] + '\n')
    expect('status', done.status, 3)
    expect_lossless(place.info(), end=('exit', 3))
    data = place.unpacked(place.traces()[0])
    expect('the program is in the trace', b'/bin/sh' in data, True)
    for word in (secret, secret[::-1]):
        expect('the secret is in the trace', word.encode() in data, False)


def test_errno(place):
    """errno is not changed"""
    for mode in ('record', 'bare'):
        done = place.in_mode(mode, place.program('errnos'))
        expect('status and what it says', (done.status, done.err), (0, ''))


def start_signals(place, *args, **options):
    """Starts `signals` under record: (the command, the program's pid)."""
    process = place.start(place.record_command(place.program('signals'), *args), **options)
    word, pid = process.stdout.readline().split()
    expect('first word', word, 'ready')
    return process, int(pid)


def test_signals_passed(place):
    """signals that are sent to record are passed to the program, each once"""
    process, pid = start_signals(place)
    names = ['HUP', 'INT', 'QUIT', 'USR1', 'USR2', 'ALRM', 'WINCH', 'CONT', 'PROF', 'VTALRM', 'IO', 'PWR']
    for name in names:
        process.send_signal(getattr(signal, 'SIG' + name))
        expect('the program got', process.stdout.readline().strip().replace('POLL', 'IO'), name)
    process.send_signal(signal.SIGRTMIN + 3)
    expect('the program got', process.stdout.readline().strip(), 'RTMIN+3')
    process.send_signal(signal.SIGTERM)
    done = place.finish(process)
    expect('status and the rest', (done.status, done.out, done.err), (7, 'TERM\n', ''))
    expect_lossless(place.info(), end=('exit', 7))


def test_group_signals(place):
    """a signal to the process group reaches the program once, also when record leads the group"""
    leader = ('/bin/sh', '-c', 'trap : USR1 INT HUP USR2 TERM; "$@"; exit $?', 'sh')
    for prefix in ((), leader):
        process = place.start([*prefix, *place.record_command(place.program('signals'))], process_group=0)
        process.stdout.readline()
        for name in ('USR1', 'INT', 'HUP', 'USR2'):
            os.killpg(process.pid, getattr(signal, 'SIG' + name))
            expect('the program got', process.stdout.readline().strip(), name)
        os.killpg(process.pid, signal.SIGTERM)
        expect('the rest', place.finish(process).out, 'TERM\n')


def test_own_group(place):
    """a program that signals its own group does not get the signal twice"""
    script = 'n=0; trap "n=$((n+1)); echo got" USR1; kill -USR1 0; sleep 0.2; echo end'
    done = place.record('/bin/sh', '-c', script, process_group=0)
    expect('output', done.out, 'got\nend\n')


def test_signal_kills(place):
    """a signal sent to record that kills the program kills record too, after the trace is complete"""
    process, _ = start_signals(place, int(signal.SIGTERM))
    process.send_signal(signal.SIGTERM)
    done = place.finish(process)
    expect('status', done.status, -signal.SIGTERM)
    expect_lossless(place.info(), end=('signal', 15))


def test_stop_and_go(place):
    """a stop of the program is a stop of record; continuing either continues both"""
    # In its own process group under this session: in an orphaned group the kernel discards stop signals.
    process, pid = start_signals(place, process_group=0)
    for sent_to, sig, woken in ((process.pid, signal.SIGTSTP, process.pid), (pid, signal.SIGSTOP, process.pid),
                                (pid, signal.SIGSTOP, pid), (pid, signal.SIGTTIN, pid)):
        os.kill(sent_to, sig)
        wait_until('program stopped', lambda: state_of(pid) == 'T')
        wait_until('record stopped', lambda: state_of(process.pid) == 'T')
        os.kill(woken, signal.SIGCONT)
        wait_until('program goes on', lambda: state_of(pid) == 'S')
        wait_until('record goes on', lambda: state_of(process.pid) == 'S')
    wait_until('no child of record but the program and the collector', lambda: len(children_of(process.pid)) == 2)
    process.send_signal(signal.SIGTERM)
    done = place.finish(process)
    expect('status', done.status, 7)
    expect('signals', set(done.out.split()), {'CONT', 'TERM'})


def test_stopped_by(place):
    """the parent of record sees it stopped by the signal that stopped the program"""
    process, pid = start_signals(place, process_group=0)
    for sent_to, sig in ((process.pid, signal.SIGTSTP), (pid, signal.SIGTTIN), (pid, signal.SIGTTOU), (pid, signal.SIGSTOP),
                         (pid, signal.SIGTSTP)):
        os.kill(sent_to, sig)
        status = os.waitpid(process.pid, os.WUNTRACED)[1]
        expect('stopped by', (os.WIFSTOPPED(status), os.WSTOPSIG(status)), (True, sig))
        os.kill(process.pid, signal.SIGCONT)
        wait_until('program goes on', lambda: state_of(pid) == 'S')
        wait_until('record goes on', lambda: state_of(process.pid) == 'S')
    process.send_signal(signal.SIGTERM)
    expect('status', place.finish(process).status, 7)


def test_stopped_orphan(place):
    """in an orphaned process group only SIGSTOP stops a program, recorded or not"""
    script = ('import os, signal, sys\n'
              'os.setsid()\n'
              'pid = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])\n'
              'os._exit(os.WEXITSTATUS(os.waitpid(pid, 0)[1]))\n')
    stop = 'kill -TSTP $$; (sleep 0.2; kill -CONT $$) & kill -STOP $$; exit 5'
    done = place.run(sys.executable, '-c', script, *place.record_command('/bin/sh', '-c', stop))
    expect('status and stderr', (done.status, done.err), (5, ''))


def test_pending(place):
    """signals that were pending before the exec of record are pending in the program"""
    program = ['/bin/grep', 'ShdPnd', '/proc/self/status']
    leave = ('import os, signal, sys\n'
             'some = {signal.SIGUSR1, signal.SIGTERM, signal.SIGCHLD, signal.SIGRTMIN + 2}\n'
             'signal.pthread_sigmask(signal.SIG_BLOCK, some)\n'
             'for sig in some: os.kill(os.getpid(), sig)\n'
             'os.execv(sys.argv[1], sys.argv[1:])\n')
    alone = place.run(sys.executable, '-c', leave, *program)
    expect('alone', int(alone.out.split()[1], 16) != 0, True)
    done = place.run(sys.executable, '-c', leave, *place.record_command(*program))
    expect('status and output', (done.status, done.out, done.err), (0, alone.out, ''))


def test_terminal_interrupt(place):
    """Ctrl-C reaches the program once, and the trace is closed"""
    leader, follower = os.openpty()
    process = place.start(
        ['setsid', '--ctty', *place.record_command(place.program('signals'), options=('-q', '-o', 'x.hlt'))],
        stdin=follower)
    process.stdout.readline()
    os.write(leader, b'\x03')
    expect('the program got', process.stdout.readline(), 'INT\n')
    os.write(leader, b'\x1c')
    expect('the program got', process.stdout.readline(), 'QUIT\n')
    process.send_signal(signal.SIGTERM)
    expect('the rest', place.finish(process).out, 'TERM\n')
    os.close(leader)
    os.close(follower)
    expect_lossless(place.info(), end=('exit', 7))


class Terminal:
    """An interactive shell on its own pseudoterminal."""

    def __init__(self, place, *shell):
        self.leader, follower = os.openpty()
        self.process = place.start(['setsid', '--ctty', *shell], stdin=follower, stdout=follower, stderr=follower,
                                   env={**os.environ, 'PS1': 'prompt:', 'TERM': 'dumb'})
        os.close(follower)
        self.said = ''

    def wait(self, text):
        """Waits until the text appears, after the text of the previous wait."""
        def look():
            if select.select([self.leader], [], [], 0)[0]:
                self.said += os.read(self.leader, 65536).decode(errors='replace')
            return text in self.said
        wait_until(f'{text!r} on the terminal', look)
        self.said = self.said.partition(text)[2]

    def type(self, text):
        os.write(self.leader, text.encode())


def test_job_control(place):
    """in an interactive shell: Ctrl-Z, fg, bg of a program that wants to read, fg again, Ctrl-C"""
    terminal = Terminal(place, 'bash', '--norc', '--noprofile', '--noediting', '-i')
    terminal.wait('prompt:')
    terminal.type(' '.join(place.record_command('/bin/cat')) + '\n')
    for _ in range(2):
        terminal.type('one\n')
        terminal.wait('one\r\none')
        terminal.type('\x1a')
        terminal.wait('Stopped')
        terminal.wait('prompt:')
        terminal.type('fg\n')
        terminal.wait('record')
    terminal.type('two\n')
    terminal.wait('two\r\ntwo')
    terminal.type('\x1a')
    terminal.wait('Stopped')
    terminal.wait('prompt:')
    terminal.type('bg\n')      # it stops at once, because a background job may not read
    terminal.wait('prompt:')
    time.sleep(0.3)
    terminal.type('fg\n')
    terminal.wait('record')
    terminal.type('three\n')
    terminal.wait('three\r\nthree')
    terminal.type('\x03')
    terminal.wait('prompt:')
    terminal.type('echo status $?\n')
    terminal.wait('status 130')
    terminal.type('exit\n')
    terminal.process.wait(10)
    os.close(terminal.leader)
    expect_lossless(place.info(), end=('signal', 2))


def test_shell_suspends(place):
    """a recorded shell that suspends itself, and is not a session leader as it would be bare: the terminal is not lost"""
    terminal = Terminal(place, 'bash', '--norc', '--noprofile', '--noediting', '-i')
    terminal.wait('prompt:')
    inner = place.record_command('/usr/bin/env', 'PS1=inner:', '/bin/bash', '--norc', '--noprofile', '--noediting', '-i')
    terminal.type(' '.join(inner) + '\n')
    terminal.wait('\ninner:')
    terminal.type('suspend\n')
    terminal.wait('Stopped')
    terminal.wait('prompt:')
    terminal.type('fg\n')
    terminal.wait('record')
    time.sleep(0.2)
    terminal.type('\necho back$((1))again\n')
    terminal.wait('back1again')
    terminal.type('exit\nexit\n')
    terminal.process.wait(10)
    os.close(terminal.leader)


def test_fatal_signals_passed(place):
    """signals of errors, sent to record by another process, are passed to the program"""
    for sig in (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP, signal.SIGSYS):
        process = place.start(place.record_command('/bin/sh', '-c', 'ulimit -c 0; echo; exec sleep 30'))
        process.stdout.readline()
        process.send_signal(sig)
        expect('status', place.finish(process).status, -sig)


def test_inherited_alarm(place):
    """an alarm that was set before the exec of record rings in the program"""
    command = place.record_command('sleep', '20')
    set_alarm = 'import os, signal, sys; signal.setitimer(signal.ITIMER_REAL, 0.3); os.execv(sys.argv[1], sys.argv[1:])'
    done = place.run(sys.executable, '-c', set_alarm, *command)
    expect('status', done.status, -signal.SIGALRM)


def test_broken_stderr(place):
    """a stderr without a reader kills neither record nor the program"""
    read, write = os.pipe()
    os.close(read)
    done = place.run(*place.record_command(place.program('ending'), 'exit:3', options=('--summary',)), stderr=write)
    expect('status', done.status, 3)
    done = place.bare(place.program('ending'), 'exit:3', env={'HEAPLAPSE_DEPTH': 'no'}, stderr=write)
    os.close(write)
    expect('status', done.status, 3)


def test_record_killed(place):
    """the program and its trace continue when record is killed"""
    process, pid = start_signals(place)
    process.kill()
    process.wait()
    os.kill(pid, signal.SIGTERM)
    process.stdout.read()
    expect_lossless(place.info(), end=('exit', 7))


main(globals())
