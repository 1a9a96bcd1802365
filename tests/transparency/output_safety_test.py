#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""output_safety_test - files of other users in the place of a trace are not used, followed or
overwritten.

Every refusal comes before the program runs, in one message that says what to do.
"""
import os
import socket
import stat
import subprocess

from transparency import NOBODY, contains, expect, expect_lossless, main, need_other_user, size_of, wait_until

TOUCH = ('/bin/sh', '-c', 'echo ran >ran')


def make_directory(name, mode, owner=None):
    os.mkdir(name)
    os.chmod(name, mode)
    if owner is not None:
        os.chown(name, owner, -1)
    return name


def write(name, text='mine', owner=None):
    with open(name, 'w', encoding='ascii') as file:
        file.write(text)
    if owner is not None:
        os.chown(name, owner, -1)


def text_of(name):
    with open(name, encoding='ascii') as file:
        return file.read()


def refused(place, options, *parts, prefix=(), **popen):
    done = place.run(*prefix, *place.record_command(*TOUCH, options=options), **popen)
    expect(f'{options}: status', done.status, 125)
    expect(f'{options}: lines', done.err.count('\n'), 1)
    contains(f'{options}: message', done.err, *parts)
    expect(f'{options}: the program was run', os.path.exists('ran'), False)


def recorded(place, options, trace, prefix=()):
    done = place.run(*prefix, *place.record_command(place.program('ending'), 'exit:0', options=options))
    expect(f'{options}: status and message', (done.status, done.err), (0, ''))
    expect_lossless(place.heaplapse.info(trace), 100)
    expect(f'mode of {trace}', oct(os.stat(trace).st_mode & 0o7777), '0o600')


def test_sticky_files(place):
    """in a sticky directory another user's file, link, hard link or FIFO is not changed, with and without -f"""
    need_other_user(place, 0o755)
    make_directory('tmp', 0o1777)
    write('tmp/file.hlt')
    write('victim')
    os.symlink('../victim', 'tmp/link.hlt')
    os.link('victim', 'tmp/hard.hlt')
    os.mkfifo('tmp/fifo.hlt')
    names = sorted(os.listdir('tmp'))
    for name in names:
        refused(place, ('-o', f'tmp/{name}'), name, 'not overwritten', '-o', prefix=NOBODY)
    for name in names[1:]:
        refused(place, ('-f', '-o', f'tmp/{name}'), name, 'another user', '-o', prefix=NOBODY)
    refused(place, ('-f', '-o', 'tmp/fifo.hlt'), 'not a regular file', '-o', prefix=NOBODY)
    expect('the folder', sorted(os.listdir('tmp')), names)
    expect('victim', text_of('victim'), 'mine')


def test_sticky_squatted(place):
    """root in a sticky directory: files that others planted at the name are not written to, also with -f"""
    need_other_user(place, 0o755)
    make_directory('tmp', 0o1777)
    write('victim')
    os.symlink('../victim', 'tmp/link.hlt')
    os.lchown('tmp/link.hlt', 65534, -1)
    os.link('victim', 'tmp/hard.hlt')
    os.mkfifo('tmp/fifo.hlt')
    os.chown('tmp/fifo.hlt', 65534, -1)
    for name in 'link.hlt', 'hard.hlt', 'fifo.hlt':
        refused(place, ('-o', f'tmp/{name}'), name, 'not overwritten')
    refused(place, ('-f', '-o', 'tmp/fifo.hlt'), 'not a regular file')
    for name in 'link.hlt', 'hard.hlt':
        recorded(place, ('-f', '-o', f'tmp/{name}'), f'tmp/{name}')
        expect('what it is', (os.path.islink(f'tmp/{name}'), os.stat(f'tmp/{name}').st_nlink), (False, 1))
    expect('victim', (text_of('victim'), oct(os.stat('victim').st_mode & 0o777)), ('mine', '0o644'))
    expect('nothing else is left', sorted(os.listdir('tmp')), ['fifo.hlt', 'hard.hlt', 'link.hlt'])


def test_planted_folder(place):
    """a link that another user made in a sticky directory is not followed"""
    need_other_user(place, 0o755)
    make_directory('tmp', 0o1777)
    os.mkdir('precious')
    write('precious/x.hlt')
    os.symlink('../precious', 'tmp/theirs')
    os.lchown('tmp/theirs', 65534, -1)
    for options in ((), ('-f',), ('-f', '--force')):
        for name in 'tmp/theirs/x.hlt', os.path.abspath('tmp/theirs/x.hlt'), 'tmp/../tmp/theirs/new.hlt':
            refused(place, (*options, '-o', name), name, 'link', "another user's link", '-o')
    expect('precious', (os.listdir('precious'), text_of('precious/x.hlt')), (['x.hlt'], 'mine'))
    # A link of our own, or of the owner of the directory, is followed like any other.
    os.symlink('../precious', 'tmp/ours')
    recorded(place, ('-o', 'tmp/ours/new.hlt'), 'precious/new.hlt')
    done = place.bare(place.program('ending'), 'exit:3', env={'HEAPLAPSE_OUTPUT': 'tmp/theirs/bare.hlt'})
    expect('bare: status and lines', (done.status, done.err.count('\n')), (3, 1))
    contains('bare: message', done.err, 'not recorded', "another user's link", 'HEAPLAPSE_OUTPUT')
    expect('precious', sorted(os.listdir('precious')), ['new.hlt', 'x.hlt'])


def test_exposed_folder(place):
    """a directory where every user may rename and remove is refused, also as a parent; --force, +t or o-w help"""
    make_directory('open', 0o777)
    make_directory('open/private', 0o700)
    for name in 'open/x.hlt', 'open/private/x.hlt', os.path.abspath('open/x.hlt'):
        refused(place, ('-o', name), name, 'world-writable', '-o', 'chmod', '--force')
        refused(place, ('-f', '-o', name), name, 'world-writable')
    refused(place, ('-o', 'x.hlt'), 'x.hlt', 'world-writable', cwd='open')
    done = place.bare(place.program('ending'), 'exit:3', env={'HEAPLAPSE_OUTPUT': 'open/x.hlt'})
    expect('bare: status and lines', (done.status, done.err.count('\n')), (3, 1))
    contains('bare: message', done.err, 'not recorded', 'world-writable', 'HEAPLAPSE_OUTPUT')
    expect('files', (os.listdir('open'), os.listdir('open/private')), (['private'], []))
    recorded(place, ('--force', '-o', 'open/forced.hlt'), 'open/forced.hlt')
    for mode in (0o1777, 0o775, 0o755):
        os.chmod('open', mode)
        recorded(place, ('-o', f'open/{mode:o}.hlt'), f'open/{mode:o}.hlt')
    # The mode of the current directory does not matter for a trace elsewhere.
    os.mkdir('elsewhere')
    os.chmod('open', 0o777)
    done = place.record(place.program('ending'), 'exit:0', options=('-o', os.path.abspath('elsewhere/x.hlt')), cwd='open')
    expect('status and message', (done.status, done.err), (0, ''))


def test_other_kinds(place):
    """devices, sockets and directories at the name are refused, with -f too, and are not removed"""
    os.mkdir('folder.hlt')
    server = socket.socket(socket.AF_UNIX)
    server.bind('socket.hlt')
    names = ['folder.hlt', 'socket.hlt', '/dev/null', '/dev/tty']
    if os.getuid() == 0:
        try:
            os.mknod('device.hlt', stat.S_IFCHR | 0o600, os.makedev(1, 3))
            names.append('device.hlt')
        except PermissionError:
            pass
    before = {name: os.lstat(name).st_mode for name in names}
    for name in names:
        refused(place, ('-o', name), name, 'not overwritten')
        refused(place, ('-f', '-o', name), name, 'not a regular file', '-o')
    expect('what they are', {name: os.lstat(name).st_mode for name in names}, before)


def test_overwrite_keeps(place):
    """-f that fails keeps the old file; one that is being written is not taken away from its writer"""
    write('x.hlt')
    refused(place, ('-f', '-o', 'x.hlt/y'), 'x.hlt/y')
    expect('the old file', text_of('x.hlt'), 'mine')
    process = place.start(place.record_command('/bin/sleep', '60', options=('-o', 'live.hlt')))
    # The name is tried before the program starts: an empty file is not yet the trace.
    wait_until('the trace', lambda: size_of('live.hlt') > 0)
    inode = os.stat('live.hlt').st_ino
    refused(place, ('-f', '-o', 'live.hlt'), 'live.hlt', 'being written', '-o')
    done = place.bare(place.program('ending'), 'exit:3', env={'HEAPLAPSE_OUTPUT': 'live.hlt', 'HEAPLAPSE_OVERWRITE': '1'})
    expect('bare', (done.status, done.err), (3, 'heaplapse: live.hlt exists; the trace is written to live.2.hlt\n'))
    expect_lossless(place.info('live.2.hlt'), 100)
    process.terminate()
    place.finish(process)
    expect('the trace is the same file', os.stat('live.hlt').st_ino, inode)
    expect('its end', place.heaplapse.info('live.hlt')['end']['kind'], 'signal')
    recorded(place, ('-f', '-o', 'live.hlt'), 'live.hlt')
    expect('nothing else is left', sorted(os.listdir('.')), ['live.2.hlt', 'live.hlt', 'x.hlt'])


def test_bare_squatted(place):
    """bare, in a sticky directory: whatever others planted, the trace gets a number and nothing is changed"""
    need_other_user(place, 0o755)
    make_directory('tmp', 0o1777)
    write('victim')
    os.symlink('../victim', 'tmp/x.hlt')
    os.mkfifo('tmp/x.2.hlt')
    os.link('victim', 'tmp/x.3.hlt')
    for overwrite in '01':      # the second time over its own earlier trace
        words = [f'LD_PRELOAD={place.library}', 'HEAPLAPSE_OUTPUT=tmp/x.hlt', f'HEAPLAPSE_OVERWRITE={overwrite}']
        done = place.run(*NOBODY, 'env', *words, place.program('ending'), 'exit:3')
        expect('status and message', (done.status, done.err),
               (3, 'heaplapse: tmp/x.hlt exists; the trace is written to tmp/x.4.hlt\n'))
        expect_lossless(place.info('tmp/x.4.hlt'), 100)
    expect('victim', text_of('victim'), 'mine')
    expect('the folder', sorted(os.listdir('tmp')), ['x.2.hlt', 'x.3.hlt', 'x.4.hlt', 'x.hlt'])


def test_cache(place):
    """names of functions are cached for their user only, and not behind another user's link"""
    need_other_user(place, 0o755)
    recorded(place, ('-o', 'x.hlt'), 'x.hlt')
    os.mkdir('home')
    environment = {**os.environ, 'XDG_CACHE_HOME': os.path.abspath('home')}
    expect('report', place.run(place.binary, 'report', 'x.hlt', env=environment).status, 0)
    files = os.listdir('home/heaplapse/sym')
    expect('something is kept', len(files) > 0, True)
    for name, mode in ('home/heaplapse', '0o700'), ('home/heaplapse/sym', '0o700'), (f'home/heaplapse/sym/{files[0]}', '0o600'):
        expect(f'mode of {name}', oct(os.stat(name).st_mode & 0o7777), mode)
    os.mkdir('precious')
    make_directory('tmp', 0o1777)
    os.symlink('../precious', 'tmp/heaplapse')
    os.lchown('tmp/heaplapse', 65534, -1)
    environment['XDG_CACHE_HOME'] = os.path.abspath('tmp')
    expect('report', place.run(place.binary, 'report', 'x.hlt', env=environment).status, 0)
    kept = [name for _, _, names in os.walk('precious') for name in names]
    expect('what is kept there', kept, [])


def test_strangers(place):
    """other users can connect to the collector's socket, but get nothing and block no one"""
    need_other_user(place, 0o755)
    os.chmod('.', 0o777 | stat.S_ISVTX)
    for prefix in (NOBODY, ()):
        check_strangers(place, prefix)


def check_strangers(place, prefix):
    """The collector of an ordinary user recognizes strangers by their uid; root's does not, because
    its programs may change to any user."""
    before = len(place.traces())
    command = place.record_command('/bin/sh', '-c', 'echo $HEAPLAPSE_SOCKET; read line; exec /bin/true', options=('-q', '-o', '%p.hlt'))
    process = place.start((*prefix, *command), stdin=subprocess.PIPE)
    name = process.stdout.readline().partition(':')[0]
    strangers = []
    for _ in range(300):
        one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        one.connect('\0' + name)
        strangers.append(one)
    process.stdin.write('go on\n')
    process.stdin.flush()
    done = place.finish(process)
    expect('status and message', (done.status, done.err), (0, ''))
    expect('both images were recorded', len(place.traces()) - before, 2)


main(globals())
