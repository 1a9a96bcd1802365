#!/usr/bin/python3
"""refusals_test - what cannot be recorded is refused before it runs, with the reason and what to do."""
import os
import shutil
import subprocess

from manners import NOBODY, Skip, compiled, contains, expect, main, need_nobody

SOURCE = '#include <stdio.h>\nint main(void) { puts("ran"); return 3; }\n'


def build(name, *options, compiler='gcc'):
    if not shutil.which(compiler):
        raise Skip(f'{compiler} is not installed')
    with open('source.c', 'w', encoding='ascii') as file:
        file.write(SOURCE)
    compiled(compiler, '-o', name, 'source.c', *options)
    return './' + name


def check(place, program, *parts, prefix=(), runs=True):
    done = place.run(*prefix, *place.record_command(program))
    expect('status', done.status, 125)
    expect('output', done.out, '')
    contains('message', done.err, 'cannot be recorded', *parts)
    contains('what to do', done.err, '--force')
    expect('traces', place.traces(), [])
    done = place.run(*prefix, *place.record_command(program, options=('--force',)))
    if runs:
        expect('with --force', (done.status, done.out), (3, 'ran\n'))
        contains('message', done.err, 'cannot be recorded')
    expect('traces', place.traces(), [])


def test_static(place):
    """a static program"""
    check(place, build('static', '-static'), 'statically', '-static')


def test_static_pie(place):
    """a static-pie program"""
    check(place, build('static', '-static-pie'), 'statically')


def test_script(place):
    """a script whose interpreter is static"""
    program = build('static', '-static')
    with open('script', 'w', encoding='ascii') as file:
        file.write(f'#! {os.path.abspath(program)} -x\n')
    os.chmod('script', 0o755)
    check(place, './script', 'statically')


def test_machine(place):
    """programs of other machines: 32 bits, aarch64, big-endian"""
    program = build('program')
    with open(program, 'rb') as file:
        data = bytearray(file.read())
    for place_of, value in ((18, 183), (4, 1), (5, 2)):
        other = bytearray(data)
        other[place_of] = value
        with open('other', 'wb') as file:
            file.write(other)
        os.chmod('other', 0o755)
        check(place, './other', 'architecture', runs=False)


def test_damaged(place):
    """a program that is cut off or whose headers lie is refused or fails to start, never a crash of ours"""
    program = build('program')
    with open(program, 'rb') as file:
        data = bytearray(file.read())
    for name, change in {'headers far away': (32, b'\xff' * 8), 'none': (56, b'\0\0'), 'many': (56, b'\xff\xff'),
                         'of another size': (54, b'\1\0')}.items():
        other = bytearray(data)
        other[change[0]:change[0] + len(change[1])] = change[1]
        with open('other', 'wb') as file:
            file.write(other)
        os.chmod('other', 0o755)
        done = place.record('./other')
        # what the kernel does not take, /bin/sh gets to read
        expect(f'{name}: status', done.status in (2, 125, 126, 127, -11, -9, -7), True)
    for size in (3, 20, 63, 64, 200, 1000):
        with open('other', 'wb') as file:
            file.write(data[:size])
        expect('status', place.record('./other').status in (2, 125, 126, 127, -11, -9, -7), True)


def test_sanitizer(place):
    """a program built with the address sanitizer"""
    check(place, build('asan', '-fsanitize=address'), 'sanitizer', '-fsanitize')


def test_musl(place):
    """a program of musl's"""
    check(place, build('musl', compiler='musl-gcc'), 'musl')


def left_alone(place, program, *parts):
    """A child that cannot bear the library is executed without it, whatever the way, and it is said."""
    os.environ['PATH'] = os.getcwd() + ':' + os.environ['PATH']
    name = os.path.basename(program)
    with open('script', 'w', encoding='ascii') as file:
        file.write(f'#!{os.path.abspath(program)}\n')
    os.chmod('script', 0o755)
    for command in (['/bin/sh', '-c', f'{program}; exit $?'], ['/bin/sh', '-c', f'exec {program}'], ['env', name],
                    ['env', './script'], ['nice', name], [place.program('family'), 'spawn-of', program],
                    [place.program('family'), 'spawn-ofp', name]):
        done = place.record(*command)
        expect(f'{command}: status and output', (done.status, done.out), (3, 'ran\n'))
        contains(f'{command}: message', done.err, 'is not recorded', *parts)
        expect('lines', done.err.count('\n'), 1)
        place.infos(1)
        os.unlink(place.traces()[0])


def test_sanitizer_child(place):
    """a child with the address sanitizer, which would refuse to start"""
    left_alone(place, build('asan', '-fsanitize=address'), 'sanitizer')


def test_musl_child(place):
    """a child of musl's, whose loader could not load us"""
    left_alone(place, build('musl', compiler='musl-gcc'), 'musl')


def test_preload_of_child(place):
    """a child that is left alone keeps what else is preloaded"""
    program = build('asan', '-fsanitize=address')
    with open('source.c', 'w', encoding='ascii') as file:
        file.write('#include <stdlib.h>\n#include <stdio.h>\n'
                   'int main(void) { puts(getenv("LD_PRELOAD")); return 3; }\n')
    compiled('gcc', '-o', program, 'source.c', '-fsanitize=address')
    other = '/lib/x86_64-linux-gnu/libm.so.6'
    env = {**os.environ, 'LD_PRELOAD': other, 'ASAN_OPTIONS': 'verify_asan_link_order=0'}
    done = place.record('/bin/sh', '-c', f'exec {program}', env=env)
    expect('status and LD_PRELOAD', (done.status, done.out), (3, other + '\n'))


def test_setuid(place):
    """a setuid program of another user's"""
    need_nobody(place, 0o1777)
    program = build('program')
    os.chmod(program, 0o4755)
    check(place, program, 'setuid', prefix=NOBODY)
    os.chmod(program, 0o2755)
    check(place, program, 'setgid', prefix=NOBODY)
    done = place.record(program)
    expect('as its own user it is recorded', (done.status, len(place.traces())), (3, 1))


def test_capabilities(place):
    """a program with file capabilities"""
    need_nobody(place, 0o1777)
    if not shutil.which('setcap'):
        raise Skip('setcap is not installed')
    program = build('program')
    if subprocess.run(['setcap', 'cap_net_raw+ep', program], stderr=subprocess.DEVNULL).returncode:
        raise Skip('this file system has no capabilities')
    check(place, program, 'capabilities', prefix=NOBODY)


main(globals())
