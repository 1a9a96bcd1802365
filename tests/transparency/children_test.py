#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""children_test - many fork children: each has its trace, and none leaves memory or descriptors behind in the collector."""
import collections
import json
import os
import subprocess
import time

from transparency import Failure, children_of, comm_of, compiled, expect, main, wait_until

# MALLOC_PERTURB_ would fill the collector's large buffers, most of which are never touched.
os.environ.pop('MALLOC_PERTURB_', None)
BLOCKS = 20     # of each child
MIB = 1 << 20


def check_traces(place, children):
    """The parent's trace has one block, each child's has BLOCKS, and all are of different processes."""
    names = place.traces()
    expect('traces', len(names), children + 1)
    rows = json.loads(place.heaplapse.run('report', '--allocated', '--group', 'process', '--json', *names))['processes']
    expect('processes', len({row['pid'] for row in rows}), children + 1)
    expect('traces by their blocks', dict(collections.Counter(row['total_blocks'] for row in rows)), {1: 1, BLOCKS: children})
    for name in (names[0], names[len(names) // 2], names[-1]):
        expect(f'{name} is complete', place.heaplapse.info(name)['complete'], True)


def is_complete(place, children):
    """Whether all traces are complete: with LD_PRELOAD alone the collector may still be running."""
    try:
        check_traces(place, children)
        return True
    except Failure:
        return False


def record_children(place, *words, prefix=(), options=('-o', 'x.hlt')):
    command = place.record_command(place.program('brood'), *words, options=options)
    done = place.run(*prefix, *command)
    expect('status and stderr', (done.status, done.err), (0, ''))
    return done


def pids_of(place):
    return {place.heaplapse.info(name)['pid'] for name in place.traces()[1:]}


def test_names(place):
    """children are in the directory of the first trace, named by pid and program, and listed once each"""
    record_children(place, 150)
    pids = pids_of(place)
    expect('names', place.traces(), ['x.hlt', *sorted(f'x.hlt.d/{pid}.transparency_brood.hlt' for pid in pids)])
    expect('session', sorted((row[0], row[3]) for row in place.session_rows('x.hlt')),
           sorted((pid, f'{pid}.transparency_brood.hlt') for pid in pids))
    expect('parents', {row[1] for row in place.session_rows('x.hlt')}, {place.heaplapse.info('x.hlt')['pid']})
    expect('mode', oct(os.stat('x.hlt.d').st_mode & 0o7777), '0o700')
    expect('mode of the list', oct(os.stat('x.hlt.d/session').st_mode & 0o7777), '0o600')
    check_traces(place, 150)


def test_taken_names(place):
    """numbers that other files have are skipped, however many there are; the files are not changed"""
    for number in range(1, 12001):
        os.mknod(f'x.{number}.hlt' if number > 1 else 'x.hlt')
    done = place.bare(place.program('brood'), 3, env={'HEAPLAPSE_OUTPUT': 'x.hlt'})
    expect('status and stderr', (done.status, done.err), (0, 'heaplapse: x.hlt exists; the trace is written to x.12001.hlt\n'))
    wait_until('whole traces', lambda: len(place.traces('x.12001.hlt')) == 4)
    expect('new names', sorted(name for name in place.traces() if os.path.getsize(name)), place.traces('x.12001.hlt'))


def test_overwritten_names(place):
    """with -f the old session is replaced as a whole, but not what else is in its directory"""
    record_children(place, 60)
    before = set(place.traces()[1:])
    with open('x.hlt.d/notes', 'w', encoding='ascii') as file:
        file.write('mine')
    record_children(place, 30, options=('-f', '-o', 'x.hlt'))
    check_traces(place, 30)
    expect('old traces', before & set(place.traces()) - {f'x.hlt.d/{row[3]}' for row in place.session_rows('x.hlt')}, set())
    expect('rows', len(place.session_rows('x.hlt')), 30)
    expect('the other file', open('x.hlt.d/notes', encoding='ascii').read(), 'mine')
    os.unlink('x.hlt.d/notes')
    done = place.record('/bin/true', options=('-q', '-f', '-o', 'x.hlt'))
    expect('without children', (done.status, done.err, place.traces(), os.path.exists('x.hlt.d')), (0, '', ['x.hlt'], False))


def test_at_once(place):
    """150 children that live at the same time"""
    record_children(place, 150, BLOCKS, 150)
    check_traces(place, 150)


def test_bare(place):
    """the same with LD_PRELOAD alone"""
    done = place.bare(place.program('brood'), 100, env={'HEAPLAPSE_OUTPUT': 'x.hlt'})
    expect('status and stderr', (done.status, done.err), (0, ''))
    wait_until('whole traces', lambda: is_complete(place, 100))
    check_traces(place, 100)


def private_memory(pid):
    try:
        with open(f'/proc/{pid}/status', encoding='ascii', errors='replace') as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith('RssAnon'))
    except (OSError, StopIteration):
        return 0


def test_memory(place):
    """400 children: the collector's memory stays small, is released, and no descriptor stays open"""
    script = 'read go; "$0" 400; read end'
    process = place.start(place.record_command('/bin/sh', '-c', script, place.program('brood'), options=('-q', '-o', 'x.hlt')),
                          stdin=-1)
    found = []
    wait_until('a collector', lambda: (found.clear(), found.extend(
        pid for pid in children_of(process.pid) if comm_of(pid) == 'heaplapse'), len(found) == 1 and place.traces())[2])
    collector = found[0]
    descriptors = len(os.listdir(f'/proc/{collector}/fd'))
    process.stdin.write('go\n')
    process.stdin.flush()
    most, deadline = 0, time.monotonic() + 60
    while len(place.traces()) < 402:
        if time.monotonic() > deadline:
            raise Failure(f'{len(place.traces())} traces after 60 s')
        most = max(most, private_memory(collector))
        time.sleep(0.002)
    if most > 64 * MIB:
        raise Failure(f'the collector took {most // MIB} MiB')
    # this includes the collector's tables for the shell itself
    wait_until('little memory', lambda: private_memory(collector) < 8 * MIB)
    wait_until('as many descriptors as before', lambda: len(os.listdir(f'/proc/{collector}/fd')) <= descriptors)
    process.stdin.write('end\n')
    process.stdin.flush()
    expect('status', place.finish(process).status, 0)


FILES_LEAST = 16


def with_files(limit):
    return ('prlimit', f'--nofile={limit}:{limit}')


def test_too_few_files(place):
    """fewer descriptors than the collector needs: refused with the limit's name, --force runs the program"""
    for limit in (8, 10, 12, 15):
        done = place.run(*with_files(limit), *place.record_command(place.program('brood'), 2))
        expect(f'{limit}: status and lines', (done.status, done.err.count('\n')), (125, 2))
        expect(f'{limit}: advice', 'raise the hard limit of open files (ulimit -H -n)\n  use --force to run it' in done.err, True)
        forced = place.run(*with_files(limit), *place.record_command(place.program('brood'), 2, options=('--force',)))
        expect(f'{limit}: --force', (forced.status, forced.err.count('\n')), (0, 1))
        bare = place.run(*with_files(limit), 'env', f'LD_PRELOAD={place.library}', place.program('brood'), 2)
        expect(f'{limit}: bare', bare.status, 0)
        expect(f'{limit}: bare, the sentence', 'this program is not recorded: the collector needs 16 open files; '
               'raise the hard limit of open files (ulimit -H -n)\n' in bare.err, True)
    expect('traces', place.traces(), [])


def test_few_files(place):
    """16 descriptors: children one after another, at once, in a pipe, and with LD_PRELOAD alone"""
    for words in ((40,), (40, BLOCKS, 40)):
        record_children(place, *words, prefix=with_files(FILES_LEAST))
        check_traces(place, 40)
        place.remove_traces()
    script = 'for i in 1 2 3; do echo x | cat | cat; done'
    done = place.run(*with_files(FILES_LEAST), *place.record_command('/bin/sh', '-c', script))
    expect('a pipe', (done.status, done.out, done.err), (0, 'x\n' * 3, ''))
    expect('traces of cat', len(place.traces_of('cat')), 6)
    for name, info in place.infos().items():
        expect(f'{name} is complete', info['complete'], True)
    place.remove_traces()
    done = place.run(*with_files(FILES_LEAST), 'env', f'LD_PRELOAD={place.library}', 'HEAPLAPSE_OUTPUT=x.hlt',
                     place.program('brood'), 20)
    expect('bare', (done.status, done.err), (0, ''))
    wait_until('whole traces', lambda: is_complete(place, 20))


STAYS = '''#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 4; i++)
		if (fork() == 0) {
			void *volatile p = malloc(100);
			for (int k = 0; k < 2000 && access("flag", F_OK); k++)
				usleep(10000);
			return p == NULL;
		}
	free(malloc(100));
	return 0;
}
'''


def test_few_files_stay(place):
    """16 descriptors, and children that outlive record, more than traces can be open: it returns, they are written"""
    with open('stays.c', 'w', encoding='ascii') as file:
        file.write(STAYS)
    compiled('gcc', '-fno-builtin', '-o', 'stays', 'stays.c')
    begin = time.monotonic()
    done = place.run(*with_files(FILES_LEAST), *place.record_command('./stays'), stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL)
    waited = time.monotonic() - begin
    with open('flag', 'w', encoding='ascii'):
        pass
    expect('status', done.status, 0)
    if waited > 15:
        raise Failure(f'record took {waited:.0f} s')
    for name, info in place.infos(5).items():
        expect(f'{name}: complete, end', (info['complete'], info['end']['kind'], info['end']['value']), (True, 'exit', 0))


def test_soft_files(place):
    """a soft limit applies to the program only: it finds its own, and is recorded"""
    done = place.run('prlimit', '--nofile=6:64', *place.record_command('/bin/sh', '-c', 'ulimit -n'))
    expect('status, limit, stderr', (done.status, done.out, done.err), (0, '6\n', ''))
    expect('traces', len(place.traces()), 1)


def test_some_files(place):
    """256 descriptors, 600 children, 300 of them at once: none is without a trace"""
    record_children(place, 600, BLOCKS, 300, prefix=with_files(256))
    check_traces(place, 600)


main(globals())
