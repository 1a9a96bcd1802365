#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""refusals_test - programs that cannot be recorded are refused before they run, with the reason and a remedy."""
import os
import shutil
import subprocess

from transparency import NOBODY, Failure, Skip, compiled, contains, expect, main, need_other_user

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
    """a truncated program or one with wrong headers is refused or fails to start, and heaplapse never crashes"""
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
        # files that the kernel cannot execute are read by /bin/sh
        expect(f'{name}: status', done.status in (2, 125, 126, 127, -11, -9, -7), True)
    for size in (3, 20, 63, 64, 200, 1000):
        with open('other', 'wb') as file:
            file.write(data[:size])
        expect('status', place.record('./other').status in (2, 125, 126, 127, -11, -9, -7), True)


def test_sanitizer(place):
    """a program built with the address sanitizer"""
    check(place, build('asan', '-fsanitize=address'), 'sanitizer', '-fsanitize')


def test_musl(place):
    """a program linked to musl"""
    check(place, build('musl', compiler='musl-gcc'), 'musl')


def check_unrecorded_child(place, program, *parts):
    """A child that cannot load the library is executed without it, by every function, and a message says so."""
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
    check_unrecorded_child(place, build('asan', '-fsanitize=address'), 'sanitizer')


def test_musl_child(place):
    """a child linked to musl, whose loader could not load the library"""
    check_unrecorded_child(place, build('musl', compiler='musl-gcc'), 'musl')


def test_static_child(place):
    """a static child, which ignores LD_PRELOAD"""
    check_unrecorded_child(place, build('static', '-static'), 'statically')
    check_unrecorded_child(place, build('static-pie', '-static-pie'), 'statically')


def test_other_machine_child(place):
    """a child for another architecture, which the kernel may not even run"""
    program = build('program')
    with open(program, 'r+b') as file:
        file.seek(18)
        file.write(bytes([183]))
    done = place.record('/bin/sh', '-c', f'{program} 2> /dev/null; {program} 2> /dev/null; exit 3', stdout=subprocess.DEVNULL)
    expect('status', done.status, 3)
    expect('said on the stderr of the program itself', done.err, '')
    done = place.record(place.program('family'), 'execs-of', program)
    expect('messages', done.err.count('heaplapse: '), 1)
    contains('message', done.err, f'{program} is not recorded: it is for another architecture')


def announcements(done):
    return [line for line in done.err.splitlines() if line.startswith('heaplapse: ')]


def test_announced_once(place):
    """each program is announced once, however often and by whatever process or function it is executed"""
    one, two = build('one', '-static'), build('two', '-static')
    os.environ['PATH'] = os.getcwd() + ':' + os.environ['PATH']
    message = 'heaplapse: {} is not recorded: it is statically linked'
    for mode in ('record', 'bare'):
        done = place.in_mode(mode, '/bin/sh', '-c', f'for i in 1 2 3 4; do {one}; one; {two}; done; exit 4')
        expect(f'{mode}: status and output', (done.status, done.out), (4, 12 * 'ran\n'))
        expect(f'{mode}: messages', announcements(done), [message.format(name) for name in (one, two)])
        done = place.in_mode(mode, place.program('family'), 'execs-of', one)
        expect(f'{mode}: every function', (done.status, done.out), (8 * 3 + 50, 8 * 'ran\n'))
        expect(f'{mode}: messages', announcements(done), [message.format(one)])
    # many programs at once, each with a region of its own
    script = f'for i in 1 2 3 4 5 6 7 8; do /bin/sh -c "{one}; {two}; exit 0" & done; wait; exit 4'
    done = place.record('/bin/sh', '-c', script)
    expect('status and output', (done.status, done.out), (4, 16 * 'ran\n'))
    expect('messages', sorted(announcements(done)), [message.format(name) for name in (one, two)])
    # a file that is created anew is another program
    done = place.record('/bin/sh', '-c', f'{one}; cp {two} three; rm {one}; mv three {one}; {one}; exit 4')
    expect('messages', announcements(done), [message.format(one)] * 2)
    # quiet, and in mode tags without a collector
    done = place.bare('/bin/sh', '-c', f'{one}; exit 4', env={'HEAPLAPSE_QUIET': '1'})
    expect('quiet', (done.status, done.err), (4, ''))
    done = place.bare('/bin/sh', '-c', f'{one}; {one}; exit 4', env={'HEAPLAPSE_MODE': 'tags'})
    expect('tags', (done.status, announcements(done)), (4, [message.format(one)]))


def test_announced_script(place):
    """a script whose interpreter cannot be recorded"""
    program = os.path.abspath(build('static', '-static'))
    for name, first in (('script', f'#! {program} -x\n'), ('nested', f'#!{os.getcwd()}/script\n')):
        with open(name, 'w', encoding='ascii') as file:
            file.write(first)
        os.chmod(name, 0o755)
    done = place.record('/bin/sh', '-c', './script; ./nested; ./script; exit 4')
    expect('status and output', (done.status, done.out), (4, 3 * 'ran\n'))
    expect('messages', announcements(done),
           [f'heaplapse: ./{name} is not recorded: its interpreter is statically linked' for name in ('script', 'nested')])


def test_not_announced(place):
    """programs that are recorded, cannot be executed, or have no LD_PRELOAD are not announced"""
    program = build('static', '-static')
    shutil.copy(program, 'plain')
    os.chmod('plain', 0o644)
    os.mkdir('folder')
    os.mkdir('folder/static')
    loader = '/lib64/ld-linux-x86-64.so.2'
    for script in ('./plain', f'env -i {program}', f'unset LD_PRELOAD; {program}', './folder/static', './none',
                   f'{loader} /bin/true', f'ldd {program}', '/bin/true'):
        done = place.record('/bin/sh', '-c', f'{script}; exit 4', options=('-q', '-f', '-o', '%e.%p.hlt'))
        expect(f'{script}: status and messages', (done.status, announcements(done)), (4, []))
    if not place.traces('ld-linux*'):
        raise Failure('a program that was executed by the loader has no trace')
    # a directory of that name is skipped, as execvp does
    path = f'{os.getcwd()}/folder:{os.getcwd()}'
    done = place.record('/usr/bin/env', f'PATH={path}', 'static')
    expect('behind a folder in PATH', (done.status, len(announcements(done))), (3, 1))


def test_privileged_child(place):
    """children that are setuid, setgid or have file capabilities; not where these do not count"""
    need_other_user(place, 0o1777)
    program = build('program')
    script = [*NOBODY, *place.record_command('/bin/sh', '-c', f'{program}; {program}; exit 4', options=('-q', '-f', '-o', '%e.%p.hlt'))]

    def check_child(what, *parts, command=script):
        done = place.run(*command)
        expect(f'{what}: status and output', (done.status, done.out), (4, 'ran\nran\n'))
        expect(f'{what}: messages', len(announcements(done)), 1 if parts else 0)
        contains(f'{what}: message', done.err, *parts)
    for mode, *parts in ((0o4755, 'setuid'), (0o2755, 'setgid'), (0o4711, 'setuid'), (0o2745,), (0o755,)):
        os.chmod(program, mode)
        check_child(oct(mode), *parts)
    os.chmod(program, 0o4755)
    check_child('no new privileges', command=['setpriv', '--no-new-privs', *script])
    check_child('its own user', command=script[len(NOBODY):])
    os.chmod(program, 0o755)
    if not shutil.which('setcap') or subprocess.run(['setcap', 'cap_net_raw+ep', program], stderr=subprocess.DEVNULL).returncode:
        raise Skip('no file capabilities here')
    check_child('capabilities', 'capabilities')
    check_child('capabilities, as root', command=script[len(NOBODY):])


def test_preload_of_child(place):
    """a child that is executed without the library keeps other preloads"""
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
    need_other_user(place, 0o1777)
    program = build('program')
    os.chmod(program, 0o4755)
    check(place, program, 'setuid', prefix=NOBODY)
    os.chmod(program, 0o2755)
    check(place, program, 'setgid', prefix=NOBODY)
    done = place.record(program)
    expect('as its own user it is recorded', (done.status, len(place.traces())), (3, 1))


def test_capabilities(place):
    """a program with file capabilities"""
    need_other_user(place, 0o1777)
    if not shutil.which('setcap'):
        raise Skip('setcap is not installed')
    program = build('program')
    if subprocess.run(['setcap', 'cap_net_raw+ep', program], stderr=subprocess.DEVNULL).returncode:
        raise Skip('this file system has no capabilities')
    check(place, program, 'capabilities', prefix=NOBODY)


main(globals())
