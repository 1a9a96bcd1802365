#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""footprint_test - record --mmap samples all mappings of the program, with what they hold."""
import glob
import json
import os
import time

from transparency import LIMIT, Failure, Skip, decode, expect, main

MIB = 1024
AMOUNTS = ('shared_clean', 'shared_dirty', 'private_clean', 'private_dirty', 'anonymous', 'swap')


def read(trace):
    """[(time, {address: (size, permissions, amounts in KiB, name)})] and {mark: time} of a trace that may still grow."""
    maps, roles, samples, marks = decode.Maps(), decode.Roles(), [], {}
    with open(trace, 'rb') as file:
        data = file.read()
    try:
        for c, _ in decode.chunks(data):
            if c.type == 2:
                roles.table(c)
            if c.type == 3:
                for _, line in decode.extras(c, roles):
                    words = line.split()
                    if words[3] == 'mark':
                        marks[words[-1].strip('"')] = int(words[1])
            if c.type == 9:
                for line in maps.part(c):
                    kind, *words = line.split(maxsplit=11)
                    if kind == 'sample':
                        samples.append((int(words[0]), {}))
                    else:
                        samples[-1][1][int(words[0], 16)] = (
                            int(words[1]), words[2], dict(zip(AMOUNTS, map(int, words[4:10]))), words[10])
    except decode.Damage as e:      # the end that is not written yet
        if 'ends in' not in str(e) and 'trailer' not in str(e):
            raise
    return samples, marks


class Steps:
    """A recorded footprint, step by step."""

    def __init__(self, place, *arguments, options=()):
        self.place, self.trace = place, 'trace.hlt'
        self.process = place.start(
            place.record_command(place.program('footprint'), *arguments,
                                 options=('-q', '--mmap', '-o', 'trace.hlt', *options)),
            stdin=-1)

    def step(self, name):
        """The address that the program says at this step, and a sample that was taken in it."""
        line = self.process.stdout.readline().split()
        expect('step', line[:1], [name])
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            samples, marks = read(self.trace) if os.path.exists(self.trace) else ([], {})
            later = [maps for at, maps in samples if name in marks and at > marks[name]]
            if later:
                return int(line[1], 16), later[0]
            time.sleep(0.05)
        raise Failure(f'no sample in the step {name}, in {LIMIT} s: {[at for at, _ in samples]}, {marks}')

    def go_on(self):
        self.process.stdin.write('\n')
        self.process.stdin.flush()

    def end(self):
        done = self.place.finish(self.process)
        expect('status', done.status, 0)


def compare_report(place, trace):
    """Each sample is the same in `report --resident` and in decode.py."""
    samples, _ = read(trace)
    for at, maps in samples:
        answer = json.loads(place.run(place.binary, 'report', '--json', '--resident', '-n', '0', f'--at={at}ns', trace).out)
        if answer['time_ns'] < at:
            continue            # after the end of the run
        expect('sample', (answer['sample_ns'], answer['samples']), (at, len(samples)))
        found = {int(m['address'], 16): [m[k] for k in ('size', 'protection', 'swap', 'anonymous', 'dirty', 'clean')]
                 for m in answer['mappings']}
        expect('mappings', found, {
            address: [size, permissions] + [1024 * x for x in (
                a['swap'], a['anonymous'], a['shared_dirty'] + a['private_dirty'], a['shared_clean'] + a['private_clean'])]
            for address, (size, permissions, a, _) in maps.items()})


def test_steps(place):
    """what is mapped, touched, shared and unmapped is in the samples"""
    name = 'odd name\n\x1b[2J (x).bin'
    steps = Steps(place, name)
    anon, maps = steps.step('mapped')
    size, permissions, amounts, label = maps[anon]
    expect('mapped', (size, permissions, label, amounts['private_dirty']), (8 << 20, 'rw-p', '""', 0))
    steps.go_on()
    anon, maps = steps.step('touched')
    _, _, amounts, _ = maps[anon]
    expect('touched', amounts['private_dirty'] + amounts['swap'], 3 * MIB)
    expect('anonymous', amounts['anonymous'], amounts['private_dirty'])
    steps.go_on()
    file, maps = steps.step('file')
    size, permissions, amounts, label = maps[file]
    expect('file', (size, permissions), (2 << 20, 'rw-s'))
    if not label.endswith(r'/odd name\x5c012\x1b[2J (x).bin (deleted)"'):
        raise Failure(f'the name of the file: {label}')
    expect('of the file', sum(amounts[key] for key in AMOUNTS[:4]), 1 * MIB)
    expect('anonymous, of the file', amounts['anonymous'], 0)
    steps.go_on()
    rest, maps = steps.step('cut')
    expect('the first half is gone', anon in maps, False)
    expect('the second half', (maps[rest][0], maps[rest][2]['private_dirty']), (4 << 20, 0))
    steps.go_on()
    _, maps = steps.step('unmapped')
    expect('the second half is gone', rest in maps, False)
    steps.go_on()
    steps.end()
    compare_report(place, 'trace.hlt')


def test_last_sample(place):
    """a program that waits at its exit is sampled a last time"""
    steps = Steps(place, 'file.bin', options=('--exit-wait=60s',))
    for name in ('mapped', 'touched', 'file', 'cut', 'unmapped'):
        place_of, _ = steps.step(name)
        steps.go_on()
    steps.end()
    samples, _ = read('trace.hlt')
    stated = int(place.dump('trace.hlt')[-1].split()[1])
    if samples[-1][0] <= stated:
        raise Failure(f'the last sample is at {samples[-1][0]}, the last event at {stated}')
    expect('what is mapped at the end', place_of in samples[-1][1], False)


def test_rotate(place):
    """the file after a rotation begins with all mappings"""
    steps = Steps(place, 'file.bin')
    anon, _ = steps.step('mapped')
    pid, _ = place.parents('trace.hlt')
    done = place.run(place.binary, 'ctl', pid, 'rotate')
    expect('rotate', (done.status, done.err), (0, ''))
    steps.go_on()
    steps.trace = 'trace.2.hlt'
    _, maps = steps.step('touched')
    expect('touched', maps[anon][2]['private_dirty'] + maps[anon][2]['swap'], 3 * MIB)
    for name in 'file', 'cut', 'unmapped':
        steps.go_on()
        steps.step(name)
    steps.go_on()
    steps.end()
    first, second = read('trace.hlt')[0], read('trace.2.hlt')[0]
    expect('in order', first[-1][0] < second[0][0], True)
    expect('the first sample of the second file', anon in second[0][1], True)


def test_bare(place):
    """HEAPLAPSE_MMAP=1: the same, with a last sample"""
    place.bare(place.program('ending'), 'exit:0', env={'HEAPLAPSE_MMAP': '1', 'HEAPLAPSE_EXIT_WAIT': '60'})
    name = place.traces()[0]
    place.info(name)
    samples, _ = read(name)
    stated = int(place.dump(name)[-1].split()[1])
    if not samples or samples[-1][0] <= stated:
        raise Failure(f'samples at {[at for at, _ in samples]}, the last event at {stated}')
    expect('the stack', [1 for *_, label in samples[-1][1].values() if label == '"[stack]"'], [1])


def test_many(place):
    """20,000 mappings"""
    steps = Steps(place, 'many', '20000')
    address, maps = steps.step('many')
    expect('mappings', len([a for a in maps if address <= a < address + 20000 * 4096]), 20000)
    steps.go_on()
    steps.end()


def test_without(place):
    """without --mmap there are no samples, and the collector has no third thread"""
    process = place.start(place.record_command(place.program('footprint'), 'file.bin', options=('-q', '-o', 'trace.hlt')),
                          stdin=-1)
    for _ in range(5):
        process.stdout.readline()
        threads = {len(glob.glob(f'/proc/{pid}/task/*')) for pid in collectors(process.pid)}
        expect('threads of the collector', threads, {2})
        process.stdin.write('\n')
        process.stdin.flush()
    expect('status', place.finish(process).status, 0)
    expect('samples', read('trace.hlt')[0], [])


def collectors(pid):
    """The children of a process that are collectors."""
    found = []
    for child in glob.glob(f'/proc/{pid}/task/*/children'):
        with open(child, encoding='ascii') as file:
            found += file.read().split()
    return [child for child in found if is_collector(child)]


def is_collector(pid):
    try:
        with open(f'/proc/{pid}/comm', encoding='ascii', errors='replace') as file:
            return 'heaplapse' in file.read()
    except OSError:
        return False


def test_rights(place):
    """a program of another user: no samples, and everything else is recorded"""
    if os.geteuid():
        raise Skip('needs root')
    done = place.record('setpriv', '--reuid=65534', '--clear-groups', place.program('ending'), 'exit:0',
                        options=('-q', '--mmap', '-o', 'trace.hlt'))
    if 'setpriv' in done.err:
        raise Skip(done.err.strip())
    expect('status', done.status, 0)
    for trace in place.traces():
        read(trace)


main(globals())
