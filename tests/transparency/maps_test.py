#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""maps_test - --mmap: the program's own mappings, with addresses, sizes and stacks; and --free-stacks."""
import json
import re

from transparency import Failure, Skip, expect, expect_lossless, main

EXTRA = re.compile(r'extra \d+ \S+ (mmap|munmap|mremap) (0x\S+) (\d+) (\d+) (\d+) (\S+) ')


def mappings(place, trace):
    return [m.groups() for m in map(EXTRA.match, place.dump(trace)) if m]


def test_maps(place):
    """--mmap: mmap, munmap and mremap that succeed, as the program saw them"""
    done = place.record(place.program('mapper'), options=('-q', '--mmap', '-o', 'with.hlt'))
    expect('status', done.status, 0)
    said = [tuple(line.split()) for line in done.out.splitlines()]
    found = mappings(place, 'with.hlt')
    # libc's own mappings, for stdio or its arenas, do not go through our hooks
    expect('calls', [(kind, address, size) for kind, address, size, *_ in found], said)
    for kind, _, _, _, _, node in found:
        if not re.fullmatch(r'n\d+', node):
            raise Failure(f'{kind} has no stack')
    expect('what mremap moved', found[2][3:5], (str(int(said[1][1], 16)), '81920'))
    place.record(place.program('mapper'), options=('-q', '-o', 'without.hlt'))
    expect('calls without --mmap', mappings(place, 'without.hlt'), [])
    totals = [place.info(name)['totals'] for name in ('with.hlt', 'without.hlt')]
    for name in ('allocations', 'bytes_allocated', 'frees', 'live_bytes_end', 'peak_bytes'):
        expect(name, totals[0][name], totals[1][name])


def test_refused(place):
    """a munmap that the kernel refuses because there are too many maps: the range is recorded again"""
    done = place.record(place.program('mapper'), 'refused', options=('-q', '--mmap'))
    if done.status == 77:
        raise Skip('this kernel allows more maps than can be made here')
    expect('status', done.status, 0)
    found = [(kind, size) for kind, address, size, *_ in mappings(place, place.traces()[0])
             if address == done.out.strip()]
    expect('at the place', found, [('munmap', '4096'), ('mmap', '4096')])


def test_both(place):
    """mremap with MREMAP_DONTUNMAP: the old range is mapped, too"""
    done = place.record(place.program('mapper'), 'both', options=('-q', '--mmap', '-o', 'both.hlt'))
    if done.status == 77:
        raise Skip('this kernel has no MREMAP_DONTUNMAP')
    expect('status', done.status, 0)
    found = [m for m in mappings(place, 'both.hlt') if m[0] == 'mremap']
    expect('what stays', [m[2:5] for m in found], [('8192', str(int(done.out, 16)), '0')])
    answer = json.loads(place.run(place.binary, 'report', '--json', '--mmaps', 'both.hlt').out)
    expect('both are left', (answer['left_bytes'], [m['protection'] for m in answer['mmaps']]), (16384, ['rw-', 'rw-']))


def test_bare(place):
    """HEAPLAPSE_MMAP=1 does the same"""
    done = place.bare(place.program('mapper'), env={'HEAPLAPSE_MMAP': '1'})
    place.info()
    expect('calls', [m[:3] for m in mappings(place, place.traces()[0])],
           [tuple(line.split()) for line in done.out.splitlines()])


def test_free_stacks(place):
    """--free-stacks: every free has a stack, and none without it"""
    place.record(place.program('ending'), 'exit:0', options=('-q', '--free-stacks', '-o', 'with.hlt'))
    expect_lossless(place.info('with.hlt'), 100, 40)
    frees = [line for line in place.dump('with.hlt') if line.startswith('free')]
    expect('frees with a stack', [bool(re.search(r' at=n\d+$', line)) for line in frees], [True] * 40)
    place.record(place.program('ending'), 'exit:0', options=('-q', '-o', 'without.hlt'))
    frees = [line for line in place.dump('without.hlt') if line.startswith('free')]
    expect('frees with a stack', [line.endswith(' at=-') for line in frees], [True] * 40)


main(globals())
