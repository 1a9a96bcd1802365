#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""collector_test - the collector is killed, stopped, or cannot write: the program is not affected."""
import os
import re
import signal
import socket
import struct
import subprocess
import time

from transparency import Failure, Skip, children_of, compiled, contains, expect, expect_lossless, main, unmatched_frees, wait_until


def start(place, seconds, options=('-q',), **popen):
    """(record, the program's pid, the collector's pid)"""
    process = place.start(place.record_command(place.program('hammer'), seconds, options=options), **popen)
    pid = int(process.stdout.readline().split()[1])
    collector = [child for child in children_of(process.pid) if child != pid]
    expect('collectors', len(collector), 1)
    return process, pid, collector[0]


def kill_collector(process, pid):
    """Kills the current collector, also a restarted one."""
    for child in children_of(process.pid):
        if child != pid:
            os.kill(child, signal.SIGKILL)


def count_events(place, trace):
    """{op: number of events of 300 bytes}"""
    found = {'alloc': 0, 'free': 0}
    for event in place.heaplapse.dump(trace):
        found[event.op] += event.size == 300
    return found


def expect_accounted(place, done, names):
    """Every event is in one of the traces or is counted as lost; the lost ones may include a few of libc's own."""
    names = sorted(names, key=lambda name: (len(name), name))
    totals = [place.heaplapse.info(name)['totals'] for name in names]
    seen = [sum(count_events(place, name).values()) + unmatched_frees(those) * (name != names[0])
            for name, those in zip(names, totals)]
    missing = 2 * int(done.out) - sum(seen)
    dropped = sum(those['dropped_events'] for those in totals)
    if not all(seen):
        raise Failure(f'nothing in one of the traces: {seen}')
    if not 0 <= missing <= dropped <= missing + 100:
        raise Failure(f'{missing} events are missing, {dropped} are said to be lost')


def test_killed(place):
    """SIGKILL of the collector: the program ends normally, a second trace continues, losses are counted"""
    process, _, collector = start(place, 1.2)
    time.sleep(0.6)
    os.kill(collector, signal.SIGKILL)
    done = place.finish(process)
    expect('status', done.status, 17)
    contains('what record says', done.err, 'collector', 'signal 9', 'new file')
    names = place.traces()
    expect('traces', len(names), 2)
    first, second = (place.heaplapse.info(name) for name in sorted(names, key=len))
    expect('end of the first', first['end']['kind'], 'lost')
    expect('end of the second', second['end'], {'kind': 'exit', 'value': 17})
    expect('complete', (first['complete'], second['complete']), (False, False))
    expect_accounted(place, done, names)


def test_killed_twice(place):
    """a second collector is killed too: events lost with the first are still counted"""
    process, pid, _ = start(place, 1.8)
    for _ in range(2):
        time.sleep(0.6)
        kill_collector(process, pid)
    done = place.finish(process)
    expect('status', done.status, 17)
    expect('traces', len(place.traces()), 3)
    expect_accounted(place, done, place.traces())


def test_killed_with_the_program(place):
    """program and collector are killed at once: the written part is a trace, and there is no other message"""
    process, pid, collector = start(place, 5)
    time.sleep(0.4)
    for each in (pid, collector):
        os.kill(each, signal.SIGKILL)
    done = place.finish(process)
    expect('status', done.status, -signal.SIGKILL)
    if 'not recorded' in done.err:
        raise Failure(done.err)
    expect('complete', {place.heaplapse.info(name)['complete'] for name in place.traces()}, {False})


def test_killed_after_exec(place):
    """regions of one pid, before and after an exec, are distinguished: the live one continues with a new collector"""
    os.mkfifo('f')
    os.mkfifo('g')
    # Each shell's region exists as long as it has a child that has not called exec.
    script = f'(read x <f) & exec /bin/sh -c "(read x <g) & exec {place.program("hammer")} 2"'
    process = place.start(place.record_command('/bin/sh', '-c', script))
    pid = int(process.stdout.readline().split()[1])
    for name in 'fg':
        with open(name, 'w', encoding='ascii') as fifo:
            fifo.write('\n')
        time.sleep(0.3)
    collector = [child for child in children_of(process.pid) if child != pid]
    os.kill(collector[0], signal.SIGKILL)
    expect('status', place.finish(process).status, 17)
    infos = [place.heaplapse.info(name) for name in place.traces() if 'hammer' in name]
    expect('ends', sorted(info['end']['kind'] for info in infos), ['exit', 'lost'])


def test_killed_overwriting(place):
    """with -f the next collector does not replace the trace of the first"""
    process = place.start(place.record_command(place.program('hammer'), 1, options=('-f', '-o', 'one.hlt')))
    pid = int(process.stdout.readline().split()[1])
    time.sleep(0.4)
    os.kill([child for child in children_of(process.pid) if child != pid][0], signal.SIGKILL)
    place.finish(process)
    (row,) = place.session_rows('one.hlt')
    expect('row', (row[0], row[3]), (pid, f'{pid}.transparency_hammer.hlt'))
    expect('traces', place.traces(), ['one.hlt', f'one.hlt.d/{pid}.transparency_hammer.hlt'])


def test_killed_names(place):
    """after a SIGKILL of the collector the second trace still has the program's functions"""
    process, _, collector = start(place, 1.5)
    time.sleep(0.3)
    os.kill(collector, signal.SIGKILL)
    expect('status', place.finish(process).status, 17)
    second = max(place.traces(), key=len)
    report = place.heaplapse.report(second, '--allocated')
    contains('functions', {node['function'] for node in report['nodes']}, 'hit', 'hammer')


def test_killed_often(place):
    """a collector that dies repeatedly is given up, the program continues"""
    process, pid, _ = start(place, 1.5)
    for _ in range(4):
        time.sleep(0.2)
        kill_collector(process, pid)
    done = place.finish(process)
    expect('status', done.status, 17)
    contains('what record says', done.err, 'cannot be replaced')


def test_killed_at_end(place):
    """a collector that is killed while the program does nothing does not hang record"""
    process = place.start(place.record_command('/bin/sh', '-c', 'echo; read x; exit 5'), stdin=subprocess.PIPE)
    process.stdout.readline()
    shell = [child for child in children_of(process.pid)]
    with open(f'/proc/{process.pid}/task/{process.pid}/children', encoding='ascii'):
        pass
    for child in shell:
        with open(f'/proc/{child}/comm', encoding='ascii') as file:
            if file.read().strip() == 'heaplapse':
                os.kill(child, signal.SIGKILL)
    time.sleep(0.1)
    done = place.finish(process, '\n')
    expect('status', done.status, 5)


def test_stopped(place):
    """the collector is stopped for 3 s: a program with few events loses nothing"""
    process = place.start(place.record_command('/bin/sh', '-c', 'for i in 1 2 3 4; do sleep 1; done; exit 5'))
    wait_until('two children', lambda: len(children_of(process.pid)) == 2)
    time.sleep(0.3)
    collector = min(children_of(process.pid))
    os.kill(collector, signal.SIGSTOP)
    time.sleep(1.5)
    os.kill(collector, signal.SIGCONT)
    done = place.finish(process)
    expect('status and stderr', (done.status, done.err), (5, ''))
    for info in place.infos(5).values():
        expect_lossless(info)


def test_stopped_under_load(place):
    """the collector is stopped for 5 s under load: the program continues, dropped events are counted"""
    process, _, collector = start(place, 6)
    time.sleep(0.3)
    os.kill(collector, signal.SIGSTOP)
    time.sleep(5)
    os.kill(collector, signal.SIGCONT)
    done = place.finish(process)
    expect('status', done.status, 17)
    info = place.info()
    expect('end', info['end'], {'kind': 'exit', 'value': 17})
    # If the program had waited each time for the stopped collector, there would be only some thousands.
    if info['totals']['dropped_events'] < 20000:
        raise Failure(f'only {info["totals"]["dropped_events"]} dropped: the program stood still')
    totals = info['totals']
    # A free whose allocation was dropped is unknown; an allocation at the address of a block whose
    # free was dropped implies that free.
    seen = sum(count_events(place, place.traces()[0]).values()) + unmatched_frees(totals)
    missing = 2 * int(done.out) - seen
    if not 0 < missing <= totals['dropped_events'] <= missing + 100:
        raise Failure(f'{missing} events are missing, {totals["dropped_events"]} are said to be dropped')


def test_strangers(place):
    """connections to the collector's socket without its secret are closed, and their messages have no effect"""
    process = place.start(place.record_command('/bin/sh', '-c', 'echo $HEAPLAPSE_SOCKET; read x; exit 5'),
                          stdin=subprocess.PIPE)
    name, _, secret = process.stdout.readline().strip().partition(':')
    hello = struct.pack('=IIII40s', 0x6f6c6c68, 5, os.getpid(), 0, secret.encode())
    wrong = struct.pack('=IIII40s', 0x6f6c6c68, 5, os.getpid(), 0, b'0' * 32)
    for words in (wrong, b'', b'x', hello[:-1], b'\xff' * 56, wrong * 100):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as guest:
            guest.settimeout(10)
            guest.connect('\0' + name)
            guest.send(words)
            # an empty message is not rejected yet
            if words:
                message, fds, _, _ = socket.recv_fds(guest, 100, 4)
                expect('answer and descriptors', (message, fds), (b'', []))
    done = place.finish(process, '\n')
    expect('status', done.status, 5)
    expect('traces', len(place.infos(1)), 1)


def test_full_disk(place):
    """a full disk: the program is not affected, record reports it, the trace is good up to there"""
    os.mkdir('small')
    if os.getuid() != 0 or subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=24k', 'tmpfs', 'small'],
                                          stderr=subprocess.DEVNULL).returncode:
        raise Skip('a small file system cannot be mounted here')
    try:
        done = place.record(place.program('hammer'), 1.5, options=('-q', '-o', 'small/x.hlt'))
        expect('status', done.status, 17)
        contains('what record says', done.err, 'small/x.hlt', 'No space left')
        info = place.heaplapse.info('small/x.hlt')
        expect('complete', info['complete'], False)
        totals = info['totals']
        if not 0 < totals['allocations'] < int(done.out.split()[2]):
            raise Failure(f'{totals["allocations"]} allocations')
        # Missing events are counted by record, and in the file's header: there is no room after it.
        missing = int(re.search(r'its last ([0-9,]+) events are missing', done.err)[1].replace(',', ''))
        made, seen = 2 * int(done.out.split()[2]), totals['allocations'] + totals['frees'] + totals['dropped_events']
        if not made <= seen + missing <= made + 1000:
            raise Failure(f'{made} events were made, {seen} are there, {missing} are said to be missing')
        expect('info --json', info['unwritten'], {'reason': 'No space left on device', 'events': missing})
        text = place.run(place.binary, 'info', 'small/x.hlt').out
        contains('info', text, f'the recording stops before the end: {missing:,} events were not written (No space left on device)')
        contains('report', place.run(place.binary, 'report', 'small/x.hlt').err, f'{missing:,} events were not written')
        # Without room even for the first page of a file, there is no name to print.
        os.unlink('small/x.hlt')
        subprocess.run('cat /dev/zero > small/all 2> /dev/null', shell=True, check=False)
        done = place.record(place.program('hammer'), 0.1, options=('-q', '-o', 'small/x.hlt'))
        expect('status', done.status, 17)
        if not re.fullmatch(r'heaplapse: process [0-9]+ has no trace: No space left on device; its [0-9,]+ events are missing\n', done.err):
            raise Failure(done.err)
    finally:
        subprocess.run(['umount', 'small'], check=False)


def test_limits(place):
    """limits of the program do not apply to the collector and do not keep it from running"""
    for limit in ('--fsize=4096:', '--nofile=16:', '--cpu=60:', '--as=100000000:', '--core=0:', '--stack=262144:'):
        for mode in ('record', 'bare'):
            limited = ['prlimit', limit, place.program('ending'), 'exit:3']
            done = place.in_mode(mode, *limited)
            expect(f'{limit} {mode}: status and stderr', (done.status, done.err), (3, ''))
            infos = place.infos(2)
            expect_lossless(next(info for info in infos.values() if info['program'].endswith('ending')), 100, 40, ('exit', 3))
            for name in infos:
                os.unlink(name)


def test_no_room(place):
    """too little address space for the rings: one message, the program runs, record does not wait"""
    done = place.run(*place.record_command('/bin/sh', '-c', f'ulimit -v 40000; {place.program("ending")} exit:3'))
    expect('status', done.status, 3)
    done = place.run('prlimit', '--as=30000000', place.program('ending'), 'exit:3', env=place.bare_env())
    expect('status', done.status, 3)


# A library with a descriptor of its own, in every process: like libunwind, it closes it at an arbitrary time.
CLOSER = '''
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
static int own[2];
static volatile int n;
extern void *__libc_calloc(size_t, size_t);
__attribute__((constructor)) static void begin(void) { n = pipe2(own, O_CLOEXEC); }
void *calloc(size_t a, size_t b)
{
	if (++n == 5) {
		close(own[0]);
		close(own[1]);
	}
	return __libc_calloc(a, b);
}
'''


def test_foreign_descriptor(place):
    """a preloaded library closes its own descriptor, and none of the collector's"""
    with open('closer.c', 'w', encoding='utf-8') as file:
        file.write(CLOSER)
    compiled('gcc', '-shared', '-fPIC', '-o', 'closer.so', 'closer.c')
    for _ in range(3):
        done = place.record(place.program('ending'), 'exit:3', options=('-q', '-f', '-o', 'one.hlt'), env={**os.environ, 'LD_PRELOAD': './closer.so'})
        expect('status and stderr', (done.status, done.err), (3, ''))
        expect_lossless(place.info('one.hlt'), 100, 40, ('exit', 3))


main(globals())
