#!/usr/bin/python3
"""threads_test - more threads than rings, at once and one after the other: all is counted."""
import collections
import os

from manners import Failure, expect, main, sound

SIZE = 5000


def crowd(place, mode, way, threads, count):
    done = place.in_mode(mode, place.program('crowd'), way, threads, count)
    expect('status and stderr', (done.status, done.err), (0, ''))
    info = place.info()
    sound(info, end=('exit', 0))
    trace = place.traces()[0]
    seen, by_thread = collections.Counter(), collections.Counter()
    for event in place.heaplapse.dump(trace):
        if event.size == SIZE:
            seen[event.op] += 1
            by_thread[event.thread] += event.op == 'alloc'
    expect('allocations', seen['alloc'], threads * count)
    expect('frees', seen['free'], threads * count * 3 // 4)
    expect('threads', len([n for n in by_thread.values() if n]), threads)
    expect('allocations of each thread', set(by_thread.values()) - {0}, {count})
    report = place.heaplapse.report(trace, '--allocated')
    blocks = sum(node['blocks'] for node in report['nodes'] if node['function'] == 'work')
    expect('blocks of work()', blocks, threads * count)
    os.unlink(trace)


def test_alive(place):
    """600 threads alive at once, some without a ring of their own"""
    for mode in ('record', 'bare'):
        crowd(place, mode, 'alive', 600, 256)


def test_second(place):
    """a second thread that comes to the heap late, and passes addresses to and fro: all is counted, nothing is late"""
    for turn in range(20):
        done = place.record(place.program('second'), 200 * turn, options=('-q', '-f', '-o', 'x.hlt'))
        expect('status and stderr', (done.status, done.err), (0, ''))
        info = place.info()
        sound(info, end=('exit', 0))
        seen = collections.Counter(event.op for event in place.heaplapse.dump('x.hlt') if event.size == 2000)
        expect('allocations and frees', (seen['alloc'], seen['free']), (600 * turn, 600 * turn))


def test_flat(place):
    """memory does not grow with threads that have come and gone"""
    turns = 100000 if 'MANNERS_LONG' in os.environ else 20000
    done = place.record(place.program('crowd'), 'turns', turns, 4, options=('-q', '-o', 'x.hlt'))
    expect('status and stderr', (done.status, done.err), (0, ''))
    early, late = map(int, done.out.split())
    info = place.info()
    sound(info, end=('exit', 0))
    expect('allocations', sum(event.op == 'alloc' and event.size == SIZE for event in place.heaplapse.dump('x.hlt')),
           4 * turns)
    # odd threads keep two blocks of 5000 bytes each: bare it grows by as much
    alone = [int(n) for n in place.run(place.program('crowd'), 'turns', turns, 4).out.split()]
    growth = (late - early) - (alone[1] - alone[0])
    # A ring stays its thread's until the collector has looked: on a busy machine many are in use, never more than all.
    if growth > 432 * 110:
        raise Failure(f'{growth} KiB more than alone after {turns} threads')


def test_2000(place):
    """2,000 threads alive at once"""
    crowd(place, 'record', 'alive', 2000, 64)


def test_turns(place):
    """5,000 threads one after the other: rings are used again"""
    for mode in ('record', 'bare'):
        crowd(place, mode, 'turns', 5000, 64)


main(globals())
