#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""stacks_test - little stack, handlers inside the allocator, destructors of thread data: nothing
fails, and no event is lost."""
import json
import os

from transparency import Failure, expect, expect_lossless, main

LIMIT = 2048        # bytes of stack that one event may use


def lines(place, *command):
    done = place.run(*command)
    expect('status and stderr', (done.status, done.err), (0, ''))
    return [(name, int(size)) for name, size in (line.split() for line in done.out.splitlines())]


def test_depth(place):
    """one event takes at most 2 KiB of stack, the first of a thread and of a deep stack included"""
    alone = lines(place, place.program('stack'))
    for option in ('--unwind=incremental', '--unwind=full', '--free-stacks'):
        recorded = lines(place, *place.record_command(place.program('stack'), options=('-q', option)))
        expect('calls', [name for name, _ in recorded], [name for name, _ in alone])
        for (name, bare), (_, size) in zip(alone, recorded):
            if size - bare > LIMIT:
                raise Failure(f'{option}: {name} takes {size} bytes, alone {bare}')


def narrow(place, *args, **env):
    """The program prints its number of blocks; the trace must have the same."""
    for mode in ('record', 'bare'):
        env = {**os.environ, **env}
        done = place.in_mode(mode, place.program('narrow'), *args, env=env) if mode == 'record' else place.run(
            place.program('narrow'), *args,
            env={**env, 'LD_PRELOAD': ':'.join(filter(None, (place.library, env.get('LD_PRELOAD'))))})
        expect('status and stderr', (done.status, done.err), (0, ''))
        expect_lossless(place.info(), end=('exit', 0))
        trace = place.traces()[0]
        found = sum(event.op == 'alloc' and event.size == 5000 for event in place.heaplapse.dump(trace))
        expect(f'{mode}: blocks', found, int(done.out))
        os.unlink(trace)


def test_altstack(place):
    """in handlers on alternate stacks of 8 and 6 KiB"""
    narrow(place, 'altstack', 8192, 1000)
    narrow(place, 'altstack', 6144, 1000)


def test_small_threads(place):
    """in threads with 16 KiB of stack, near its end"""
    narrow(place, 'thread', 16384, 200)


def test_keys(place):
    """in destructors of thread data, four rounds, after everything else of the thread is gone"""
    narrow(place, 'keys', 2000)


def test_storm(place):
    """in handlers that interrupt our hooks and the real malloc"""
    narrow(place, 'storm', 200000, LD_PRELOAD=os.path.join(place.programs, 'bump.so'))


def test_jump(place):
    """handlers that leave our hooks and the real malloc by siglongjmp"""
    narrow(place, 'jump', 50000, LD_PRELOAD=os.path.join(place.programs, 'bump.so'))


def test_outgrow(place):
    """in handlers on deeper stacks than the recorder remembers, which interrupt hooks that send theirs"""
    for _ in range(4):
        narrow(place, 'outgrow', 20, LD_PRELOAD=os.path.join(place.programs, 'bump.so'))


def test_parts(place):
    """the same with stacks that are sent in parts: no other event gets their frames"""
    done = place.in_mode('record', place.program('narrow'), 'parts', 100000,
                         env={**os.environ, 'LD_PRELOAD': os.path.join(place.programs, 'bump.so')})
    expect('status and stderr', (done.status, done.err), (0, ''))
    expect_lossless(place.info(), end=('exit', 0))
    trace = place.traces()[0]

    def blocks(of):
        return json.loads(place.heaplapse.run('report', '--allocated', '--json', '--filter', of, trace))['total_blocks']

    for size, own, other in ((201, 'left', 'right'), (202, 'right', 'left')):
        if blocks(f'size:{size}') < 1000:
            raise Failure(f'hardly any block of {size} bytes')
        expect(f'blocks of {size} bytes below {own}()', blocks(f'size:{size} fn:{own}'), blocks(f'size:{size}'))
        expect(f'blocks of {size} bytes below {other}()', blocks(f'size:{size} fn:{other}'), 0)
        expect(f'blocks of 77 bytes below {own}()', blocks(f'size:77 fn:{own}'), 0)


main(globals())
