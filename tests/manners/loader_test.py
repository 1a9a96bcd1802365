#!/usr/bin/python3
"""loader_test - the recorder stands neither in the loader's way nor in that of other preloads."""
import os

from manners import HERE, compiled, expect, main, sound

EVENTS = 14     # of waiting_plugin.cpp's thread: 12 by operators, malloc, realloc


def source(name):
    return os.path.join(HERE, 'programs', name)


def test_constructor_waits(place):
    """a library's constructor may wait for a thread that allocates: no hook asks the loader for anything"""
    compiled('g++', '-O1', '-fPIC', '-shared', '-fno-builtin', '-o', 'plugin.so', source('waiting_plugin.cpp'), '-pthread')
    compiled('g++', '-O1', '-o', 'waiting', source('waiting.cpp'), '-Wl,--no-as-needed', '-ldl', '-pthread')
    command = [os.path.abspath('waiting'), os.path.abspath('plugin.so')]
    expect('alone', place.run(*command).status, 0)
    for mode in ('record', 'bare'):
        done = place.in_mode(mode, *command)
        expect('status and stderr', (done.status, done.err), (0, ''))
        trace, = place.infos(1)
        sound(place.info())
        ours = [line for line in place.dump(trace) if line.startswith('alloc ') and line.split()[5] in ('100', '128')]
        expect('allocations of the thread', len(ours), EVENTS - 1)
        os.unlink(trace)


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
