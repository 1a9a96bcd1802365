#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gdb_test - record --gdb: only the program is recorded, with its arguments, whatever way gdb ends it."""
import os
import shutil

from transparency import Skip, compiled, contains, expect, expect_lossless, main

SOURCE = '''#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
void here(void) { __asm__ volatile(""); }
int main(int argc, char **argv)
{
	static void *blocks[100];
	int out = open("words", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	for (int i = 1; i < argc; i++)
		if (write(out, argv[i], strlen(argv[i]) + 1) < 0)
			return 9;
	close(out);
	for (int i = 0; i < 100; i++)
		blocks[i] = malloc(100);
	here();
	for (int i = 0; i < 40; i++)
		free(blocks[i]);
	return getenv("LD_PRELOAD") ? 3 : 4;
}
'''


def program(name='program'):
    if not shutil.which('gdb'):
        raise Skip('gdb is not installed')
    with open('source.c', 'w', encoding='ascii') as file:
        file.write(SOURCE)
    compiled('gcc', '-g', '-o', name, 'source.c')
    return './' + name


def commands(*lines):
    return '-batch -nx ' + ' '.join(f"-ex '{line}'" for line in lines)


def record(place, lines, *command, options=()):
    """Records under gdb with -nx, which ignores ~/.gdbinit."""
    done = place.record(*command, options=('-o', 'x.hlt', *options, '--gdb-options', commands(*lines)), env={
        **{k: v for k, v in os.environ.items() if k != 'DEBUGINFOD_URLS'}, 'SHELL': '/bin/sh'})
    if 'ptrace' in done.err and 'not permitted' in done.err:
        raise Skip('gdb may not trace here')
    return done


def test_run(place):
    """a breakpoint works, the program ends as it does bare, and only it is recorded"""
    done = record(place, ['break here', 'run', 'backtrace', 'continue'], program())
    contains('gdb', done.out, 'Breakpoint 1, here ()', 'in main (', 'exited with code 03')
    expect('status is of gdb', done.status, 0)
    expect('traces: neither gdb nor its shell', place.traces(), ['x.hlt'])
    info = place.info('x.hlt')
    expect_lossless(info, 100, 40, ('exit', 3))
    expect('program', info['program'], os.path.abspath('program'))


def test_words(place):
    """arguments arrive as they are"""
    words = ['a b', '', "it's", '"both"', '$HOME', '*', 'back\\slash', 'new\nline', '--args', '-ex', '#~!&;|<>(){}[]?`', 'é', ' ']
    record(place, ['run'], program('a program'), *words)
    with open('words', encoding='utf-8') as file:
        expect('words', file.read().split('\0')[:-1], words)


def test_kill(place):
    """kill, and quit while the program runs: a complete trace up to there, ended by a signal"""
    binary = program()
    for lines in ['break here', 'run', 'kill'], ['break here', 'run', 'quit']:
        record(place, lines, binary, options=('-f',))
        info = place.info('x.hlt')
        expect_lossless(info, 100, 0)
        expect('end', info['end']['kind'] in ('signal', 'lost'), True)
        if info['end']['kind'] == 'signal':
            expect('signal', info['end']['value'], 9)


def test_twice(place):
    """each run has its trace"""
    record(place, ['run', 'run'], program())
    for info in place.infos(2).values():
        expect_lossless(info, 100, 40, ('exit', 3))
    (row,) = place.session_rows('x.hlt')
    expect('names', place.traces(), ['x.hlt', f'x.hlt.d/{row[3]}'])


def test_typed(place):
    """without options gdb reads its commands normally"""
    binary = program()
    done = place.run(*place.record_command(binary, options=('-q', '-o', 'x.hlt', '--gdb')), text='run\nquit\n',
                     env={**os.environ, 'HOME': os.getcwd(), 'SHELL': '/bin/sh'})
    contains('gdb', done.out, 'exited with code 03')
    expect_lossless(place.info('x.hlt'), 100, 40, ('exit', 3))


def test_refused(place):
    """no gdb, a script, a static program, an open quote: one message"""
    binary = program()
    os.mkdir('bin')
    done = place.record(binary, options=('--gdb',), env={**os.environ, 'PATH': os.path.abspath('bin')})
    expect('status and lines', (done.status, done.err.count('\n')), (125, 1))
    contains('message', done.err, 'gdb', 'apt install gdb')
    with open('script', 'w', encoding='ascii') as file:
        file.write('#!/bin/sh\n')
    os.chmod('script', 0o755)
    done = place.record('./script', options=('--gdb',))
    expect('status', done.status, 125)
    contains('message', done.err, 'script', 'heaplapse record --gdb /bin/sh ./script')
    compiled('gcc', '-static', '-o', 'static', 'source.c')
    done = place.record('./static', options=('--gdb',))
    expect('status', done.status, 125)
    contains('message', done.err, 'statically')
    done = place.record(binary, options=('--gdb-options', '-ex "run'))
    expect('status', done.status, 126)
    contains('message', done.err, 'quote', '--gdb-options')
    done = place.record(binary, options=('--gdb-options', '-batch'))
    contains('not run', done.err, 'was not recorded', 'gdb did not run it')
    expect('traces', place.traces(), [])


main(globals())
