#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""memory_test - the memory that recording adds to a program: resident pages of unwind tables, address space."""
import os

from transparency import HERE, Failure, compiled, contains, expect, expect_lossless, main

MIB = 1 << 20
FUNCTIONS = 65536       # of programs/wide.c
TABLES = 7 * MIB        # less than the size of its unwind tables
ALLOWED = 3 * MIB       # for files and rings; 1.5 MiB of tables may stay
LIBRARY = 4 * MIB       # for libheaplapse.so itself, with a margin
LEAST = 14 * MIB        # with this much more than it needs itself, a program is recorded (docs/cost.md)
MOST = 64 * MIB

# Prints how many MiB can be mapped.
GREEDY = '''
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
int main(void)
{
	int n = 0;
	free(malloc(100));
	while (mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		n++;
	printf("%d\\n", n);
	return 0;
}
'''


def stacks(place, trace, calls):
    """Every block of allocate() has the stack that allocated it."""
    nodes, above, found = place.heaplapse.report(trace, '--allocated')['nodes'], [], 0
    for node in nodes:
        above.append((*(() if node['parent'] is None else above[node['parent']]), node['function']))
        if node['function'] != 'allocate':
            continue
        if above[-1][-3:] != ('work', 'wide', 'allocate'):
            raise Failure(f'a stack that was never there: {above[-1]}')
        found += node['blocks']
    expect('blocks below work and wide', found, calls)


def limited(place, limit, *command):
    """Records a command, with a limit of address space for the program but not for the collector."""
    return place.record('sh', '-c', f'ulimit -S -v {limit // 1024}; exec "$@"', 'sh', *command,
                        options=('-q', '-f', '-o', 'limited.%e.hlt'))


def test_resident(place):
    """tables of 8 MiB of which every entry is read: at most 3 MiB more of files are resident, and all stacks are correct"""
    native = int(place.run(place.program('wide'), 1, 1).out)
    done = place.record(place.program('wide'), 1, 1)
    expect('status and stderr', (done.status, done.err), (0, ''))
    more = int(done.out) - native
    if more > ALLOWED:
        raise Failure(f'{more} bytes of files more than natively, at most {ALLOWED}')
    expect_lossless(place.info())
    stacks(place, place.traces()[0], FUNCTIONS)
    # Validates the measurement: with limited address space tables are read in place, and stay resident.
    more = int(limited(place, 1024 * MIB, place.program('wide'), 1, 1).out) - native
    if more < TABLES:
        raise Failure(f'only {more} bytes more when the tables are read in place: this test shows nothing')
    stacks(place, 'limited.transparency_wide.hlt', FUNCTIONS)


def test_threads(place):
    """threads that read tables and release them, while a library is loaded and unloaded: all stacks are correct"""
    compiled('gcc', '-O1', '-fPIC', '-shared', '-fno-builtin', '-DWHO=alpha', '-DFRAME=64', '-DSIZE=10', '-o', 'plugin.so',
             os.path.join(HERE, 'programs', 'plugin.c'))
    done = place.record(place.program('wide'), 1, 4, os.path.abspath('plugin.so'))
    expect('status and stderr', (done.status, done.err), (0, ''))
    expect_lossless(place.info())
    stacks(place, place.traces()[0], 3 * FUNCTIONS)


def test_file_is_gone(place):
    """a program whose file was replaced, or deleted before it ran, is still unwound"""
    with open(place.program('wide'), 'rb') as file:
        data = file.read()
    for change in ('rm "$0"', 'rm "$0"; echo other > "$0"'):
        with open('wide', 'wb') as file:
            file.write(data)
        os.chmod('wide', 0o755)
        # the shell keeps it open while it replaces the file; the kernel then runs the open one
        done = place.record('sh', '-c', f'exec 9< "$0"; {change}; exec /proc/self/fd/9 1 1', os.path.abspath('wide'),
                            options=('-q', '-f', '-o', 'gone.%e.hlt'))
        expect('status and stderr', (done.status, done.err), (0, ''))
        trace = max(place.traces('gone.*'), key=os.path.getsize)
        info = place.info(trace)
        expect_lossless(info)
        expect('allocations', info['totals']['allocations'] >= FUNCTIONS, True)
        for name in place.traces('gone.*'):
            os.unlink(name)


def peak_of(place, *command):
    """The address space that the program itself needs."""
    low, high = 0, 64 * MIB
    while high - low > MIB // 8:
        middle = (low + high) // 2
        done = place.run('sh', '-c', f'ulimit -S -v {middle // 1024}; exec "$@"', 'sh', *command)
        low, high = (low, middle) if done.status == 0 else (middle, high)
    return high


def test_address_space(place):
    """a program with 4 MiB of free address space runs under RLIMIT_AS: recorded from 14 MiB on, else with the reason why not"""
    command = (place.program('ending'), 'exit:0')
    peak = peak_of(place, *command)
    for more in (*range(LIBRARY, MOST + 1, 5 * MIB), LEAST):
        done = limited(place, peak + more, *command)
        expect(f'status with {more} bytes more than it needs, {done.err!r}', done.status, 0)
        trace = place.traces('limited.transparency_ending*')
        if trace:
            expect_lossless(place.info(trace[0]), 100, 40)
        else:
            contains('the reason', done.err, 'this program is not recorded', 'RLIMIT_AS')
        expect(f'recorded with {more} bytes more', bool(trace), more >= LEAST)
        for name in place.traces('limited.*'):
            os.unlink(name)


def test_address_space_left(place):
    """under RLIMIT_AS the recorder maps at most a third of what a program could map, besides the library"""
    with open('greedy.c', 'w', encoding='ascii') as file:
        file.write(GREEDY)
    compiled('gcc', '-o', 'greedy', 'greedy.c')
    for limit in (20 * MIB, 32 * MIB, 48 * MIB, 80 * MIB, 160 * MIB):
        alone = int(place.run('sh', '-c', f'ulimit -S -v {limit // 1024}; exec ./greedy').out)
        done = limited(place, limit, './greedy')
        expect(f'{limit}: status and stderr', (done.status, done.err), (0, ''))
        expect(f'{limit}: recorded', len(place.traces('limited.greedy.hlt')), 1)
        if int(done.out) < alone - LIBRARY // MIB - alone // 3:
            raise Failure(f'{limit}: alone {alone} MiB could be mapped, recorded {done.out}')


def test_few_rings(place):
    """under RLIMIT_AS threads share the rings that fit, and no event is lost"""
    threads, count = 24, 128

    def run(*command):
        done = place.record('sh', '-c', 'ulimit -S -s 64; ulimit -S -v 24000; exec "$@"', 'sh', *command,
                            env={**os.environ, 'MALLOC_ARENA_MAX': '1'}, options=('-q', '-f', '-o', 'limited.%e.hlt'))
        expect('status and stderr', (done.status, done.err), (0, ''))
        return done.out
    maps = [line.split()[0].split('-') for line in run('cat', '/proc/self/maps').splitlines() if 'memfd:heaplapse' in line]
    size = sum(int(end, 16) - int(start, 16) for start, end in maps)
    expect(f'{size} bytes of rings are less than {threads} rings', 0 < size < 5 * MIB, True)
    run(place.program('crowd'), 'alive', threads, count)
    info = place.info('limited.transparency_crowd.hlt')
    expect_lossless(info)
    blocks = sum(event.op == 'alloc' and event.size == 5000 for event in place.heaplapse.dump('limited.transparency_crowd.hlt'))
    expect('blocks', blocks, threads * count)


def test_given_back(place):
    """a program that is not recorded keeps no mapping of the recorder except the library"""
    done = place.bare('cat', '/proc/self/maps', env={'HEAPLAPSE_OUTPUT': 'nowhere/x.hlt'})
    expect('status', done.status, 0)
    contains('message', done.err, 'this program is not recorded')
    contains('its mappings', done.out, 'libheaplapse.so')
    expect('mappings of rings', [line for line in done.out.splitlines() if 'memfd' in line], [])


main(globals())
