#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""limits_test - exhausted resources: the program's result does not change, and the trace says how it ended."""
import contextlib
import json
import os
import signal
import time

from transparency import NOBODY, Failure, Skip, contains, expect, expect_lossless, main, unmatched_frees


@contextlib.contextmanager
def memory_group(size):
    """A cgroup with this much memory, of either version: yields the file that a pid is written to."""
    old, new = '/sys/fs/cgroup/memory', '/sys/fs/cgroup'
    root, limit = (old, 'memory.limit_in_bytes') if os.path.isdir(old) else (new, 'memory.max')
    path = f'{root}/heaplapse-test-{os.getpid()}'
    try:
        os.mkdir(path)
    except OSError as error:
        raise Skip(f'no cgroup can be made: {error}') from None
    try:
        if not os.path.exists(f'{path}/{limit}'):
            raise Skip('this cgroup has no limit of memory')
        for name, value in ((limit, size), ('memory.swap.max', 0), ('memory.swappiness', 0)):
            if os.path.exists(f'{path}/{name}'):
                with open(f'{path}/{name}', 'w', encoding='ascii') as file:
                    file.write(str(value))
        yield f'{path}/cgroup.procs'
    except PermissionError as error:
        raise Skip(str(error)) from None
    finally:
        for _ in range(100):
            try:
                os.rmdir(path)
                break
            except OSError:
                time.sleep(0.05)


def test_oom(place):
    """the OOM killer of a cgroup: no completed event is missing, no block is called leaked"""
    with memory_group(48 << 20) as procs:
        command = ['/bin/sh', '-c', f'echo $$ > {procs}; exec {place.program("limits")} hog']
        done = place.record(*command)
        expect('status', done.status, -signal.SIGKILL)
        expect('stderr', done.err, '')
        infos = place.infos(1, '*limits*.hlt')
        name, info = next(iter(infos.items()))
        expect_lossless(info, end=('signal', 9))
        expect('why', info['end']['oom'], True)
        contains('info', place.run(place.binary, 'info', name).out, 'killed by signal 9, by the kernel (out of memory)')
        made = int(done.out.split()[-1])
        found = sum(event.op == 'alloc' and event.size == 1 << 20 for event in place.heaplapse.dump(name))
        if not made <= found <= made + 1:
            raise Failure(f'{made} blocks were there, {found} are recorded')


def test_processes(place):
    """RLIMIT_NPROC 1: recorded by record; with LD_PRELOAD alone a message says that it is not"""
    if os.getuid() != 0:
        raise Skip('needs root to become somebody without processes')
    os.chmod(".", 0o1777)
    limited = [*NOBODY, 'prlimit', '--nproc=1:1', place.program('ending'), 'exit:3']
    if place.run(*limited).status != 3:
        raise Skip('nobody may not run programs in this build folder')
    done = place.record(*limited)
    expect('status and stderr', (done.status, done.err), (3, ''))
    expect_lossless(place.info('*ending*'), 100, 40, ('exit', 3))


HARD = ('--fsize=4096', '--nofile=4', '--nofile=3', '--data=20000000', '--core=0', '--memlock=0', '--sigpending=0')


def test_hard_limits(place):
    """limits that cannot be raised again: under record they apply to the program only"""
    for limit in HARD:
        limited = ['prlimit', limit, place.program('ending'), 'exit:3']
        alone = place.run(*limited).status
        done = place.record(*limited)
        expect(f'{limit}: status', done.status, alone)
        for name, info in place.infos().items():
            if info['program'].endswith('ending'):
                expect_lossless(info, 100, 40, ('exit', 3))
            os.unlink(name)


def test_hard_limits_bare(place):
    """the same with LD_PRELOAD alone: recorded, or one message; the program runs"""
    for limit in HARD:
        limited = ['prlimit', limit, place.program('ending'), 'exit:3']
        alone = place.run(*limited).status
        done = place.run('/bin/sh', '-c', f'LD_PRELOAD={place.library} exec "$@"', 'sh', *limited)
        expect(f'{limit}: status', done.status, alone)
        if done.err and alone == 3:
            # If the collector has too few descriptors to be loaded, its loader prints a message, too.
            expect(f'{limit}: messages', done.err.count('heaplapse: this program is not recorded'), 1)


def test_no_rings(place):
    """record itself under a hard limit of file sizes below its rings: refused with doctor's message, once; a soft one has no effect"""
    command = place.record_command('/bin/sh', '-c', f'{place.program("ending")} exit:3; exit $?')
    done = place.run('prlimit', '--fsize=65536', *command)
    expect('status and lines', (done.status, done.err.count('\n')), (125, 2))
    said = place.run('prlimit', '--fsize=65536', place.binary, 'doctor', '--json').out
    one = next(one for one in json.loads(said)['machine'] if one['check'] == 'memory')
    contains('the refusal', done.err, f'/bin/sh cannot be recorded: {one["what"]}; {one["remedy"]}\n', '--force')
    command.insert(2, '--force')
    done = place.run('prlimit', '--fsize=65536', *command)
    expect('with --force: status and lines', (done.status, done.err.count('\n')), (3, 1))
    expect('traces', place.traces(), [])
    command.remove('--force')
    done = place.run('prlimit', '--fsize=65536:', *command)
    expect('a soft limit: status and stderr', (done.status, done.err), (3, ''))
    expect_lossless(place.info('*ending*'), 100, 40, ('exit', 3))


def test_collector_space(place):
    """a hard limit of address space too small for the collector: one message that names it, the program runs"""
    program = [place.program('ending'), 'exit:3']
    for limit in ('--as=20000000', '--as=64000000'):
        done = place.run('prlimit', limit, 'env', f'LD_PRELOAD={place.library}', *program)
        expect(f'{limit}: status and lines', (done.status, done.err.count('\n')), (3, 1))
        contains(f'{limit}: message', done.err, 'this program is not recorded', 'the collector', 'ulimit -H -v')
        done = place.run('prlimit', limit, *place.record_command(*program))
        expect(f'{limit}: refused', done.status, 125)
        contains(f'{limit}: refusal', done.err, 'ulimit', '--force')
    expect('traces', place.traces(), [])
    done = place.run('prlimit', '--as=76000000', *place.record_command(*program))
    expect('with enough', (done.status, done.err), (3, ''))
    expect_lossless(place.info(), 100, 40, ('exit', 3))


def test_small_stack(place):
    """64 and 32 KiB of stack for record, its collector and the program: events within it are recorded"""
    script = 'small'
    with open(script, 'w', encoding='ascii') as file:
        file.write(f'#!/usr/bin/env -S sh\n{place.program("ending")} exit:3\n')
    os.chmod(script, 0o755)
    for size in (65536, 32768):
        for command in ([place.program('ending'), 'exit:3'], [os.path.abspath(script)]):
            limited = ['prlimit', f'--stack={size}']
            done = place.run(*limited, *place.record_command(*command, options=('--summary',)))
            expect(f'{size} {command}: status and stderr', (done.status, done.err), (3, done.err))
            expect_lossless(place.info('*ending*'), 100, 40, ('exit', 3))
            contains('summary', done.err, 'recorded')
            expect(f'{size}: bare', place.run(*limited, 'env', f'LD_PRELOAD={place.library}', *command).status, 3)
            expect(f'{size}: doctor', place.run(*limited, place.binary, 'doctor', command[0]).status, 0)
            place.infos(pattern='*.hlt')
            place.remove_traces()


def test_real_time(place):
    """a program of real-time priority that has to share its only CPU with the collector"""
    prefix = ['taskset', '-c', str(min(os.sched_getaffinity(0)))]
    if place.run(*prefix, 'chrt', '-f', '50', 'true').status:
        raise Skip('real-time scheduling is not permitted')
    for policy in ('-f', '-r'):
        done = place.run(*prefix, *place.record_command('chrt', policy, '50', place.program('limits'), 'pairs', 200000))
        expect('status and stderr', (done.status, done.err), (3, ''))
        info = place.info('*limits*')
        expect('end', info['end'], {'kind': 'exit', 'value': 3})
        totals = info['totals']
        seen = totals['allocations'] + totals['frees'] + unmatched_frees(totals)
        missing = 400000 - seen
        if not missing - 100 <= totals['dropped_events'] <= missing + 100 and not info['complete']:
            raise Failure(f'{missing} are missing, {totals["dropped_events"]} dropped')
        place.remove_traces()


def test_resident(place):
    """an idle program has at most 2 MiB more memory when it is recorded"""
    alone = int(place.run(place.program('limits'), 'resident').out)
    for mode in ('record', 'bare'):
        more = int(place.in_mode(mode, place.program('limits'), 'resident').out) - alone
        if more > 2048:
            raise Failure(f'{mode}: {more} KiB more')


def test_truncate(place):
    """the shared memory cannot be truncated: that would kill the collector"""
    for mode in ('record', 'bare'):
        done = place.in_mode(mode, place.program('limits'), 'truncate')
        if done.status == 77:
            raise Skip('/proc/self/map_files cannot be opened')
        expect('status', done.status, 3)
        expect_lossless(place.info(), end=('exit', 3))
        os.unlink(place.traces()[0])


main(globals())
