#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""log_test - --log-level and --log-file: the lines that recorder and collector log, their
destination, and their visibility to the program."""
import os
import re
import stat

from transparency import NOBODY, Failure, contains, expect, main, need_other_user, wait_until

LINE = re.compile(r'heaplapse: \d+\.\d{3} (\d+) (\d+) (ERR|WRN|INF|DBG|TRC) (recorder|collector): \S.*')


def lines(name):
    """[(pid, level, who)] of a log; every line must have the form."""
    found = []
    with open(name, encoding='utf-8') as file:
        for line in file:
            match = LINE.fullmatch(line.rstrip('\n'))
            if not match:
                raise Failure(f'{name} has {line!r}')
            found.append((int(match[1]), match[3], match[4]))
    return found


def text(name):
    with open(name, encoding='utf-8') as file:
        return file.read()


def refused(place, options, *parts):
    done = place.record('/bin/sh', '-c', 'echo ran >ran', options=options)
    expect(f'{options}: status', done.status, 125)
    contains(f'{options}: message', done.err, *parts)
    expect(f'{options}: the program was run', os.path.exists('ran'), False)


def test_levels(place):
    """each level has the lines of those before it; off has none, and a file alone means info"""
    wanted = {'off': '', 'error': '', 'warn': '', 'info': 'INF', 'debug': 'DBG INF', 'trace': 'DBG INF TRC', None: 'INF'}
    for level, marks in wanted.items():
        options = ('-q', '-f', '-o', 'x.hlt', '--log-file', f'{level}.log') + ((f'--log-level={level}',) if level else ())
        expect(f'{level}: status', place.record(place.program('ending'), 'exit:0', options=options).status, 0)
        expect(f'{level}: a file', os.path.exists(f'{level}.log'), level != 'off')
        found = lines(f'{level}.log') if level != 'off' else []
        expect(f'{level}: levels', ' '.join(sorted({mark for _, mark, _ in found})), marks)
        if marks:
            expect(f'{level}: who', {who for _, _, who in found}, {'recorder', 'collector'})
    contains('info', text('info.log'), 'transparency_ending, is recorded in mode trace', 'recorder: recording begins', 'has ended: status 0',
             'the trace x.hlt of process')


def test_names(place):
    """placeholders as for -o, a file for each program, 0600, and appended to; fork children write to their parent's"""
    for _ in range(2):
        place.record('/bin/sh', '-c', f'{place.program("ending")} exit:0; (echo x | cat >/dev/null)',
                     options=('-q', '-f', '-o', 't%n.hlt', '--log-file', 'log.%e.%%'))
    found = {name: lines(name) for name in os.listdir('.') if name.startswith('log.')}
    expect('files', set(found), {'log.sh.%', 'log.transparency_ending.%', 'log.cat.%'})
    for name in found:
        expect(f'mode of {name}', oct(stat.S_IMODE(os.stat(name).st_mode)), '0o600')
        expect(f'{name}: begun twice', text(name).count('recording begins'), 2)
    expect('a child in the log of its parent', len({pid for pid, _, who in found['log.sh.%'] if who == 'recorder'}) > 2, True)
    place.record(place.program('ending'), 'exit:0', options=('-q', '-o', 'p.hlt', '--log-file', '%h.%p.%t.log'))
    expect('with pid and time', len([name for name in os.listdir('.') if re.fullmatch(r'.*\.\d+\.\d+\.log', name)]), 1)


def test_stderr(place):
    """without a file both logs go to stderr; without a level there is no log"""
    done = place.record(place.program('ending'), 'exit:0', options=('-q', '--log-level=info', '-o', 'a.hlt'))
    contains('stderr', done.err, 'INF recorder: recording begins', 'INF collector: the trace a.hlt')
    done = place.record(place.program('ending'), 'exit:0', options=('-q', '-o', 'b.hlt'))
    expect('stderr', done.err, '')
    reader, writer = os.pipe()
    os.close(reader)
    done = place.record(place.program('ending'), 'exit:0', options=('-q', '--log-level=debug', '-o', 'c.hlt'), stderr=writer)
    os.close(writer)
    expect('nobody reads stderr', done.status, 0)


def test_bare(place):
    """by the variables under a bare LD_PRELOAD"""
    done = place.bare(place.program('ending'), 'exit:3', env={'HEAPLAPSE_LOG_FILE': 'b.log', 'HEAPLAPSE_LOG_LEVEL': 'debug'})
    expect('status and messages', (done.status, done.err), (3, ''))
    wait_until('the end', lambda: 'is closed' in text('b.log'))
    expect('who', {who for _, _, who in lines('b.log')}, {'recorder', 'collector'})
    for name in ('none/b.log', '%n.log', '-'):
        done = place.bare(place.program('ending'), 'exit:3', env={'HEAPLAPSE_LOG_FILE': name})
        expect('status and lines', (done.status, done.err.count('\n')), (3, 1))
        contains('message', done.err, 'not recorded', 'HEAPLAPSE_LOG_FILE', name)


def test_refusals(place):
    """an impossible name, a forbidden place, and anything that is not a plain file of our own: refused before the program runs"""
    refused(place, ('--log-level=loud',), 'off, error, warn, info, debug, trace')
    for name in ('%n.log', '%', 'a%x', '%%%', '', '-'):
        refused(place, ('--log-file', name), '--log-file', 'the name of a file')
    refused(place, ('--log-file', 'none/x.log'), 'none/x.log', 'No such file')
    with open('victim', 'w', encoding='ascii') as file:
        file.write('mine')
    os.symlink('victim', 'link.log')
    os.symlink('nowhere', 'dangling.log')
    os.mkfifo('fifo.log')
    os.mkdir('folder.log')
    for name in ('link.log', 'dangling.log', 'fifo.log', '/dev/null', 'folder.log'):
        refused(place, ('--log-file', name), '--log-file', name)
    expect('victim', text('victim'), 'mine')
    os.mkdir('open')
    os.chmod('open', 0o777)
    refused(place, ('--log-file', 'open/x.log'), 'chmod +t', '--force')
    expect('files', sorted(os.listdir('.')), ['dangling.log', 'fifo.log', 'folder.log', 'link.log', 'open', 'victim'])


def test_foreign(place):
    """another user's file is not appended to, and another user's links are not followed"""
    need_other_user(place, 0o1777)
    with open('his.log', 'w', encoding='ascii') as file:
        file.write('his')
    os.chown('his.log', 65534, 65534)
    os.chmod('his.log', 0o666)
    refused(place, ('-o', '/tmp/none/x', '--log-file', 'his.log'), '/tmp/none/x')
    refused(place, ('--log-file', 'his.log'), 'not a regular file of yours')
    place.run(*NOBODY, 'ln', '-s', '/etc/passwd', 'his-link.log')
    refused(place, ('--log-file', 'his-link.log'), '--log-file')
    expect('his', text('his.log'), 'his')


def test_unseen(place):
    """no descriptor stays, errno is kept, a limit on the size of files and a name with a newline are harmless"""
    options = ('-q', '-f', '-o', 'x.hlt', '--log-level=trace', '--log-file', 'u.log')
    alone = place.run('/bin/ls', '/proc/self/fd').out
    expect('descriptors', place.record('/bin/ls', '/proc/self/fd', options=options).out, alone)
    alone = place.run(place.program('errnos'))
    done = place.record(place.program('errnos'), options=options)
    expect('errno', (done.status, done.out, done.err), (alone.status, alone.out, alone.err))
    with open('u.log', 'a', encoding='ascii') as file:
        file.write('#' * 100000)
    size = os.stat('u.log').st_size
    done = place.record('/bin/sh', '-c', f'ulimit -S -f 1; {place.program("ending")} exit:7', options=options)
    expect('a limit', (done.status, done.err), (7, ''))
    expect('the collector has none', os.stat('u.log').st_size > size, True)
    os.symlink(place.program('ending'), 'new\nline\x1b[31m')
    place.record('./new\nline\x1b[31m', 'exit:0', options=('-q', '-f', '-o', 'x.hlt', '--log-file', 'n.log'))
    lines('n.log')


def test_modes(place):
    """in every mode, and with the program's own messages"""
    for mode in ('count', 'cull', 'sample', 'tags'):
        name = f'{mode}.log'
        place.record(place.program('paused'), 'run', options=('-q', '-f', '-o', 'm%n.hlt', f'--mode={mode}', '--log-file', name))
        contains(mode, text(name), f'is recorded in mode {mode}', 'the program pauses recording', 'the program resumes recording')
        lines(name)


main(globals())
