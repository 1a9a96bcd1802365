#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""many_test - properties that must hold each time, tested many times: forks of a multithreaded
program, kills of the collector.

Ten times as often with TRANSPARENCY_LONG in the environment (make soak).
"""
import os
import random
import signal
import time

from transparency import Failure, children_of, comm_of, expect, expect_lossless, main, unmatched_frees

LONG = 'TRANSPARENCY_LONG' in os.environ
# MALLOC_PERTURB_ would fill the collector's buffers, ten megabytes for each of hundreds of
# children, most of which are never touched.
os.environ.pop('MALLOC_PERTURB_', None)


def test_forks(place):
    """children forked while four threads allocate: none hangs, none fails"""
    number = 10000 if LONG else 1000
    done = place.record(place.program('forks'), number, options=('-q', '--no-follow-fork'))
    expect('status and what ended well, what hung', (done.status, done.out), (0, f'{number} 0\n'))


def test_forks_followed(place):
    """the same, each with a complete trace"""
    number = 2000 if LONG else 100
    done = place.record(place.program('forks'), number)
    expect('status and what ended well, what hung', (done.status, done.out), (0, f'{number} 0\n'))
    infos = place.infos(number + 1, seconds=120)
    children = [info for info in infos.values() if info['totals']['allocations'] == 100]
    expect('children', len(children), number)
    for info in children:
        expect_lossless(info, 100, 100, ('exit', 0))


def test_forks_faster(place):
    """children that end faster than a slow collector follows: they wait for a ring"""
    number = 500
    signal.alarm(200)  # four other threads run all the time
    process = place.start(place.record_command(place.program('forks'), number))
    deadline = time.monotonic() + 30
    while len(place.traces()) < 20 and time.monotonic() < deadline:
        time.sleep(0.002)
    collector = [child for child in children_of(process.pid) if comm_of(child) == 'heaplapse']
    expect('collectors', len(collector), 1)
    for _ in range(3):
        os.kill(collector[0], signal.SIGSTOP)
        time.sleep(0.3)  # shorter than the time after which it is considered dead
        before = ran_ns(collector[0])
        os.kill(collector[0], signal.SIGCONT)
        while ran_ns(collector[0]) < before + 5000000 and process.poll() is None:
            time.sleep(0.005)  # on a busy machine it is scheduled later
    done = place.finish(process, seconds=150)
    expect('status, what ended well, what hung', (done.status, done.out, done.err), (0, f'{number} 0\n', ''))
    expect('traces', len(place.traces()), number + 1)


def ran_ns(pid):
    try:
        with open(f'/proc/{pid}/schedstat', encoding='utf-8') as file:
            return int(file.read().split()[0])
    except (OSError, IndexError):
        return float('inf')


def kill_once(place, moment):
    process = place.start(place.record_command(place.program('hammer'), 0.4))
    pid = int(process.stdout.readline().split()[1])
    time.sleep(moment)
    collector = [child for child in children_of(process.pid) if child != pid]
    if collector:
        os.kill(collector[0], signal.SIGKILL)
    done = place.finish(process)
    expect('status', done.status, 17)
    seen = dropped = 0
    for name in place.traces():
        info = place.heaplapse.info(name)
        totals = info['totals']
        seen += sum(event.size == 300 for event in place.heaplapse.dump(name))
        seen += unmatched_frees(totals)
        dropped += totals['dropped_events']
        # A trace that was cut off must not report leaks.
        expect('a trace without its end claims nothing', info['complete'] and info['end']['kind'] == 'lost', False)
        os.unlink(name)
    missing = 2 * int(done.out) - seen
    # the lost events may include a few of libc's own
    if not 0 <= missing <= dropped <= missing + 100:
        raise Failure(f'{missing} events are missing, {dropped} are said to be lost')


def test_collector(place):
    """the collector is killed at random moments: the program never fails, missing events are counted"""
    rng = random.Random(7)
    for number in range(200 if LONG else 20):
        try:
            kill_once(place, rng.uniform(0, 0.35))
        except Failure as failure:
            raise Failure(f'kill {number}: {failure}') from None


main(globals())
