#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tags_test - scopes and their counts, compared with programs that count for themselves; the
command tags; bad input."""
import errno
import glob
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'transparency'))
from transparency import Failure, Skip, children_of, compiled, contains, expect, main, wait_until  # noqa: E402

EXAMPLES = os.path.join(HERE, '..', '..', 'examples')
STRICT = ['-Wall', '-Wextra', '-Wpedantic', '-Werror', '-g', '-O1', '-fno-builtin']


def build(place, name, *options, compiler='gcc', folder=os.path.join(HERE, 'programs'), source=None):
    compiled(compiler, *STRICT, '-I', place.include, '-o', name, os.path.join(folder, source or name + '.c'), *options,
             '-lpthread')
    return './' + name


def counted(place, *command, env=None, **popen):
    return place.bare(*command, env={'HEAPLAPSE_MODE': 'tags', **(env or {})}, **popen)


def tags(place, *args, status=0):
    done = place.run(place.binary, 'tags', *args)
    expect('status of tags ' + ' '.join(map(str, args)) + ': ' + done.err, done.status, status)
    return done.out if status == 0 else done.err


def load(name):
    with open(name) as file:
        return json.load(file)


def places(thread):
    """{path: (allocated bytes, blocks, freed bytes, blocks, entered)} of one thread; self values, not totals."""
    paths, result = {}, {}
    for scope in thread['scopes']:
        path = '' if scope['parent'] is None else paths[scope['parent']] + '>' + scope['name']
        paths[scope['id']] = path
        own = scope['self']
        if path in result:
            raise Failure(f'{path} stands there twice')
        result[path] = (own['allocated_bytes'], own['allocated_blocks'], own['freed_bytes'], own['freed_blocks'],
                        scope['entered'])
    return result


def truth(text):
    books, unbalanced = {}, {}
    for line in text.splitlines():
        thread, path, numbers = line.split('\t')
        if path == 'unbalanced':
            unbalanced[thread] = int(numbers)
        else:
            books.setdefault(thread, {})[path] = tuple(map(int, numbers.split()))
    return books, unbalanced


def compare_forest(place, charge, run):
    done = run()
    expect('status', (done.status, done.err), (0, ''))
    books, unbalanced = truth(done.out)
    report = load('forest.json')
    expect('charge', report['charge'], charge)
    contains('meaning', report['meaning'], 'usable bytes', 'scope that frees' if charge == 'freeing' else 'that allocated')
    threads = {thread['name']: thread for thread in report['threads']}
    expect('trees', len(report['threads']), 301)
    for name, book in books.items():
        found = places(threads[name])
        for path in sorted(set(book) | set(found)):
            expect(f'{name} {path!r}', found.get(path), book.get(path))
        expect(f'unbalanced in {name}', threads[name]['unbalanced_pops'], unbalanced[name])
    check_totals(report)


def check_totals(report):
    total = 0
    for thread in report['threads']:
        sums = {}
        for scope in reversed(thread['scopes']):
            mine = sums.pop(scope['id'], 0) + scope['self']['allocated_bytes']
            expect('total', scope['total']['allocated_bytes'], mine)
            if scope['parent'] is None:
                total += mine
            else:
                sums[scope['parent']] = sums.get(scope['parent'], 0) + mine
        calls = [(s['calls'], s['self']) for s in thread['scopes']]
        for call, own in calls if report['charge'] == 'freeing' else []:
            # A realloc counts as an allocation and a free, except where it only allocated or only freed.
            frees = call['free'] + call['delete']
            moves = call['realloc'] + call['reallocarray']
            if not frees <= own['freed_blocks'] <= frees + moves:
                raise Failure(f'calls {call} do not make {own}')
    expect('all', report['all']['allocated_bytes'], total)


def test_forest(place):
    """300 threads, nested, recursive, unbalanced and crossing: every number equals an independent count"""
    program = build(place, 'forest')
    compare_forest(place, 'freeing', lambda: counted(place, program))
    compare_forest(place, 'freeing', lambda: place.record(program, options=('-q', '--mode=tags', '-f', '-o', 'x.hlt')))


def test_owner(place):
    """--tags=owner: a free is charged to the scope that owns the block, in whichever thread"""
    program = build(place, 'forest')
    compare_forest(place, 'owner', lambda: counted(place, program, 'owner', env={'HEAPLAPSE_TAGS': 'owner'}))
    compare_forest(place, 'owner', lambda: place.record(program, 'owner', options=(
        '-q', '--mode=tags', '--tags=owner', '-f', '-o', 'x.hlt')))


def test_alone(place):
    """without a recorder the same program runs as before"""
    program = build(place, 'forest')
    done = place.run(program)
    expect('status and messages', (done.status, done.err), (0, ''))
    expect('file', os.path.exists('forest.json'), False)


def scope_of(report, thread, name):
    tree = next(t for t in report['threads'] if t['name'] == thread)
    return next(s for s in tree['scopes'] if s['name'] == name)


def test_running(place):
    """tags PID: a running program is never seen in the middle of an event"""
    program = build(place, 'busy')
    for mode in ('freeing', 'owner'):
        process = place.start([program], stdin=subprocess.PIPE, env=place.bare_env(
            HEAPLAPSE_MODE='tags', HEAPLAPSE_TAGS=mode))
        size = int(process.stdout.readline())
        before, looks = 0, 0
        wait_until('the scope', lambda: '"inner"' in tags(place, '--json', process.pid))
        while looks < 200:
            own = scope_of(json.loads(tags(place, '--json', process.pid)), 'worker', 'inner')['self']
            looks += 1
            expect('bytes allocated', own['allocated_bytes'], size * own['allocated_blocks'])
            expect('bytes freed', own['freed_bytes'], size * own['freed_blocks'])
            if mode == 'freeing' and own['live_blocks'] not in (0, 1):
                raise Failure(f'{own["live_blocks"]} blocks live, of one')
            if own['allocated_blocks'] < before:
                raise Failure('numbers went back')
            before = own['allocated_blocks']
        text = tags(place, process.pid)
        contains('text', text, 'outer', 'inner', 'a free is charged')
        process.stdin.close()
        process.stdin = None
        place.finish(process)


def test_odd(place):
    """empty, long and wild names, pops without a push, disabled threads, a fork child"""
    program = build(place, 'odd')
    done = counted(place, program, env={'HEAPLAPSE_STATS_JSON': 'odd.json', 'HEAPLAPSE_STATS_DOT': 'odd.dot'})
    expect('what it says', (done.status, done.out.splitlines(), done.err), (0, [
        'long: 0, 5', 'prefix: 1', 'empty: 0, 2', 'switched: 2 of them', 'stopped: 2 of them', 'child: 0'], ''))
    report = load('odd.json')
    main_thread = report['threads'][0]
    expect('unbalanced', main_thread['unbalanced_pops'], 7)
    expect('while disabled', main_thread['disabled']['allocated_blocks'], 2)
    names = [scope['name'] for scope in main_thread['scopes']]
    expect('names', names, ['main', 'x' * 10000, '', '', '"\\\n\ufffd\x1b[31m', 'switched', 'inside'])
    children = glob.glob('odd.*.json')
    expect('files of the child', len(children), 1)
    child = load(children[0])
    expect('the child counts', scope_of(child, 'main', 'child')['self']['allocated_blocks'], 1)
    expect('the parent does not', 'child' in names, False)
    text = tags(place, 'odd.json')
    expect('text is clean', all(line.isprintable() for line in text.splitlines()), True)
    if shutil.which('dot'):
        expect('dot', place.run('dot', '-Tsvg', 'odd.dot').status, 0)


def test_many(place):
    """thousands of threads in a row and thousands of scopes deep, in memory that is bounded"""
    program = build(place, 'odd')
    done = counted(place, program, '5000', env={'HEAPLAPSE_STATS_JSON': 'many.json'})
    expect('status', (done.status, done.err), (0, ''))
    report = load('many.json')
    if len(report['threads']) > 1100 or report['own_bytes'] > 32 << 20:
        raise Failure(f'{len(report["threads"])} trees in {report["own_bytes"]} bytes')
    expect('threads', sum(t['threads'] for t in report['threads'] if t['name'] != 'main'), 5000)
    expect('scopes entered', sum(s['entered'] for t in report['threads'] for s in t['scopes'] if s['name'] == 'brief'),
           5000)
    done = counted(place, program, '-20000', env={'HEAPLAPSE_STATS_JSON': 'deep.json'})
    expect('status', (done.status, done.err), (0, ''))
    report = load('deep.json')
    nodes = len(report['threads'][0]['scopes'])
    expect('nodes', nodes, 20002)
    if report['own_bytes'] > nodes * 192 + 65536 * 16:
        raise Failure(f'{report["own_bytes"] / nodes} bytes a node')
    tags(place, 'deep.json')
    tags(place, '--json', '-o', 'again.json', 'deep.json')
    expect('again', load('again.json')['all'], report['all'])


def test_unwritable(place):
    """a full disk, a missing directory, a limit on file sizes: one message, the program is not affected"""
    program = build(place, 'odd')
    for path in ('/dev/full', 'no/such/folder/x.json'):
        done = counted(place, program, env={'HEAPLAPSE_STATS_JSON': path, 'HEAPLAPSE_STATS_DOT': path})
        expect('status and lines', (done.status, done.err.count('\n') <= 2), (0, True))
        contains('message', done.err, 'the counters of tags are not written to', path.split('/')[-1])
    with open('old.json', 'w') as file:
        file.write('{}')
    done = counted(place, program, env={'HEAPLAPSE_STATS_JSON': 'old.json'},
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    expect('status', done.status, 0)
    contains('message', done.err, 'RLIMIT_FSIZE')
    with open('old.json') as file:
        expect('the file before', file.read(), '{}')
    expect('leavings', glob.glob('*.part'), [])


def test_answers(place):
    """every error that heaplapse.h documents, of each function, in a program that counts and in those that do not"""
    with open('answers.c', 'w') as file:
        file.write('''#include <heaplapse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
	struct heaplapse_stat stat = {.entered = 77};
	char text[4000] = "x", cut[10];
	heaplapse_thread_name("main");
	heaplapse_tag_push("a");
	void *kept = malloc(1000);
	setvbuf(stdout, malloc(BUFSIZ), _IOFBF, BUFSIZ);
	printf("get %d %d %d %d ", heaplapse_stats_get("main/none", &stat), heaplapse_stats_get("", &stat),
		heaplapse_stats_get(NULL, &stat), heaplapse_stats_get("main/a", NULL));
	printf("%d ", (int)stat.entered);
	stat.entered = 77;
	int found = heaplapse_stats_get("main/a", &stat);
	printf("%d %d\\n", found, (int)stat.self_allocated_blocks);
	printf("write %d %d %d %d %d %d\\n", heaplapse_stats_write(NULL), heaplapse_stats_write(""),
		heaplapse_stats_write("none/x.json"), heaplapse_stats_write("/proc/x.json"),
		heaplapse_stats_write("/dev/full"), heaplapse_stats_write("good.json"));
	size_t n = heaplapse_stats_text(NULL, 0), same = heaplapse_stats_text(NULL, 100);
	size_t all = heaplapse_stats_text(text, sizeof(text)), part = heaplapse_stats_text(cut, sizeof(cut));
	printf("text %d %d %d %d\\n", n == strlen(text), n == same && n == all && n == part,
		!strncmp(text, cut, 9) && strlen(cut) == (n < 9 ? n : 9), n > 0);
	printf("due %d\\n", heaplapse_snapshot_if_due());
	free(kept);
	return 0;
}
''')
    program = build(place, 'answers', folder='.')
    inval, noent, nosys = -errno.EINVAL, -errno.ENOENT, -errno.ENOSYS
    none = [f'get {nosys} {nosys} {nosys} {nosys} 77 {nosys} 0', f'write {nosys} {nosys} {nosys} {nosys} {nosys} {nosys}', 'text 1 1 1 0', 'due 0']
    counting = [f'get {noent} {noent} {inval} {inval} 77 0 2', f'write {noent} {inval} {noent} {noent} {-errno.ENOSPC} 0', 'text 1 1 1 1', 'due 0']
    every = {'HEAPLAPSE_SNAPSHOT_PREFIX': 'never', 'HEAPLAPSE_SNAPSHOT_INTERVAL': '1000'}
    expect('nobody counts', place.run(program).out.splitlines(), none)
    expect('in mode trace', place.record(program, options=('-q', '-f', '-o', 'x.hlt')).out.splitlines(), none)
    done = counted(place, program, env=every)
    expect('counted', done.out.splitlines(), counting)
    expect('one message', done.err.count('\n'), 1)
    expect('what is written', load('good.json')['heaplapse_tags'], 1)
    done = place.run(place.binary, 'record', '-q', '--mode=tags', '--snapshot-prefix=never', program)
    expect('recorded in mode tags', done.out.splitlines(), counting)
    done = counted(place, program, env={'HEAPLAPSE_SNAPSHOT_INTERVAL': '1'})
    contains('an interval alone', done.err, 'HEAPLAPSE_SNAPSHOT_PREFIX')
    done = place.run(place.binary, 'record', '--mode=tags', '--snapshot-interval=1', program)
    expect('status of an interval alone', done.status, 125)
    contains('an interval alone', done.err, '--snapshot-prefix')


def test_snapshots(place):
    """snapshots by number, at their interval and when the program requests one"""
    with open('shots.c', 'w') as file:
        file.write('''#include <heaplapse.h>
#include <stdlib.h>
#include <unistd.h>
static void *kept[4];
int main(void) {
	heaplapse_thread_name("main");
	heaplapse_tag_push("a");
	kept[0] = malloc(1000);
	int none = heaplapse_snapshot_if_due();
	heaplapse_snapshot("now");
	heaplapse_tag_push("b");
	kept[1] = malloc(500000);
	for (int i = 0; i < 400 && heaplapse_snapshot_if_due() == 0; i++)
		usleep(10000);
	return none;
}
''')
    program = build(place, 'shots', folder='.')
    done = counted(place, program, env={'HEAPLAPSE_SNAPSHOT_PREFIX': 'shot', 'HEAPLAPSE_SNAPSHOT_INTERVAL': '1'})
    expect('status and messages', (done.status, done.err), (0, ''))
    expect('files', sorted(glob.glob('shot.*')), ['shot.0000.dot', 'shot.0000.json', 'shot.0001.dot', 'shot.0001.json'])
    change = json.loads(tags(place, '--diff', '--json', 'shot.0000.json', 'shot.0001.json'))
    scopes = {s['name']: s['self'] for s in change['threads'][0]['scopes']}
    expect('a', (scopes['a']['allocated_bytes'], scopes['a']['allocated_blocks']), (0, 0))
    expect('b', scopes['b']['allocated_blocks'], 1)
    back = json.loads(tags(place, '--diff', '--json', 'shot.0001.json', 'shot.0000.json'))
    scopes = {s['name']: s['self'] for s in back['threads'][0]['scopes']}
    expect('b, the other way', scopes['b']['allocated_blocks'], -1)
    both = json.loads(tags(place, '--json', 'shot.0000.json', 'shot.0001.json'))
    expect('both', scope_of(both, 'main', 'a')['self']['allocated_blocks'], 2)
    for word in ('soon', '1s', '-1'):
        done = counted(place, build(place, 'odd'), env={'HEAPLAPSE_SNAPSHOT_PREFIX': 'x', 'HEAPLAPSE_SNAPSHOT_INTERVAL': word})
        expect('status', done.status, 0)
        contains('message', done.err, 'HEAPLAPSE_SNAPSHOT_INTERVAL', 'seconds')


def test_calls(place):
    """heaplapse_stats_get() has the number of calls by function; older programs and libraries have fewer fields and work"""
    with open('calls.cpp', 'w') as file:
        file.write('''#include <heaplapse.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *volatile kept;
template <class F> static void times(int n, F f) { while (n-- > 0) f(); }
int main(int argc, char **) {
	heaplapse_thread_name("main");
	struct { struct heaplapse_stat stat; char guard[8]; } s;
	memset(&s, 0x55, sizeof(s));
	{
		HEAPLAPSE_SCOPE("all");
		times(1, [] { kept = malloc(10); });
		times(2, [] { kept = calloc(10, 2); });
		times(3, [] { kept = realloc(kept, 30); });
		times(4, [] { kept = reallocarray(kept, 10, 4); });
		times(5, [] { void *p; if (posix_memalign(&p, 64, 50)) abort(); kept = p; });
		times(6, [] { kept = aligned_alloc(64, 64); });
		times(7, [] { kept = memalign(64, 70); });
		times(8, [] { kept = ::operator new(80); });
		times(9, [] { free(kept); kept = nullptr; kept = malloc(1); });
		times(10, [] { ::operator delete(::operator new(100)); });
		free(kept);
	}
	int err = heaplapse_stats_get("main/all", &s.stat);
	const struct heaplapse_stat &c = s.stat;
	printf("%d: %d %d %d %d %d %d %d %d %d %d, %x\\n", err, (int)c.malloc_calls, (int)c.calloc_calls, (int)c.realloc_calls,
		(int)c.reallocarray_calls, (int)c.posix_memalign_calls, (int)c.aligned_alloc_calls, (int)c.memalign_calls,
		(int)c.new_calls, (int)c.free_calls, (int)c.delete_calls, (unsigned)s.guard[0]);
	memset(&s, 0x55, sizeof(s));
	err = heaplapse_stats_get_short_("main/all", &s.stat);
	printf("%d: %d %d\\n", err, (int)s.stat.malloc_calls, (int)s.stat.delete_calls);
	/* As a program that was built with the header of before: 72 bytes. */
	int (*before)(const char *, void *) = (int (*)(const char *, void *))dlsym(RTLD_DEFAULT, "heaplapse_impl_stats_get");
	memset(&s, 0x55, sizeof(s));
	err = before ? before("main/all", &s) : -38;
	printf("%d: %d %x\\n", err, (int)s.stat.entered, ((unsigned char *)&s)[72]);
	return argc > 9;
}
''')
    program = build(place, 'calls', compiler='g++', folder='.', source='calls.cpp')
    expect('calls', counted(place, program).out.splitlines(),
           ['0: 10 2 3 4 5 6 7 18 10 10, 55', '0: 0 0', '0: 1 55'])
    expect('alone', place.run(program).out.splitlines()[0][:4], '-38:')
    with open('old.c', 'w') as file:
        file.write('''#include <heaplapse.h>
#include <stdio.h>
int heaplapse_impl_stats_get(const char *path, struct heaplapse_stat *stat);
int heaplapse_impl_stats_get(const char *path, struct heaplapse_stat *stat) { stat->entered = 3; return path ? 0 : -1; }
int main(void) {
	struct heaplapse_stat stat = {.malloc_calls = 7, .delete_calls = 7};
	int err = heaplapse_stats_get("a", &stat);
	printf("%d: %d %d %d\\n", err, (int)stat.entered, (int)stat.malloc_calls, (int)stat.delete_calls);
	return 0;
}
''')
    expect('an older library', place.run(build(place, 'old', '-rdynamic', folder='.')).out, '0: 3 0 0\n')


def test_memory(place):
    """heaplapse_memory_get() returns the kernel's values, in every mode; nothing if the program is not recorded"""
    with open('memory.c', 'w') as file:
        file.write('''#include <errno.h>
#include <heaplapse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) {
	struct heaplapse_memory m = {7, 7};
	unsigned long vm, rss;
	errno = 99;
	int bad = heaplapse_memory_get(NULL), err = heaplapse_memory_get(&m);
	if (errno != 99) return 3;
	if (err) { printf("%d %d %d\\n", bad, err, m.rss_bytes == 7 && m.vm_bytes == 7); return 0; }
	char *block = malloc(64 << 20);
	memset(block, 1, 64 << 20);
	err = heaplapse_memory_get(&m);
	FILE *f = fopen("/proc/self/statm", "r");
	if (fscanf(f, "%lu %lu", &vm, &rss) != 2) return 2;
	double page = sysconf(_SC_PAGESIZE);
	printf("%d %d %d %d\\n", bad, err, m.vm_bytes > 0.9 * vm * page && m.vm_bytes < 1.1 * vm * page,
		m.rss_bytes > 64 << 20 && m.rss_bytes < m.vm_bytes && m.rss_bytes < 1.2 * rss * page);
	free(block);
	return 0;
}
''')
    program = build(place, 'memory', folder='.')
    expect('alone', place.run(program).out, f'{-errno.ENOSYS} {-errno.ENOSYS} 1\n')
    for mode in ('trace', 'count', 'tags'):
        done = place.record(program, options=('-q', '-f', f'--mode={mode}', '-o', 'm.hlt'))
        expect(mode, (done.status, done.out), (0, f'{-errno.EINVAL} 0 1 1\n'))
    expect('counting alone', counted(place, program).out, f'{-errno.EINVAL} 0 1 1\n')


def test_set_interval(place):
    """heaplapse_set_snapshot_interval() sets, changes and ends the interval of HEAPLAPSE_SNAPSHOT_INTERVAL"""
    with open('interval.c', 'w') as file:
        file.write('''#include <heaplapse.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
	int first = heaplapse_snapshot_if_due(), set = heaplapse_set_snapshot_interval(1), early = heaplapse_snapshot_if_due();
	usleep(1100000);
	int due = heaplapse_snapshot_if_due(), again = heaplapse_snapshot_if_due();
	int off = heaplapse_set_snapshot_interval(0);
	usleep(1100000);
	printf("%d %d %d %d %d %d %d\\n", first, set, early, due, again, off, heaplapse_snapshot_if_due());
	return 0;
}
''')
    program = build(place, 'interval', folder='.')
    prefix = {'HEAPLAPSE_SNAPSHOT_PREFIX': 'shot'}
    nosys, noent = -errno.ENOSYS, -errno.ENOENT
    running = [(place.start([program], env=env), wanted) for env, wanted in (
        ({**os.environ, **prefix}, f'0 {nosys} 0 0 0 {nosys} 0\n'),
        (place.bare_env(HEAPLAPSE_MODE='tags'), f'0 {noent} 0 0 0 {noent} 0\n'),
        (place.bare_env(HEAPLAPSE_MODE='tags', **prefix), '0 0 0 1 0 0 0\n'),
        (place.bare_env(HEAPLAPSE_MODE='tags', HEAPLAPSE_SNAPSHOT_INTERVAL='1000', HEAPLAPSE_SNAPSHOT_PREFIX='long'), '0 0 0 1 0 0 0\n'))]
    for process, wanted in running:
        done = place.finish(process)
        expect('status and messages', (done.status, done.err), (0, ''))
        expect('answers', done.out, wanted)
    expect('files', sorted(glob.glob('shot.*') + glob.glob('long.*')), ['long.0000.dot', 'long.0000.json', 'shot.0000.dot', 'shot.0000.json'])


def counts(place, pid):
    return scope_of(json.loads(tags(place, '--json', pid)), 'worker', 'inner')['self']['allocated_blocks']


def is_idle(place, pid, asked):
    """Whether nothing is counted and no signal is pending."""
    with open(f'/proc/{pid}/status') as f:
        waiting = [line for line in f if line.startswith(('SigPnd', 'ShdPnd')) and int(line.split()[1], 16)]
    before = counts(place, asked)
    time.sleep(0.05)
    return not waiting and counts(place, asked) == before


def check_toggling(place, pid, asked, again=signal.SIGUSR1):
    """Counting stops and continues; `asked` is the pid that is passed to heaplapse tags."""
    for _ in range(3):
        os.kill(pid, signal.SIGUSR1)
        wait_until('counting stops', lambda: is_idle(place, pid, asked))
        before = counts(place, asked)
        os.kill(pid, again)
        wait_until('counting goes on', lambda: counts(place, asked) > before)


def test_toggle(place):
    """a signal chosen by the user stops and starts counting; the pid of record stands for its program"""
    program = build(place, 'busy')
    process = place.start([program], stdin=subprocess.PIPE, env=place.bare_env(HEAPLAPSE_MODE='tags', HEAPLAPSE_TOGGLE_SIGNAL='USR1,USR2'))
    process.stdout.readline()
    wait_until('the scope', lambda: '"inner"' in tags(place, '--json', process.pid))
    check_toggling(place, process.pid, process.pid, again=signal.SIGUSR2)
    process.stdin.close()
    process.stdin = None
    done = place.finish(process)
    expect('status and messages', (done.status, done.err), (0, ''))
    process = place.start(place.record_command(program, options=('-q', '--mode=tags', '-o', 'x.hlt', '--toggle-signal=USR1')),
                          stdin=subprocess.PIPE)
    process.stdout.readline()
    pid = next(c for c in children_of(process.pid) if os.readlink(f'/proc/{c}/exe').endswith('/busy'))
    wait_until('the scope', lambda: '"inner"' in tags(place, '--json', process.pid))
    expect('whose tags', json.loads(tags(place, '--json', process.pid))['pid'], pid)
    check_toggling(place, pid, process.pid)
    process.stdin.close()
    process.stdin = None
    done = place.finish(process)
    expect('status and messages', (done.status, done.err), (0, ''))
    for word, part in (('nonsense', 'HEAPLAPSE_TOGGLE_SIGNAL is not USR1'), ('9', 'not available for pauses')):
        done = counted(place, build(place, 'odd'), env={'HEAPLAPSE_TOGGLE_SIGNAL': word})
        expect('status', done.status, 0)
        contains('message', done.err, part)


def test_signal(place):
    """a signal chosen by the user requests a snapshot; one that is in use is not changed"""
    program = build(place, 'busy')
    process = place.start([program], stdin=subprocess.PIPE, env=place.bare_env(
        HEAPLAPSE_MODE='tags', HEAPLAPSE_SNAPSHOT_SIGNAL='USR2', HEAPLAPSE_SNAPSHOT_PREFIX='shot'))
    process.stdout.readline()
    wait_until('the scope', lambda: '"inner"' in tags(place, '--json', process.pid))
    number = settled = 0
    while settled < 3 and number < 50:
        process.send_signal(signal.SIGUSR2)
        wait_until('a snapshot', lambda: os.path.exists(f'shot.{number:04}.dot'))
        shot = load(f'shot.{number:04}.json')
        number += 1
        if shot['unsettled']:  # on a busy machine the worker may be suspended in the middle of an event
            continue
        own = scope_of(shot, 'worker', 'inner')['self']
        expect('average', own['allocated_bytes'] % own['allocated_blocks'], 0)
        settled += 1
    expect('snapshots that found the worker at rest', settled, 3)
    process.stdin.close()
    process.stdin = None
    done = place.finish(process)
    expect('status and messages', (done.status, done.err), (0, ''))
    process = place.start(place.record_command(program, options=(
        '-q', '--mode=tags', '-o', 'x.hlt', '--snapshot-signal=USR2', '--snapshot-prefix=recorded')), stdin=subprocess.PIPE)
    process.stdout.readline()
    pid = next(c for c in children_of(process.pid) if os.readlink(f'/proc/{c}/exe').endswith('/busy'))
    for number in range(2):
        os.kill(pid, signal.SIGUSR2)
        wait_until('a snapshot of what is recorded', lambda: os.path.exists(f'recorded.{number:04}.dot'))
        expect('whose it is', load(f'recorded.{number:04}.json')['pid'], pid)
    process.stdin.close()
    process.stdin = None
    done = place.finish(process)
    expect('status and messages', (done.status, done.err), (0, ''))
    for word, part in (('nonsense', 'not USR1'), ('9', 'not available'), ('99', 'not USR1')):
        done = counted(place, build(place, 'odd'), env={'HEAPLAPSE_SNAPSHOT_SIGNAL': word})
        expect('status', done.status, 0)
        contains('message', done.err, part)
    done = counted(place, './odd', env={'HEAPLAPSE_SNAPSHOT_SIGNAL': 'USR1'},
                   preexec_fn=lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN))
    contains('message', done.err, 'not available')


def test_start_off(place):
    """HEAPLAPSE_START=off and record --start=off: nothing is counted before heaplapse_start()"""
    with open('later.c', 'w') as file:
        file.write('''#include <heaplapse.h>
#include <stdlib.h>
static void *kept[3];
int main(void) {
	heaplapse_thread_name("main");
	HEAPLAPSE_SCOPE("a");
	kept[0] = malloc(1000);
	heaplapse_start();
	kept[1] = malloc(1000);
	heaplapse_stop();
	kept[2] = malloc(1000);
	return 0;
}
''')
    program = build(place, 'later', folder='.')
    counted(place, program, env={'HEAPLAPSE_START': 'off', 'HEAPLAPSE_STATS_JSON': 'a.json'})
    place.record(program, options=('-q', '--mode=tags', '--start=off', '--stats-json=b.json'))
    for name in ('a.json', 'b.json'):
        expect(name, scope_of(load(name), 'main', 'a')['self']['allocated_blocks'], 1)


def without_ids(report):
    """The scopes without their ids, which are renumbered."""
    return [[{key: value for key, value in scope.items() if key not in ('id', 'parent')} for scope in thread['scopes']]
            for thread in report['threads']]


def equal_pictures(png, bmp):
    """The BMP has the size of the PNG, complete rows, white corners, and something between."""
    with open(png, 'rb') as file:
        width, height = struct.unpack('>II', file.read(24)[16:])
    with open(bmp, 'rb') as file:
        data = file.read()
    expect('head', struct.unpack('<2sIIIIIIHHI', data[:34]), (b'BM', len(data), 0, 54, 40, width, height, 1, 24, 0))
    row = (3 * width + 3) // 4 * 4
    expect('bytes', len(data), 54 + row * height)
    pixels = [data[54 + row * y + 3 * x:][:3] for y in range(0, height, 3) for x in range(0, width, 3)]
    expect('the corner and what is drawn', (pixels[0], len(set(pixels)) > 5), (b'\xff' * 3, True))
    expect('shades of red', any(r > g + 20 and r > b + 20 for b, g, r in pixels), True)


def test_forms(place):
    """text, JSON, DOT and pictures; merged by pattern; same-named scopes in different places stay apart"""
    program = build(place, 'example', folder=EXAMPLES, source='tags.c')
    counted(place, program, env={'HEAPLAPSE_STATS_JSON': 'a.json'})
    again = json.loads(tags(place, '--json', 'a.json'))
    expect('json again', without_ids(again), without_ids(load('a.json')))
    text = tags(place, 'a.json')
    contains('text', text, 'load_textures', 'vertices', 'worker', 'a free is charged to the scope that frees')
    expect('small ones', 'worker' in tags(place, '--min-share', '5', 'a.json'), False)
    one = json.loads(tags(place, '--all-threads', '--json', 'a.json'))
    expect('one tree', [t['name'] for t in one['threads']], ['all threads'])
    expect('sums', one['all'], load('a.json')['all'])
    merged = json.loads(tags(place, '--merge-scopes', '/^(draw|load_.*)$/', '--json', 'a.json'))
    names = [s['name'] for t in merged['threads'] for s in t['scopes']]
    expect('merged', ('draw' in names, names.count('/^(draw|load_.*)$/'), 'vertices' in names), (False, 1, True))
    merged = json.loads(tags(place, '--merge-threads', '/main|worker/', '--json', 'a.json'))
    expect('merged threads', [(t['name'], t['threads']) for t in merged['threads']], [('/main|worker/', 2)])
    if not shutil.which('dot'):
        raise Skip('graphviz is not installed')
    for suffix, magic in (('svg', b'<?xml'), ('png', b'\x89PNG'), ('pdf', b'%PDF'), ('dot', b'digraph'),
                          ('gif', b'GIF8'), ('jpg', b'\xff\xd8\xff'), ('jpeg', b'\xff\xd8\xff'), ('svgz', b'\x1f\x8b'),
                          ('bmp', b'BM')):
        if suffix != 'bmp' and 'Use one of' in place.run('dot', '-T' + suffix, os.devnull).err:
            contains(f'a graphviz without {suffix}', tags(place, '-o', 'a.' + suffix, 'a.json', status=3), 'a.' + suffix, '.svg')
            continue
        tags(place, '-o', 'a.' + suffix, 'a.json')
        with open('a.' + suffix, 'rb') as file:
            expect(suffix, file.read(len(magic)), magic)
    equal_pictures('a.png', 'a.bmp')
    with open('twice.json', 'w') as file:
        report = load('a.json')
        scopes = report['threads'][0]['scopes']
        scopes.append({**scopes[-1], 'id': 99, 'parent': scopes[0]['id']})
        json.dump(report, file)
    expect('nodes named vertices', tags(place, '--dot', 'twice.json').count('label="vertices'), 2)
    err = tags(place, '-o', 'nodir/b.svg', 'a.json', status=3)
    contains('no folder', err, 'nodir/b.svg cannot be written: No such file or directory')
    expect('of graphviz nothing', 'graphviz' in err, False)
    os.mkdir('none')
    for name in ('b.svg', 'b.bmp'):
        done = place.run(place.binary, 'tags', '-o', name, 'a.json', env={**os.environ, 'PATH': os.path.abspath('none')})
        expect('without graphviz', done.status, 3)
        contains('message', done.err, name, 'graphviz', '.dot')


def test_bad_input(place):
    """an unknown PID, one without tags, one of another user, a truncated or wrong snapshot: one error message"""
    program = build(place, 'odd')
    counted(place, program, env={'HEAPLAPSE_STATS_JSON': 'a.json'})
    with open('a.json') as file:
        text = file.read()
    report = json.loads(text)
    bad = {'cut': text[:len(text) // 2], 'empty': '', 'list': '[]', 'other': '{"a": 1}', 'noise': '\x7fELF'}
    for change in ({'threads': 5}, {'threads': [5]}, {'threads': [{'name': 'x', 'scopes': []}]}):
        bad['broken' + str(len(bad))] = json.dumps({**report, **change})
    scopes = report['threads'][0]['scopes']
    for key, value in (('parent', 77777), ('parent', 'x'), ('self', 1), ('name', 1), ('id', scopes[0]['id'])):
        wrong = json.loads(text)
        wrong['threads'][0]['scopes'][1][key] = value
        bad['wrong' + str(len(bad))] = json.dumps(wrong)
    missing = json.loads(text)
    missing['threads'][0]['failed_pushes'] = 3
    with open('missing.json', 'w') as file:
        json.dump(missing, file)
    expect('something missing', [place.run(place.binary, 'tags', *strict, name).status for strict in ([], ['--strict'])
                                 for name in ('a.json', 'missing.json')], [0, 0, 0, 4])
    bad['later'] = json.dumps({**report, 'heaplapse_tags': 2})
    for name, content in bad.items():
        with open(name + '.json', 'w') as file:
            file.write(content)
        error = tags(place, name + '.json', status=3)
        expect(f'{name}: lines of {error!r}', error.count('\n'), 1)
    numbers = [(['pid'], 'pid'), (['rss_bytes'], 'rss_bytes'), (['allocator', 'used_bytes'], 'used_bytes'),
               (['threads', 0, 'tid'], 'tid'), (['threads', 0, 'unbalanced_pops'], 'unbalanced_pops'),
               (['threads', 0, 'disabled', 'freed_blocks'], 'freed_blocks'), (['threads', 0, 'scopes', 1, 'id'], 'id'), (['threads', 0, 'scopes', 1, 'parent'], 'parent'),
               (['threads', 0, 'scopes', 1, 'entered'], 'entered'), (['threads', 0, 'scopes', 1, 'self', 'allocated_bytes'], 'allocated_bytes'),
               (['threads', 0, 'scopes', 1, 'calls', 'malloc'], 'malloc')]
    for path, field in numbers:
        for value in ('1e30', '-1', '"5"', '18446744073709551615', '99999999999999999999999', '1.5', 'true', '[]', '{}'):
            wrong = json.loads(text)
            at = wrong
            for key in path[:-1]:
                at = at[key]
            expect(f'{path} is there', type(at[path[-1]]), int)
            at[path[-1]] = 'PLACE'
            with open('number.json', 'w') as file:
                file.write(json.dumps(wrong).replace('"PLACE"', value))
            error = tags(place, 'number.json', status=3)
            expect(f'lines of {error!r}', error.count('\n'), 1)
            contains(f'{path} = {value}', error, 'number.json', f'"{field}"')
    with open('diff.json', 'w') as file:
        file.write(tags(place, '--diff', '--json', 'a.json', 'missing.json'))
    back = json.loads(tags(place, '--diff', '--json', 'missing.json', 'a.json'))
    expect('a difference may be below zero', (back['difference'], back['threads'][0]['failed_pushes']), (True, -3))
    with open('back.json', 'w') as file:
        json.dump(back, file)
    expect('and is read again', json.loads(tags(place, '--json', 'back.json'))['threads'][0]['failed_pushes'], -3)
    for name in ('x.xyz', 'x', 'x.json.gz', '.svg'):
        contains(f'-o {name}', tags(place, '-o', name, 'a.json', status=2), name, '.txt, .json, .dot, .svg, .png or .pdf')
        expect('nothing is written', os.path.exists(name), False)
    tags(place, '--json', '-o', 'any.xyz', 'a.json')
    expect('unless it is said', load('any.xyz')['all'], report['all'])
    contains('cut', tags(place, 'cut.json', status=3), 'is truncated')
    contains('later', tags(place, 'later.json', status=3), 'later version')
    contains('none', tags(place, 'nofile.json', status=3), 'nofile.json')
    contains('folder', tags(place, '/', status=3), 'directory')
    contains('pid', tags(place, '4194999', status=3), 'no process 4194999')
    contains('pid', tags(place, '99999999999999999999', status=3), 'no process')
    contains('no tags', tags(place, os.getpid(), status=3), 'counts no tags', 'record --mode=tags')
    for args in ((), ('--diff', 'a.json'), ('--min-share', 'x', 'a.json'), ('--merge-scopes', '/(/', 'a.json')):
        contains('usage', tags(place, *args, status=2), 'heaplapse tags')
    process = place.start(place.record_command(build(place, 'busy')), stdin=subprocess.PIPE)
    process.stdout.readline()
    pid = subprocess.run(['pgrep', '-P', str(process.pid), 'busy'], capture_output=True, text=True).stdout.split()
    if pid:
        contains('another mode', tags(place, pid[0], status=3), 'another mode')
    process.stdin.close()
    process.stdin = None
    place.finish(process)


def test_other_user(place):
    """a process that may not be inspected"""
    if os.getuid() != 0:
        contains('pid 1', tags(place, 1, status=3), 'cannot inspect process')
        return
    program = os.path.abspath(build(place, 'busy'))
    process = place.start([program], stdin=subprocess.PIPE, env=place.bare_env(HEAPLAPSE_MODE='tags'))
    process.stdout.readline()
    binary = shutil.copy(place.binary, '/tmp/heaplapse-tags-%d' % os.getpid())
    try:
        done = place.run(binary, 'tags', process.pid, preexec_fn=lambda: os.setuid(65534))
        expect('status', done.status, 3)
        contains('message', done.err, 'another user')
    finally:
        os.unlink(binary)
        process.stdin.close()
        process.stdin = None
        place.finish(process)


def test_examples(place):
    """examples/tags.c and tags.cpp, alone and counted"""
    for name, compiler, alone, words in (('tags.c', 'gcc', '', ['draw: 200 blocks, all freed: yes']),
                                         ('tags.cpp', 'g++', 'no tags are counted\n', ['parse', 'index::add', 'level 3'])):
        program = build(place, 'example', compiler=compiler, folder=EXAMPLES, source=name)
        done = place.run(program)
        expect('alone', (done.status, done.out, done.err), (0, alone, ''))
        done = counted(place, program)
        expect('counted', (done.status, done.err), (0, ''))
        contains(name, done.out, *words)


def test_default_place(place):
    """record --mode=tags alone: the counts are in a file, and the summary says how to view them"""
    program = build(place, 'example', folder=EXAMPLES, source='tags.c')
    done = place.record(program, options=('--summary', '--mode=tags'))
    expect('status', done.status, 0)
    name = glob.glob('heaplapse.tags.*.json')[0]
    contains('next step', done.err, 'tags ' + name)
    if 'peak' in done.err:
        raise Failure('a trace without events has no peak: ' + done.err)
    contains('scopes', tags(place, name), 'render', 'draw', 'vertices')
    os.remove(name)
    place.record('sh', '-c', program + '; /bin/ls >/dev/null; true', options=('-q', '--mode=tags'))
    held = [file for file in glob.glob('heaplapse.tags.*.json') if 'vertices' in tags(place, file)]
    expect('of three programs one has such scopes, and keeps them', len(held), 1)


def test_output(place):
    """-o names the file of the counts, whatever its suffix, and no trace is written; --stats-json takes precedence"""
    program = build(place, 'example', folder=EXAMPLES, source='tags.c')
    before = set(os.listdir())
    done = place.record(program, options=('--summary', '--mode=tags', '-o', 'x.hlt'))
    expect('status', done.status, 0)
    contains('next step', done.err, 'tags x.hlt')
    expect('files', set(os.listdir()) - before, {'x.hlt'})
    contains('scopes', tags(place, 'x.hlt'), 'render', 'draw', 'vertices')
    for command in (['report', 'x.hlt'], ['info', 'x.hlt'], ['export', '-f', 'csv', 'x.hlt']):
        refused = place.run(place.binary, *command)
        expect('status', refused.status, 3)
        contains('what reads traces says', refused.err, 'heaplapse tags FILE')
    refused = place.record(program, options=('--mode=tags', '-o', 'x.hlt'))
    expect('a name that is taken', refused.status, 125)
    contains('a name that is taken', refused.err, 'x.hlt exists', '-f')
    place.record(program, options=('-q', '--mode=tags', '-f', '-o', 'x.hlt', '--stats-json=y.json'))
    expect('files', set(os.listdir()) - before, {'x.hlt', 'y.json'})
    os.rename('y.json', 'y.hlt')
    contains('scopes', tags(place, 'y.hlt'), 'render')
    place.record('sh', '-c', program + '; true', options=('-q', '--mode=tags', '-o', 'z.%e.json'))
    expect('the program itself has the name', 'vertices' in tags(place, 'z.sh.json'), False)
    contains('its child has a pid more', tags(place, *glob.glob('z.sh.[0-9]*.json')), 'vertices')
    place.bare(program, env={'HEAPLAPSE_MODE': 'tags', 'HEAPLAPSE_OUTPUT': 'bare.%%.%p'})
    contains('bare', tags(place, *glob.glob('bare.%.[0-9]*')), 'vertices')
    place.record(program, options=('-q', '-o', 'trace'))
    contains('a trace without a suffix', tags(place, 'trace'), 'render')


def test_of_trace(place):
    """the scopes of a trace: requested bytes, charged to the owner; the number of entries is not known"""
    program = build(place, 'example', folder=EXAMPLES, source='tags.c')
    expect('status', place.record(program, options=('-q', '-f', '-o', 'x.hlt')).status, 0)
    text = tags(place, 'x.hlt')
    contains('head', text, 'as recorded', 'requested bytes')
    rows = {line.split()[-1]: line for line in text.splitlines() if line.strip()}
    contains('draw/vertices', rows['vertices'], '292.9 KiB', '200', ' - ')
    contains('JSON', tags(place, '--json', 'x.hlt'), '"entered":null')
    counted(place, program, env={'HEAPLAPSE_STATS_JSON': 'given.json'})
    contains('not to be added', tags(place, 'given.json', 'x.hlt', status=2), 'count differently')
    for mode in ('count', 'cull'):
        place.record(program, options=('-q', '-f', '--mode=' + mode, '-o', 'x.hlt'))
        contains('sums only', tags(place, 'x.hlt', status=3), 'needs every event')
    expect('no scopes', place.record('true', options=('-q', '-f', '-o', 'x.hlt')).status, 0)
    contains('no scopes', tags(place, 'x.hlt', status=3), 'has no tags')


main(globals())
