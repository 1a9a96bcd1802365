#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""loader_test - the recorder interferes neither with the loader nor with other preloads."""
import os

from transparency import HERE, compiled, expect, expect_lossless, main

EVENTS = 14     # of waiting_plugin.cpp's thread: 12 by operators, malloc, realloc


def source(name):
    return os.path.join(HERE, 'programs', name)


def test_constructor_waits(place):
    """a library's constructor may wait for a thread that allocates: no hook calls into the loader"""
    compiled('g++', '-O1', '-fPIC', '-shared', '-fno-builtin', '-o', 'plugin.so', source('waiting_plugin.cpp'), '-pthread')
    compiled('g++', '-O1', '-o', 'waiting', source('waiting.cpp'), '-Wl,--no-as-needed', '-ldl', '-pthread')
    command = [os.path.abspath('waiting'), os.path.abspath('plugin.so')]
    expect('alone', place.run(*command).status, 0)
    for mode in ('record', 'bare'):
        done = place.in_mode(mode, *command)
        expect('status and stderr', (done.status, done.err), (0, ''))
        trace, = place.infos(1)
        expect_lossless(place.info())
        ours = [line for line in place.dump(trace) if line.startswith('alloc ') and line.split()[5] in ('100', '128')]
        expect('allocations of the thread', len(ours), EVENTS - 1)
        os.unlink(trace)


def build_late(name, size, *options):
    # gcc links no C++ library
    compiled('gcc' if options else 'g++', '-O1', '-fPIC', '-shared', '-fno-builtin', f'-DSIZE={size}', *options, '-o', f'lib{name}.so',
             source('late_inner.cpp'))
    compiled('gcc', '-O1', '-fPIC', '-shared', '-o', f'{name}.so', source('late_plugin.c'), f'./lib{name}.so',
             f'-Wl,-rpath,{os.getcwd()}')
    return os.path.abspath(f'{name}.so')


def check_late_plugins(place, size_of, plugins, times=5):
    """Each plugin allocates 12 blocks each time, of a distinct size."""
    compiled('gcc', '-O1', '-o', 'late', source('late.c'), '-ldl')
    command = [os.path.abspath('late'), times, *plugins]
    alone = place.run(*command)
    expect('alone', (alone.status, alone.err), (0, ''))
    for mode in ('record', 'bare'):
        done = place.in_mode(mode, *command)
        expect(f'{mode}: status and stderr', (done.status, done.err), (0, ''))
        trace, = place.infos(1)
        expect_lossless(place.info())
        found = [line.split()[5] for line in place.dump(trace) if line.startswith('alloc ')]
        for name, size in size_of.items():
            expect(f'{mode}: blocks of {name}', found.count(str(size)), 12 * times)
        os.unlink(trace)


def test_late_cxx(place):
    """a program without C++ opens a plugin with C++ below it, which allocates as it is loaded"""
    check_late_plugins(place, {'z': 9001}, [build_late('z', 9001)])


def test_late_own_operators(place):
    """two plugins with operators new of their own, opened and closed in turn: each keeps its own"""
    # malloc sees their size plus the header of the operators
    check_late_plugins(place, {'a': 9101 + 16, 'b': 9201 + 16, 'z': 9301},
                       [build_late('a', 9101, '-DOWN=1', '-fno-exceptions'), build_late('b', 9201, '-DOWN=2', '-fno-exceptions'),
                        build_late('z', 9301)])


def test_whose_operators(place):
    """plugins with and without their own operators, in a program that has none: each call goes to the same operator as bare"""
    compiled('gcc', '-O1', '-o', 'opened', source('opened.c'), '-ldl')
    for name, *flags in ('a', '-DMARK="aaaa"'), ('b', '-DMARK="bbbb"'), ('none',), ('more',):
        compiled('g++', '-O1', '-fPIC', '-shared', '-fno-builtin', *flags, '-o', name + '.so', source('opened_plugin.cpp'))
    for plugins in ('a',), ('none',), ('a', 'none'), ('none', 'a'), ('a', 'b'), ('b', 'none', 'a', 'more'), ('none', 'more'):
        command = ['./opened', *(os.path.abspath(name + '.so') for name in plugins)]
        alone = place.run(*command)
        for mode in ('record', 'bare'):
            done = place.in_mode(mode, *command)
            expect(f'{mode} {plugins}', (done.status, done.out, done.err), (alone.status, alone.out, alone.err))
            trace, = place.infos(1)
            expect_lossless(place.info())
            os.unlink(trace)


def test_late_waits(place):
    """as above, where the constructor waits for a thread that allocates"""
    compiled('g++', '-O1', '-fPIC', '-shared', '-fno-builtin', '-o', 'plugin.so', source('waiting_plugin.cpp'), '-pthread')
    compiled('gcc', '-xc', '-O1', '-o', 'waiting', source('waiting.c'), '-ldl')
    for mode in ('record', 'bare'):
        done = place.in_mode(mode, os.path.abspath('waiting'), os.path.abspath('plugin.so'))
        expect('status and stderr', (done.status, done.err), (0, ''))
        expect_lossless(place.info())
        os.unlink(place.traces()[0])


def test_other_hooks(place):
    """a preload of the user's own that hooks the same functions sees every call"""
    compiled('gcc', '-O1', '-fPIC', '-shared', '-D_GNU_SOURCE', '-o', 'hooked.so', source('hooked.c'))
    compiled('gcc', '-O1', '-D_GNU_SOURCE', '-o', 'user', source('hooked_user.c'))
    hooked, user = os.path.abspath('hooked.so'), os.path.abspath('user')
    alone = place.run(user, env={**os.environ, 'LD_PRELOAD': hooked})
    expect('alone', (alone.status, alone.out.split(',')[3:]), (7, [' prctl 1', ' dlclose 1', ' execve 1', ' _exit 7\n']))
    for mode, env in (('record', {'LD_PRELOAD': hooked}), ('bare', {'LD_PRELOAD': f'{place.library}:{hooked}'})):
        done = place.in_mode(mode, user, env={**os.environ, **env})
        expect(f'{mode}: status, what it says', (done.status, done.out, done.err), (alone.status, alone.out, alone.err))


main(globals())
