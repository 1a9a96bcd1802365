#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kill_test - kills a recorded program at random moments: no event before the kill may be missing.

	kill_test.py --heaplapse BIN PROGRAM THREADS KILLS

PROGRAM is programs/kill_loop.c: each of its threads counts the calls that have returned, in a
shared file. After at least 10,000 of them it gets SIGKILL. For each thread the trace must have as
many events as were counted, or one more: the call in progress when the kill came.
"""
import argparse
import mmap
import os
import random
import signal
import struct
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'exactness'))
from hltrace import Failure, Heaplapse, Results, expect  # noqa: E402

MARKER = 77777          # kill_loop.c adds the number of the thread's line
LINE = struct.Struct('=QQ48x')
ENOUGH = 10000          # events before the kill
LATEST_MS = 8           # latest kill after ENOUGH events


class Counters:
    """The file in which the program counts."""

    def __init__(self, path, threads):
        with open(path, 'wb') as file:
            file.truncate(LINE.size * (threads + 1))
        with open(path, 'r+b') as file:
            self.map = mmap.mmap(file.fileno(), 0)

    def pid(self):
        return LINE.unpack_from(self.map, 0)[0]

    def lines(self):
        """{line: count} of each thread that has started."""
        lines = {number: LINE.unpack_from(self.map, number * LINE.size)
                 for number in range(1, len(self.map) // LINE.size)}
        return {number: count for number, (tid, count) in lines.items() if tid}

    def total(self):
        return sum(self.lines().values())


def wait_for_events(counters, recorder, seconds=20):
    deadline = time.monotonic() + seconds
    while counters.total() < ENOUGH:
        if recorder.poll() is not None:
            raise Failure(f'the program ended by itself: {recorder.returncode}')
        if time.monotonic() > deadline:
            raise Failure(f'only {counters.total()} events in {seconds} s')
        time.sleep(0.0005)


def recorded_events(heaplapse, trace):
    """{line of the thread: its events after the marker} of a trace."""
    line_of, counts = {}, {}
    for event in heaplapse.dump(trace):
        line = line_of.get(event.thread)
        if line is not None:
            counts[line] += 1
        elif event.op == 'alloc' and event.size >= MARKER:
            line_of[event.thread] = event.size - MARKER
            counts[event.size - MARKER] = 0
    return counts


def check_threads(counted, recorded):
    wrong = []
    for line, count in counted.items():
        more = recorded.get(line, -1) - count
        if more not in (0, 1):
            wrong.append(f'thread {line}: {count} calls returned, '
                         f'{recorded.get(line, "none")} recorded')
    if wrong:
        raise Failure('\n'.join(wrong))


def kill_once(args, folder, rng):
    heaplapse = Heaplapse(args.heaplapse)
    trace = os.path.join(folder, 'trace.hlt')
    counter_file = os.path.join(folder, 'counters')
    counters = Counters(counter_file, args.threads)
    recorder = heaplapse.record(trace, [args.program, counter_file, str(args.threads)])
    try:
        wait_for_events(counters, recorder)
        time.sleep(rng.uniform(0, LATEST_MS / 1000))
    finally:
        if counters.pid():
            os.kill(counters.pid(), signal.SIGKILL)
        else:
            recorder.kill()
        status = recorder.wait()
    # record passes on how the program ended: by the same signal, or as 128 + 9 like a shell
    if status not in (-signal.SIGKILL, 128 + signal.SIGKILL):
        raise Failure(f'record ended with {status}')
    info = heaplapse.info_when_ended(trace)
    expect('end', info['end'], {'kind': 'signal', 'value': int(signal.SIGKILL), 'oom': False})
    expect('complete', info['complete'], True)
    expect('dropped_events', info['totals']['dropped_events'], 0)
    check_threads(counters.lines(), recorded_events(heaplapse, trace))
    return counters.total()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--heaplapse', type=os.path.abspath, required=True)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('program', type=os.path.abspath)
    parser.add_argument('threads', type=int)
    parser.add_argument('kills', type=int)
    args = parser.parse_args()
    rng = random.Random(args.seed * 1000 + args.threads)
    results = Results()
    events = 0

    def kill_many():
        nonlocal events
        for number in range(args.kills):
            with tempfile.TemporaryDirectory(prefix='heaplapse-kill-') as folder:
                try:
                    events += kill_once(args, folder, rng)
                except Failure as failure:
                    raise Failure(f'kill {number}: {failure}') from None

    results.case(f'{args.kills} kills at {args.threads} threads', kill_many)
    print(f'# {events} events counted')
    return results.status()


sys.exit(main())
