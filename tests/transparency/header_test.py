#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""header_test - heaplapse.h in C and C++, in every kind of program; HEAPLAPSE_* with LD_PRELOAD alone."""
import collections
import os
import re
import shutil

from transparency import HERE, Failure, Skip, compiled, contains, expect, expect_lossless, main

STRICT = ['-Wall', '-Wextra', '-Wpedantic', '-Werror', '-Wshadow']
LABELS = ['"first"', r'"two\x0alines\x0d\x09\x22quoted\x22 \x5c \x1b[31m"', r'"\xff\xfe broken \xc3"', '', '', None,
          '"more"']


def build(place, name, compiler='gcc', *options, sources=('talk.c', 'talk_more.c')):
    if not shutil.which(compiler):
        raise Skip(f'{compiler} is not installed')
    language = ['-x', 'c++'] if '++' in compiler else []
    compiled(compiler, *STRICT, '-fno-builtin', '-I', place.include, '-o', name, *options, *language,
             *(os.path.join(HERE, 'programs', source) for source in sources))
    return './' + name


def sizes(place, trace):
    count = collections.Counter()
    for line in place.dump(trace):
        op, _, _, _, _, size, _ = line.split(' ', 6)
        if op == 'alloc' and 6000 < int(size) < 6010:
            count[int(size)] += 1
    return dict(count)


def extras(place, trace, kind):
    """The texts of the extras of one kind, as dump prints them."""
    return [m[1] for m in (re.match(rf'extra \d+ \S+ {kind} 0x\S+ \d+ \d+ \d+ \S+ (.*)', line)
                           for line in place.dump(trace)) if m]


def check(place, trace, start_off=False):
    expect('blocks by size', sizes(place, trace), {6003: 30} if start_off else {6001: 10, 6003: 30})
    marks = extras(place, trace, 'mark')
    if start_off:
        expect('marks', marks, ['"last"'])
        return
    expect('number of marks', len(marks), len(LABELS) + 1)
    for found, wanted in zip(marks, LABELS + ['"last"']):
        if wanted is None:
            expect('start of the long label', found[:100], '"' + 'x' * 99)
        elif wanted == '':
            expect('empty label', found in ('""', '-'), True)
        else:
            expect('label', found, wanted)
    expect('snapshots', [text.strip('"-') for text in extras(place, trace, 'snapshot')], ['picture', ''])
    expect('starts and stops', (len(extras(place, trace, 'start')), len(extras(place, trace, 'stop'))), (1, 2))
    for line in place.dump(trace):
        if not line.isascii() or not line.isprintable():
            raise Failure(f'dump prints {line!r}')


def talk(place, *build_args):
    program = build(place, 'talk', *build_args)
    alone = place.run(program)
    expect('alone', (alone.status, alone.out, alone.err), (11, 'talked\n', ''))
    for mode in ('record', 'bare'):
        done = place.in_mode(mode, program)
        expect(mode, (done.status, done.out, done.err), (11, 'talked\n', ''))
        info = place.info()
        expect('end', info['end'], {'kind': 'exit', 'value': 11})
        check(place, place.traces()[0])
        os.unlink(place.traces()[0])


def test_c(place):
    """C99 without extensions, as a position-independent program"""
    talk(place, 'gcc', '-std=c99', '-fPIE', '-pie')


def test_c_no_pie(place):
    """C, not position-independent"""
    talk(place, 'gcc', '-no-pie', '-fno-pie', '-O2')


def test_cxx(place):
    """C++98 and C++17"""
    talk(place, 'g++', '-std=c++98')
    talk(place, 'g++', '-std=c++17', '-O2', '-no-pie', '-fno-pie')


def test_clang(place):
    """the same with clang"""
    talk(place, 'clang', '-std=c11')


def test_static(place):
    """static programs run normally, unrecorded"""
    for option in ('-static', '-static-pie'):
        program = build(place, 'talk', 'gcc', option)
        for done in (place.run(program), place.bare(program), place.record(program, options=('--force',))):
            expect('status and output', (done.status, done.out), (11, 'talked\n'))
    expect('traces', place.traces(), [])


def test_verbose(place):
    """-v and HEAPLAPSE_VERBOSE print each snapshot: live bytes and the change"""
    program = build(place, 'picture', sources=('picture.c',))
    wanted = ['heaplapse: picture: snapshot 1 "one\\x1b[31m": 1000 B in 1 block live (+1000 B)',
              'heaplapse: picture: snapshot 2: 5.9 KiB in 2 blocks live (+4.9 KiB)',
              'heaplapse: picture: snapshot 3 "less": 1000 B in 1 block live (-4.9 KiB)']
    done = place.record(program, options=('-v',))
    expect('record -v', done.err.splitlines(), wanted)
    expect('record -q', place.record(program, options=('-v', '-q')).err, '')
    expect('record', place.record(program, options=()).err, '')
    expect('bare', place.bare(program, env={'HEAPLAPSE_VERBOSE': '1'}).err.splitlines(), wanted)


def test_start_off(place):
    """--start=off: nothing until heaplapse_start(), nothing after heaplapse_stop()"""
    program = build(place, 'talk')
    place.record(program, options=('-q', '--start=off'))
    check(place, place.traces()[0], start_off=True)
    info = place.info()
    expect('end and complete', (info['end'], info['complete']), ({'kind': 'exit', 'value': 11}, False))
    os.unlink(place.traces()[0])
    place.bare(program, env={'HEAPLAPSE_START': 'off'})
    info = place.info()
    expect('end', info['end'], {'kind': 'exit', 'value': 11})
    check(place, place.traces()[0], start_off=True)


def test_never_started(place):
    """--start=off and never started: an empty trace with the right end"""
    for mode in ('record', 'bare'):
        env = {**os.environ, 'HEAPLAPSE_START': 'off'}
        done = place.in_mode(mode, place.program('ending'), '_exit:3', env=env if mode == 'record' else {
            'HEAPLAPSE_START': 'off'})
        expect('status', done.status, 3)
        info = place.info()
        expect('end', info['end'], {'kind': 'exit', 'value': 3})
        expect('allocations', info['totals']['allocations'], 0)
        os.unlink(place.traces()[0])


def test_environment(place):
    """HEAPLAPSE_* are the options of a program with LD_PRELOAD alone"""
    program = place.program('ending')
    place.bare(program, 'exit:3', env={'HEAPLAPSE_OUTPUT': 'named.%e', 'HEAPLAPSE_FREE_STACKS': '1'})
    expect_lossless(place.info('named.transparency_ending'), 100, 40, ('exit', 3))
    frees = [line for line in place.dump('named.transparency_ending') if line.startswith('free')]
    expect('frees with a stack', sum(' at=n' in line for line in frees), 40)
    place.bare(program, 'exit:3', env={'HEAPLAPSE_OUTPUT': 'second', 'HEAPLAPSE_FREE_STACKS': '0', 'HEAPLAPSE_MMAP': ''})
    expect_lossless(place.info('second'), 100, 40)
    expect('frees with a stack', [line for line in place.dump('second') if ' at=n' in line], [])


def test_bad_environment(place):
    """a bad value is one message, and the program runs"""
    program = place.program('ending')
    for name, value in (('DEPTH', 'deep'), ('FREE_STACKS', 'maybe'), ('START', '2'), ('OUTPUT', '%z'), ('MAX_WAIT', '-1'),
                        ('CLOCK', 'x'), ('UNWIND', 'half'), ('COLLECTOR_MEMORY', 'x' * 500)):
        done = place.bare(program, 'exit:3', env={'HEAPLAPSE_' + name: value})
        expect(f'{name}: status and lines', (done.status, done.err.count('\n')), (3, 1))
        contains('message', done.err, 'heaplapse: ', 'not recorded', 'HEAPLAPSE_' + name)
        done = place.bare(program, 'exit:3', env={'HEAPLAPSE_' + name: value, 'HEAPLAPSE_QUIET': '1'})
        expect('quiet', (done.status, done.err), (3, ''))
        if name != 'OUTPUT':
            done = place.record(program, 'exit:3', env={**os.environ, 'HEAPLAPSE_' + name: value})
            expect(f'{name}: status under record', done.status, 125)
            contains('message', done.err, 'HEAPLAPSE_' + name)
    expect('traces', place.traces(), [])


def test_missing_collector(place):
    """the library without the command next to it: one message, the program runs"""
    os.mkdir('lib')
    shutil.copy(place.library, 'lib/libheaplapse.so')
    done = place.run(place.program('ending'), 'exit:3', env={**os.environ, 'LD_PRELOAD': os.path.abspath(
        'lib/libheaplapse.so')})
    expect('status and lines', (done.status, done.err.count('\n')), (3, 1))
    contains('message', done.err, 'not recorded', 'heaplapse')


main(globals())
