#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""threads_test - more threads than rings, at once and one after the other: every event is counted."""
import collections
import os

from transparency import Failure, expect, expect_lossless, main

SIZE = 5000


def check_crowd(place, mode, way, threads, count):
    done = place.in_mode(mode, place.program('crowd'), way, threads, count)
    expect('status and stderr', (done.status, done.err), (0, ''))
    info = place.info()
    expect_lossless(info, end=('exit', 0))
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
        check_crowd(place, mode, 'alive', 600, 256)


def test_second(place):
    """a second thread that uses the heap late, and passes addresses back and forth: every event is counted, none is late"""
    for turn in range(20):
        done = place.record(place.program('second'), 200 * turn, options=('-q', '-f', '-o', 'x.hlt'))
        expect('status and stderr', (done.status, done.err), (0, ''))
        info = place.info()
        expect_lossless(info, end=('exit', 0))
        seen = collections.Counter(event.op for event in place.heaplapse.dump('x.hlt') if event.size == 2000)
        expect('allocations and frees', (seen['alloc'], seen['free']), (600 * turn, 600 * turn))


def test_flat(place):
    """memory does not grow with threads that have ended"""
    turns = 100000 if 'TRANSPARENCY_LONG' in os.environ else 20000
    done = place.record(place.program('crowd'), 'turns', turns, 4, options=('-q', '-o', 'x.hlt'))
    expect('status and stderr', (done.status, done.err), (0, ''))
    early, late = map(int, done.out.split())
    info = place.info()
    expect_lossless(info, end=('exit', 0))
    expect('allocations', sum(event.op == 'alloc' and event.size == SIZE for event in place.heaplapse.dump('x.hlt')),
           4 * turns)
    # odd threads keep two blocks of 5000 bytes each: bare it grows by the same amount
    alone = [int(n) for n in place.run(place.program('crowd'), 'turns', turns, 4).out.split()]
    growth = (late - early) - (alone[1] - alone[0])
    # A ring belongs to its thread until the collector has noticed its end: on a busy machine many
    # are in use, but never more than exist.
    if growth > 432 * 110:
        raise Failure(f'{growth} KiB more than alone after {turns} threads')


def test_2000(place):
    """2,000 threads alive at once"""
    check_crowd(place, 'record', 'alive', 2000, 64)


def test_turns(place):
    """5,000 threads one after the other: rings are reused"""
    for mode in ('record', 'bare'):
        check_crowd(place, mode, 'turns', 5000, 64)


main(globals())
