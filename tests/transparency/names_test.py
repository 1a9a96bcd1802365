#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""names_test - the names of traces, files that are never overwritten, and the parsing of the command line."""
import os
import re
import socket
import stat
import time

from transparency import Failure, Skip, contains, expect, expect_lossless, main, wait_until

TOUCH = 'echo ran >ran'


def refused(place, options, *parts, command=('/bin/sh', '-c', TOUCH), status=125, **popen):
    done = place.record(*command, options=options, **popen)
    expect(f'{options}: status', done.status, status)
    contains(f'{options}: message', done.err, *parts)
    expect(f'{options}: the program was run', os.path.exists('ran'), False)
    return done


def test_patterns(place):
    """-o with %p %e %t %n %h %%"""
    began = int(time.time())
    for pattern, wanted in (
            ('plain.hlt', r'plain\.hlt'),
            ('%e.%p.hlt', r'transparency_ending\.\d+\.hlt'),
            ('%t.hlt', r'\d+\.hlt'),
            ('%n.hlt', r'1\.hlt'),
            ('%h.hlt', re.escape(socket.gethostname()) + r'\.hlt'),
            ('a%%b.hlt', r'a%b\.hlt'),
            ('no suffix', r'no suffix')):
        done = place.record(place.program('ending'), 'exit:0', options=('-o', pattern))
        expect('status and stderr', (done.status, done.err), (0, ''))
        names = os.listdir('.')
        if len(names) != 1 or not re.fullmatch(wanted, names[0]):
            raise Failure(f'{pattern} gave {names}')
        if pattern == '%t.hlt':
            expect('seconds since the epoch', began <= int(names[0][:-4]) <= time.time(), True)
        os.unlink(names[0])


def test_default_name(place):
    """without -o: heaplapse.PROG.PID.hlt in the current directory, in both modes"""
    place.record(place.program('ending'), 'exit:0')
    info = place.info()
    expect('name', place.traces(), [f'heaplapse.transparency_ending.{info["pid"]}.hlt'])
    os.unlink(place.traces()[0])
    done = place.bare(place.program('ending'), 'exit:0')
    place.info()
    expect('name', place.traces(), [f'heaplapse.transparency_ending.{done.pid}.hlt'])


def test_called_name(place):
    """a program that is called by a link has the link's name; one with only a changed argv[0] has its own"""
    folder = os.getcwd()
    os.symlink(os.path.abspath(place.program('ending')), 'linked')
    place.record(f'{folder}/linked', 'exit:0', options=('-o', '%e.hlt'))
    expect('program', place.info('linked.hlt')['program'], f'{folder}/linked')
    expect('names', sorted(os.listdir('.')), ['linked', 'linked.hlt'])
    os.unlink('linked.hlt')
    for claim in '/etc/passwd', '../../x', 'linked', '':
        place.record('/bin/bash', '-c', f'exec -a "{claim}" {place.program("ending")} exit:0', options=('-o', '%e.hlt'))
        expect(f'the name of one that says {claim!r}', os.path.exists('transparency_ending.hlt'), True)
        place.remove_traces()


def test_bad_patterns(place):
    """an invalid pattern is refused before the program runs"""
    for pattern in ('%', 'a%', '%x.hlt', '%é', ''):
        refused(place, ('-o', pattern), '-o', '%p')
    refused(place, ('-o', 'x' * 300 + '.hlt'), 'too long')
    expect('files', os.listdir('.'), [])


def test_standard_output(place):
    """-o - is refused before the program runs, with a hint; a file of that name can be named"""
    refused(place, ('-o', '-'), 'stdout belongs to the program', '-o app.hlt', 'heaplapse export')
    done = place.bare(place.program('ending'), 'exit:3', env={'HEAPLAPSE_OUTPUT': '-'})
    expect('bare: status', done.status, 3)
    contains('bare', done.err, 'HEAPLAPSE_OUTPUT', 'stdout belongs to the program')
    expect('files', os.listdir('.'), [])
    place.record(place.program('ending'), 'exit:0', options=('-o', './-'))
    expect('files', os.listdir('.'), ['-'])


def test_folders(place):
    """a missing directory, a file in its place and an unwritable directory are refused before the program runs"""
    open('file', 'w').close()
    refused(place, ('-o', 'none/x.hlt'), 'none', 'No such file')
    refused(place, ('-o', 'file/x.hlt'), 'file', 'Not a directory')
    os.mkdir('folder')
    refused(place, ('-o', 'folder'), 'folder', 'not overwritten')
    refused(place, ('-f', '-o', 'folder'), 'folder')
    refused(place, ('-o', 'folder/'), 'folder/')
    if os.path.isdir('/proc/self'):
        refused(place, ('-o', '/proc/x.hlt'), '/proc/x.hlt')
    expect('files', sorted(os.listdir('.')), ['file', 'folder'])


def test_not_writable(place):
    """another user's directory is refused, with the reason"""
    if os.getuid() != 0:
        raise Skip('needs root to become somebody else')
    os.chmod('.', 0o755)
    done = place.run('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups',
                     *place.record_command('/bin/sh', '-c', TOUCH))
    expect('status', done.status, 125)
    contains('message', done.err, 'Permission denied')


def test_existing(place):
    """an existing file is not changed; -f replaces it, and only if it is a plain file"""
    with open('x.hlt', 'w', encoding='ascii') as file:
        file.write('mine')
    refused(place, ('-o', 'x.hlt'), 'x.hlt', 'not overwritten', '-f')
    expect('the file', open('x.hlt', encoding='ascii').read(), 'mine')
    os.link('x.hlt', 'second')
    done = place.record(place.program('ending'), 'exit:0', options=('-f', '-o', 'x.hlt'))
    expect('status', done.status, 0)
    expect_lossless(place.info('x.hlt'), 100)
    expect('its second name', open('second', encoding='ascii').read(), 'mine')
    expect('traces', place.traces(), ['x.hlt'])


def test_planted(place):
    """links, dangling links, FIFOs and devices at the name are never followed or removed"""
    with open('victim', 'w', encoding='ascii') as file:
        file.write('mine')
    os.symlink('victim', 'link.hlt')
    os.symlink('nowhere', 'dangling.hlt')
    os.mkfifo('fifo.hlt')
    for name in ('link.hlt', 'dangling.hlt', 'fifo.hlt'):
        refused(place, ('-o', name), name, 'not overwritten')
    refused(place, ('-f', '-o', 'fifo.hlt'), 'fifo.hlt', 'not a regular file')
    refused(place, ('-f', '-o', '/dev/null'), '/dev/null', 'not a regular file')
    expect('/dev/null', stat.S_ISCHR(os.stat('/dev/null').st_mode), True)
    for name in ('link.hlt', 'dangling.hlt'):
        done = place.record(place.program('ending'), 'exit:0', options=('-f', '-o', name))
        expect('status', done.status, 0)
        expect('a link', os.path.islink(name), False)
        expect_lossless(place.info(name), 100)
    expect('victim', open('victim', encoding='ascii').read(), 'mine')
    expect('nowhere', os.path.exists('nowhere'), False)


def test_bare_summary(place):
    """with LD_PRELOAD alone HEAPLAPSE_SUMMARY=1 prints the summary when the trace is closed"""
    with open('said', 'w', encoding='ascii') as said:
        place.bare(place.program('ending'), 'exit:3', stderr=said,
                   env={'HEAPLAPSE_OUTPUT': 'x.hlt', 'HEAPLAPSE_SUMMARY': '1'})
    place.info('x.hlt')
    wait_until('the summary', lambda: 'x.hlt' in open('said', encoding='utf-8').read())


def test_bare_planted(place):
    """with LD_PRELOAD alone a name that is taken, also by a link, gets a number; a bad place one message"""
    with open('victim', 'w', encoding='ascii') as file:
        file.write('mine')
    os.symlink('victim', 'link.hlt')
    done = place.bare(place.program('ending'), 'exit:3', env={'HEAPLAPSE_OUTPUT': 'link.hlt'})
    expect('status and message', (done.status, done.err),
           (3, 'heaplapse: link.hlt exists; the trace is written to link.2.hlt\n'))
    expect_lossless(place.info('link.2.hlt'), 100)
    expect('victim', open('victim', encoding='ascii').read(), 'mine')
    for name in ('none/x.hlt', '%x', 'victim/x'):
        done = place.bare(place.program('ending'), 'exit:3', env={'HEAPLAPSE_OUTPUT': name})
        expect('status and lines', (done.status, done.err.count('\n')), (3, 1))
        contains('message', done.err, 'not recorded', name)


def test_mode(place):
    """a trace is 0600, whatever the umask"""
    for mask in (0, 0o022, 0o077, 0o777, 0o200):
        old = os.umask(mask)
        place.record(place.program('ending'), 'exit:0', options=('-o', f'{mask:o}.hlt'))
        place.bare(place.program('ending'), 'exit:0', env={'HEAPLAPSE_OUTPUT': f'{mask:o}.bare.hlt'})
        os.umask(old)
    for name in place.infos(10):
        expect(f'mode of {name}', oct(os.stat(name).st_mode & 0o7777), '0o600')


def test_exec_chain(place):
    """images that follow one another in one process get .2, .3 if the pattern names each process"""
    step = f'exec {place.program("ending")} exit:3'
    done = place.record('/bin/sh', '-c', f'exec /bin/sh -c "{step}"', options=('-o', '%p.hlt'))
    expect('status', done.status, 3)
    infos = place.infos(3)
    first = next(iter(infos.values()))
    pid = first['pid']
    expect('names', set(infos), {f'{pid}.hlt', f'{pid}.2.hlt', f'{pid}.3.hlt'})
    for name in (f'{pid}.hlt', f'{pid}.2.hlt'):
        expect_lossless(infos[name], end=('exec', 0))
    expect_lossless(infos[f'{pid}.3.hlt'], 100, 40, ('exit', 3))
    expect('session', [(row[0], row[3]) for row in place.session_rows(f'{pid}.hlt')],
           [(pid, f'../{pid}.2.hlt'), (pid, f'../{pid}.3.hlt')])
    expect('the directory has only the list', os.listdir(f'{pid}.hlt.d'), ['session'])


def test_numbers(place):
    """%n counts the traces of one run; without %n the first has the name, the others are in its directory"""
    script = '/bin/true; /bin/true'
    place.record('/bin/sh', '-c', script, options=('-o', 'n%n.hlt'))
    expect('names', set(place.infos(3)), {'n1.hlt', 'n2.hlt', 'n3.hlt'})
    place.record('/bin/sh', '-c', script, options=('-o', 'one.hlt'))
    infos = place.infos(3, 'one.hlt')
    pids = [info['pid'] for name, info in infos.items() if name != 'one.hlt']
    expect('names', set(infos), {'one.hlt', *(f'one.hlt.d/{pid}.true.hlt' for pid in pids)})
    expect('session', [(row[0], row[3]) for row in sorted(place.session_rows('one.hlt'))],
           [(pid, f'{pid}.true.hlt') for pid in sorted(pids)])


def test_quiet(place):
    """-q or no terminal: no summary; --summary prints it; errors are always printed"""
    for options, lines in (((), False), (('-q',), False), (('--summary',), True), (('-q', '--summary'), False)):
        done = place.record(place.program('ending'), 'exit:0', options=options)
        expect(f'{options} prints', bool(done.err), lines)
        if lines:
            contains('summary', done.err, '100', place.traces()[-1], 'report')
            expect('the start is for a terminal', 'while it runs' in done.err, False)
    refused(place, ('-q', '-o', 'none/x'), 'none')


def test_terminal(place):
    """on a terminal the start and the summary are printed, and not with -q"""
    for options, lines in (((), True), (('-q',), False)):
        leader, follower = os.openpty()
        place.run(*place.record_command(place.program('ending'), 'exit:0', options=options), stderr=follower)
        os.write(follower, b'end')
        said = os.read(leader, 65536)
        while not said.endswith(b'end'):
            said += os.read(leader, 65536)
        os.close(leader)
        os.close(follower)
        expect(f'{options} prints', b' report ' in said, lines)
        if not lines:
            continue
        pid = str(place.heaplapse.info(place.traces()[-1])['pid']).encode()
        first, second = said.replace(b'\033[1m', b'').replace(b'\033[0m', b'').splitlines()[:2]
        expect('the start', first.strip(), b'heaplapse: recording transparency_ending (pid %s) to %s' % (pid, place.traces()[-1].encode()))
        expect('how to ask', second.strip(), b'while it runs: heaplapse report %s; heaplapse ctl %s status' % (place.traces()[-1].encode(), pid))
        contains('the summary', said.decode(), 'recorded transparency_ending', 'peak', 'next:')


def test_usage(place):
    """a wrong command line exits with 125 and a hint, and runs nothing"""
    for words, part in (([], 'which program'), (['--'], 'which program'), (['--nonsense', 'true'], '--nonsense'),
                        (['--sumary', 'true'], '--summary'), (['-o'], 'FILE'), (['--depth=x', 'true'], 'depth'),
                        (['--start=maybe', 'true'], 'on or off'), (['-Z', 'true'], '-Z')):
        done = place.run(place.binary, 'record', *words)
        expect(f'{words}: status', done.status, 125)
        contains(f'{words}', done.err, part, 'heaplapse help record')
        expect(f'{words}: stdout', done.out, '')


def test_not_found(place):
    """127 when there is no such program, 126 when it cannot be run"""
    open('plain', 'w').close()
    with open('broken', 'w', encoding='ascii') as file:
        file.write('#!/none/such\n')
    os.chmod('broken', 0o755)
    for name, status in (('none-such', 127), ('./none-such', 127), ('./plain', 126), ('/', 126), ('./plain/x', 126),
                         ('', 127), ('./broken', 127)):
        done = place.record(name)
        expect(f'{name!r}: status', done.status, status)
        expect(f'{name!r}: lines', done.err.count('\n'), 1)
    expect('traces', place.traces(), [])


def test_words(place):
    """options after the program are the program's; -- is not"""
    echo = place.program('arguments')
    for before, after in ((['-q'], ['-q', '--help', '-o', 'x']), (['-q', '--'], ['--', '-f']), (['-q'], ['--']), ):
        done = place.run(place.binary, 'record', *before, echo, *after)
        expect('words', done.out.splitlines(), [echo, *after])
    done = place.run(place.binary, 'record', '--', '-odd')
    expect('status', done.status, 127)
    contains('message', done.err, '-odd')


def test_path(place):
    """a program is found by PATH, its name stays what was typed"""
    os.mkdir('bin')
    os.symlink(place.program('arguments'), 'bin/tool')
    done = place.record('tool', 'x', env={**os.environ, 'PATH': 'bin:' + os.environ['PATH']})
    expect('words', done.out.splitlines(), ['tool', 'x'])


def test_script(place):
    """a script without a first line is run by /bin/sh, with its arguments"""
    with open('script', 'w', encoding='ascii') as file:
        file.write('echo "$0|$1|$2"\n')
    os.chmod('script', 0o755)
    done = place.record('./script', 'a b', 'c')
    expect('output', (done.status, done.out, done.err), (0, './script|a b|c\n', ''))


main(globals())
