#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""handlers_test - events of signal handlers that interrupt our own hooks: none is lost, and none
corrupts another."""
import json
import os

from transparency import Failure, expect, main


def record_signals(place, pairs, *how):
    done = place.record(place.program('handler'), pairs, *how, options=('-q', '--mmap', '-o', 'x.hlt'))
    expect('status', done.status, 0)
    made, runs, jumps = map(int, done.err.split())
    if runs < 100:
        raise Failure(f'only {runs} runs of the handler')
    info = place.info()
    expect('dropped', info['totals']['dropped_events'], 0)
    expect('end', info['end'], {'kind': 'exit', 'value': 0})
    expect('complete', info['complete'], True)
    lines = place.dump('x.hlt')
    blocks = [line for line in lines if line.startswith('alloc') and ' 77 #' in line]
    expect('allocations', len(blocks), made)
    for what, word in (('marks', 'mark'), ('mmaps', 'mmap'), ('munmaps', 'munmap')):
        got = sum(f' {word} ' in line and (word != 'mark' or 'in the handler' in line)
                  for line in lines if line.startswith('extra'))
        expect(what, got, runs)
    expect('frees', info['totals']['unknown_frees'] + info['totals']['implicit_frees'], 0)
    expect('threads', info['totals']['threads'], 1)
    return jumps


def test_plain(place):
    """on the normal stack"""
    record_signals(place, 2000000)


def test_alternate(place):
    """on an alternate stack"""
    record_signals(place, 2000000, 'alt')


def test_sites(place):
    """between an unwind and its record: each block keeps its own stack"""
    done = place.record(place.program('handler'), 4000000, 'sites', options=('-q', '--mmap', '-o', 'x.hlt'))
    expect('status', done.status, 0)
    made, runs, _ = map(int, done.err.split())
    if runs < 100:
        raise Failure(f'only {runs} runs of the handler')
    for size, site, other in ((77, 'left', 'right'), (78, 'right', 'left')):
        for name, blocks in ((site, made // 2), (other, 0)):
            report = json.loads(place.heaplapse.run('report', '--allocated', '--json', '--filter',
                                                    f'size:{size} fn:{name}', 'x.hlt'))
            expect(f'blocks of {size} bytes in {name}()', report['total_blocks'], blocks)


def test_jump(place):
    """leaving by siglongjmp, also out of our own functions"""
    if record_signals(place, 100000, 'jump') < 10:
        raise Failure('hardly any jump')


def test_deep(place):
    """the same from several depths: state left at one depth is reused at another, and no hook waits for itself"""
    if record_signals(place, 20000, 'deep') < 30:
        raise Failure('hardly any jump')


def test_newborn(place):
    """that interrupt a thread in its very first allocation"""
    env = {**os.environ, 'LD_PRELOAD': os.path.join(place.programs, 'bump.so')}
    done = place.record(place.program('newborn'), 1500, options=('-q', '-o', 'x.hlt'), env=env)
    expect('status', done.status, 0)
    made = list(map(int, done.err.split()))
    if made[0] < 5:
        raise Failure(f'only {made[0]} handlers came that early')
    lines = place.dump('x.hlt')
    for kind in range(2):
        expect(f'blocks of {41 + kind} bytes', sum(line.startswith('alloc') and f' {41 + kind} #' in line for line in lines),
               made[kind])
    info = place.info()
    expect('complete', info['complete'], True)
    expect('frees', info['totals']['unknown_frees'] + info['totals']['implicit_frees'], 0)


if __name__ == '__main__':
    main(globals())
