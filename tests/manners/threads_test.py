#!/usr/bin/python3
"""threads_test - more threads than rings, at once and one after the other: all is counted."""
import collections
import os

from manners import expect, main, sound

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


def test_turns(place):
    """5,000 threads one after the other: rings are used again"""
    for mode in ('record', 'bare'):
        crowd(place, mode, 'turns', 5000, 64)


main(globals())
