#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""steer_test - a recording is steered from outside: ctl, its socket, signals, mode changes under load."""
import json
import os
import random
import signal
import socket
import struct
import threading
import time

from transparency import NOBODY, Failure, Skip, children_of, compiled, contains, expect, expect_lossless, main, need_other_user, state_of, wait_until

MAGIC, VERSION = 0x6c746368, 2
STATUS, PAUSE, RESUME, STOP, MODE, MARK, SNAPSHOT = range(7)
TRACE, CULL, COUNT, SAMPLE = range(4)


def request(pid, verb, mode=0, sample=0, text=b''):
    return struct.pack('<4I2Q1024s', MAGIC, VERSION, verb, mode, pid, sample, text)


def name_of(pid):
    with open(f'/proc/{pid}/maps', encoding='utf-8') as file:
        line = next(line for line in file if '/memfd:heaplapse' in line)
    return f'\0heaplapse-ctl-{line.split()[4]}-0'


def connect(name):
    link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    link.settimeout(20)
    while True:
        try:
            link.connect(name)
            return link
        except BlockingIOError:
            time.sleep(0.005)


def send_request(name, *args, **kwargs):
    """(error, mode, paused) of the answer."""
    with connect(name) as link:
        link.send(request(*args, **kwargs))
        answer = link.recv(16384)
    expect('answer', len(answer), 8288)
    _, _, error, mode, paused = struct.unpack_from('<IIiIB', answer)
    return error, mode, paused


def start(place, how='load', options=('-q',), bare=False, **popen):
    """(the process that was started, the pid of the process that works)"""
    command = [place.program('steered'), how]
    if bare:
        popen['env'] = place.bare_env()
    else:
        command = place.record_command(*command, options=options)
    process = place.start(command, stdin=-1, **popen)
    return process, int(process.stdout.readline().split()[1])


def ctl(place, pid, *words, status=0):
    done = place.run(place.binary, 'ctl', pid, *words)
    expect(f'status of ctl {words}: {done.err}', done.status, status)
    return done.err if status else done.out


def status_of(place, pid):
    return json.loads(ctl(place, pid, 'status', '--json'))


def finish(place, process):
    """(bytes, blocks) that the program has kept"""
    done = place.finish(process, '')
    expect('status', done.status, 0)
    return tuple(map(int, done.out.split()))


def check_exact(place, truth, group='call'):
    """Checks the live blocks of the program itself; libc keeps the memory of a thread or two, by calloc."""
    name = place.traces()[0]
    info = place.infos(1)[name]
    rows = json.loads(place.heaplapse.run('report', '--leaks', '--group=' + group, '--no-default-suppressions', '--json', name))
    own = [row for row in rows['rows'] if not row['name'].startswith('calloc')]
    expect('live', (sum(row['bytes'] for row in own), sum(row['blocks'] for row in own)), truth)
    totals = info['totals']
    for name in ('unknown_frees', 'implicit_frees', 'dropped_events', 'late_events'):
        expect(name, totals[name], 0)
    return info


def test_verbs(place):
    """every verb does what it says, and status reports it"""
    process, pid = start(place, 'idle')
    wait_until('all is taken', lambda: status_of(place, pid)['live_blocks'] >= 1000)
    now = status_of(place, pid)
    expect('mode', (now['mode'], now['paused'], now['stopped']), ('trace', False, False))
    wait_until('a file', lambda: status_of(place, pid)['file'] is not None)
    expect('file', status_of(place, pid)['file'], place.traces()[0])
    contains('status', ctl(place, pid, 'status'), 'mode        trace', 'live  ', place.traces()[0])
    expect('paused', json.loads(ctl(place, pid, 'pause', '--json'))['paused'], True)
    contains('status', ctl(place, pid, 'status'), 'only frees')
    expect('resumed', json.loads(ctl(place, pid, 'resume', '--json'))['paused'], False)
    expect('sampled', json.loads(ctl(place, pid, 'mode=sample=64K', '--json'))['sample_bytes'], 65536)
    expect('back', json.loads(ctl(place, pid, 'mode=trace', '--json'))['mode'], 'trace')
    ctl(place, pid, 'mark', 'a label')
    ctl(place, pid, 'snapshot')
    ctl(place, pid, 'snapshot', 'named\n\x1b')
    truth = finish(place, process)
    info = check_exact(place, truth)
    expect('modes', [(c['mode'], c['paused']) for c in info['mode_changes']],
           [('trace', True), ('trace', False), ('sample', False), ('trace', False)])
    extras = [line for line in place.dump(place.traces()[0]) if line.startswith('extra')]
    kinds = [line.split()[3] for line in extras]
    expect('snapshots and marks', (kinds.count('snapshot'), kinds.count('mark')), (2, 1))
    contains('extras', '\n'.join(extras), '"a label"', 'named')


def test_reaches(place):
    """a fork child, an exec'ed image and a bare LD_PRELOAD are found by their pids"""
    process, pid = start(place, 'fork')
    expect('not the parent', pid in (process.pid, *children_of(process.pid)), False)
    wait_until('events', lambda: status_of(place, pid)['events'] > 5000)
    ctl(place, pid, 'mark', 'in the child')
    finish(place, process)
    infos = place.infos(2)
    name = next(name for name, info in infos.items() if info['pid'] == pid)
    contains('the mark', '\n'.join(place.dump(name)), '"in the child"')
    process = place.start(place.record_command('sh', '-c', f'exec {place.program("steered")} idle'), stdin=-1)
    pid = int(process.stdout.readline().split()[1])
    ctl(place, pid, 'mark', 'executed')
    finish(place, process)
    process, pid = start(place, 'idle', bare=True)
    ctl(place, pid, 'mark', 'bare')
    expect('mode', status_of(place, pid)['mode'], 'trace')
    finish(place, process)


def test_start_off(place):
    """resume starts a recording with --start=off, stop ends it; earlier blocks do not count as unknown"""
    process, pid = start(place, options=('-q', '--start=off'))
    expect('stopped', status_of(place, pid)['stopped'], True)
    time.sleep(0.1)
    expect('events', status_of(place, pid)['events'], 0)
    ctl(place, pid, 'resume')
    wait_until('it records', lambda: status_of(place, pid)['events'] > 1000)
    expect('stopped', status_of(place, pid)['stopped'], False)
    ctl(place, pid, 'stop')
    wait_until('it has stopped', lambda: status_of(place, pid)['stopped'])
    time.sleep(0.1)  # calls in progress are completed as soon as their threads are scheduled
    before = status_of(place, pid)['events']
    time.sleep(0.1)
    expect('events after', status_of(place, pid)['events'], before)
    finish(place, process)
    info = place.info()
    expect('unknown frees', info['totals']['unknown_frees'], 0)
    if not info['totals']['unrecorded_frees']:
        raise Failure('no free of a block from before')


def test_pause(place):
    """paused: no new blocks, and frees of known blocks are recorded"""
    process, pid = start(place)
    wait_until('events', lambda: status_of(place, pid)['events'] > 10000)
    ctl(place, pid, 'pause')
    wait_until('all but the kept have gone', lambda: status_of(place, pid)['live_blocks'] <= 1004)
    truth = finish(place, process)
    check_exact(place, truth)


def change_often(pid, times, seed, *more):
    name, rng = name_of(pid), random.Random(seed)
    for i in range(times):
        verb = rng.choice(((PAUSE,), (RESUME,), (MODE, TRACE), (MODE, SAMPLE, 4096), (MODE, SAMPLE, 65536), *more))
        error, mode, paused = send_request(name, pid, *verb)
        expect(f'change {i}', error, 0)
        if verb[0] == MODE:
            expect('mode', mode, verb[1])
        if rng.randrange(8) == 0:
            time.sleep(0.01)


def test_thousand_changes(place):
    """the mode is changed a thousand times under the load of four threads: the recorded blocks are exact at the end"""
    process, pid = start(place)
    wait_until('all is taken', lambda: status_of(place, pid)['live_blocks'] >= 1000)
    change_often(pid, 1000, 1)
    truth = finish(place, process)
    info = check_exact(place, truth)
    expect('complete', info['complete'], False)        # it was paused
    if place.heaplapse.run('report', '--leaks', place.traces()[0]).startswith('leaked'):
        raise Failure('what a pause has left out is not known to be freed')
    if not (100 < len(info['mode_changes']) <= 1000 and info['estimate']['samples']):
        raise Failure(f'{len(info["mode_changes"])} changes, estimate {info["estimate"]}')


def test_thousand_changes_with_sums(place):
    """the same with modes that keep sums only"""
    process, pid = start(place)
    wait_until('all is taken', lambda: status_of(place, pid)['live_blocks'] >= 1000)
    change_often(pid, 1000, 2, (MODE, COUNT), (MODE, CULL))
    info = check_exact(place, finish(place, process), 'stack')
    if not 100 < len(info['mode_changes']) <= 1000 or not info['totals']['withheld_blocks']:
        raise Failure(f'{len(info["mode_changes"])} changes, totals {info["totals"]}')


def test_other_modes(place):
    """a start uses the mode of the run; counters by scope are for the whole run"""
    process, pid = start(place, options=('-q', '--start=off', '--mode=count'))
    ctl(place, pid, 'resume')
    wait_until('events', lambda: status_of(place, pid)['events'] > 1000)
    finish(place, process)
    info = place.info()
    expect('modes', {change['mode'] for change in info['mode_changes']}, {'count'})
    for name in place.traces():
        os.remove(name)
    process, pid = start(place, 'idle', options=('-q', '--mode=tags', '--stats-json=x.json'))
    for verb in ('pause', 'stop', 'mode=trace'):
        wait_until('a region', lambda: place.run(place.binary, 'ctl', pid, 'status').status in (0, 3))
        contains(verb, ctl(place, pid, verb, status=3), 'mode tags')
    finish(place, process)


def test_samples_and_sums(place):
    """samples first, then sums: the tree is present, without an invented margin"""
    process, pid = start(place, options=('-q', '--mode=sample=4K'))
    wait_until('events', lambda: status_of(place, pid)['events'] > 2000)
    ctl(place, pid, 'mode=count')
    finish(place, process)
    expect('margin', place.info()['estimate']['live_bytes_end_margin'], None)
    contains('tree', place.heaplapse.run('report', '--peak', place.traces()[0]), 'run_thread', 'of unknown accuracy')
    expect('margin of a report', place.heaplapse.report(place.traces()[0], '--leaks')['total_bytes_margin'], None)
    contains('refusal', place.run(place.binary, 'report', '--threads', place.traces()[0]).err,
             '(mode count or cull, for part of the run)', 'record with --mode=trace')


REUSE = r'''
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
enum { N = 300000 };
static _Atomic(void *) handed;
static void *take(void *arg)
{
	for (int i = 0; i < N; i++) {
		void *p;
		while (!(p = atomic_exchange(&handed, NULL)))
			sched_yield(); /* the other may be waiting for this processor */
		free(p);
	}
	return arg;
}
int main(void)
{
	pthread_t taker;
	void *volatile p;
	usleep(300000);    /* from here on only the frees of samples are told */
	for (int i = 0; i < N; i++) {
		p = malloc(512);
		free(p);
	}
	pthread_create(&taker, NULL, take, NULL);
	for (int i = 0; i < N; i++) {
		p = malloc(256);
		while (atomic_load(&handed))
			sched_yield();
		atomic_store(&handed, p);
	}
	pthread_join(taker, NULL);
	return 0;
}
'''


def test_samples_at_one_address(place):
    """where samples are allocated and freed at the same address repeatedly, each free of one is sent, by any thread, and hardly any other"""
    with open('reuse.c', 'w', encoding='ascii') as file:
        file.write(REUSE)
    compiled('gcc', '-O1', '-fno-builtin', '-pthread', '-o', 'reuse', 'reuse.c')
    expect('status', place.record('./reuse', options=('-q', '-o', 'x.hlt', '--mode=sample=8K')).status, 0)
    info = place.info()
    totals, samples = info['totals'], info['estimate']['samples']
    expect('implicit and unknown frees', (totals['implicit_frees'], totals['unknown_frees']), (0, 0))
    # libc keeps the thread's dtv, which may be a sample too: only the program's own sizes count.
    own = [event for event in place.heaplapse.dump('x.hlt') if event.size in (256, 512)]
    expect('own samples alive', sum(1 if event.op == 'alloc' else -1 for event in own), 0)
    if not 20000 < samples < 40000:
        raise Failure(f'{samples} samples: of 230 MB one in 8 KiB should be about 28,000')
    if totals['unrecorded_frees'] > samples:
        raise Failure(f'{totals["unrecorded_frees"]} frees told for nothing, with {samples} samples')


KILOBYTES = '''
#include <stdlib.h>
int main(void)
{
	for (int i = 0; i < 1000; i++)
		free(malloc(1000));
	return 0;
}
'''


def test_samples_of_everything(place):
    """where each block is a sample nothing is estimated, and info says so"""
    with open('kilobytes.c', 'w', encoding='ascii') as file:
        file.write(KILOBYTES)
    compiled('gcc', '-O1', '-fno-builtin', '-o', 'kilobytes', 'kilobytes.c')
    expect('status', place.record('./kilobytes', options=('-q', '-o', 'x.hlt', '--mode=sample=1')).status, 0)
    totals = place.info()['totals']
    expect('all are there', (totals['allocations'], totals['bytes_allocated']), (1000, 1000000))
    contains('what they stand for', place.run(place.binary, 'info', 'x.hlt').out, 'none: each sample represents only itself')


def test_samples_from_the_start(place):
    """in --mode=sample every sampled and freed block is known: live is the kept part, estimated"""
    process, pid = start(place, options=('-q', '--mode=sample=1K'))
    wait_until('events', lambda: status_of(place, pid)['events'] > 20000)
    bytes_kept, _ = finish(place, process)
    info = place.info()
    for name in ('unknown_frees', 'implicit_frees', 'dropped_events'):
        expect(name, info['totals'][name], 0)
    expect('mode', info['mode'], 'sample')
    live, margin = info['totals']['live_bytes_end'], info['estimate']['live_bytes_end_margin']
    # six sigmas: this is not a test of the statistics
    if abs(live - bytes_kept) > 3 * margin:
        raise Failure(f'live {live} +- {margin}, should be {bytes_kept}')


def test_refusals(place):
    """an impossible request is one error message, and nothing happens"""
    process, pid = start(place, 'idle')
    contains('no such process', ctl(place, 4194000, 'status', status=3), 'there is no process 4194000')
    contains('not recorded', ctl(place, os.getpid(), 'pause', status=3), 'is not recorded')
    contains('no verb', ctl(place, pid, 'fly', status=2), 'unknown verb "fly"')
    contains('no mode', ctl(place, pid, 'mode=fly', status=2), 'mode=fly')
    contains('no size', ctl(place, pid, 'mode=sample=0', status=2), 'from 1 to 4G')
    contains('no label', ctl(place, pid, 'mark', status=2), 'needs a label')
    contains('a long label', ctl(place, pid, 'mark', 'x' * 1024, status=2), 'at most')
    contains('no pid', ctl(place, 'me', 'status', status=2), 'the first operand must be a pid')
    contains('no verb', place.run(place.binary, 'ctl', pid).err, 'which verb?')
    contains('nothing', place.run(place.binary, 'ctl').err, 'which process')
    expect('mode', status_of(place, pid)['mode'], 'trace')
    finish(place, process)
    contains('over', ctl(place, pid, 'status', status=3), 'there is no process')


def test_another_user(place):
    """another user's recording cannot be steered, whatever the method"""
    need_other_user(place, 0o755)
    process, pid = start(place, 'idle')
    done = place.run(*NOBODY, place.binary, 'ctl', pid, 'pause')
    expect('status', done.status, 3)
    contains('why', done.err, 'another user')
    name = name_of(pid)
    done = place.run(*NOBODY, '/usr/bin/python3', '-c', f'''
import socket
link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
link.settimeout(10)
link.connect({name!r})
try:
    link.send(bytes.fromhex({request(pid, PAUSE).hex()!r}))
    print(len(link.recv(9000)))
except ConnectionError:
    print(0)
''')
    expect(f'an answer ({done.err})', done.out, '0\n')
    expect('paused', status_of(place, pid)['paused'], False)
    finish(place, process)


def test_garbage(place):
    """garbage, silence and many connections on the socket: the program is still recorded, others are served"""
    process, pid = start(place)
    name, rng = name_of(pid), random.Random(2)
    silent = [connect(name) for _ in range(50)]
    for length in (1, 15, 40, 1063, 1064, 1065, 70000):
        with connect(name) as link:
            link.send(rng.randbytes(length))
            expect('answer to garbage', link.recv(9000), b'')
    for verb, mode, sample in ((99, 0, 0), (MODE, 250, 0), (MODE, SAMPLE, 1 << 60)):
        expect('error', send_request(name, pid, verb, mode, sample)[0], -22)
    expect('nobody of this pid', send_request(name, 1, STATUS)[0], -3)
    expect('a text without end', send_request(name, pid, MARK, 0, 0, b'\xff' * 1024)[0], 0)
    failures = []

    def crowd():
        try:
            for _ in range(5):
                expect('error', send_request(name, pid, STATUS)[0], 0)
        except (Failure, OSError) as failure:
            failures.append(failure)

    threads = [threading.Thread(target=crowd) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect('failures', failures, [])
    for link in silent:
        link.close()
    truth = finish(place, process)
    check_exact(place, truth)


def test_stopped_collector(place):
    """a stopped collector is not waited for forever, and does not execute a request that was given up"""
    process, pid = start(place, 'idle')
    collector = status_of(place, pid)['collector_pid']
    os.kill(collector, signal.SIGSTOP)
    wait_until('it is stopped', lambda: state_of(collector) == 'T')
    try:
        contains('why', ctl(place, pid, 'pause', status=3), 'does not answer')
    finally:
        os.kill(collector, signal.SIGCONT)
    expect('paused after all', status_of(place, pid)['paused'], False)
    finish(place, process)
    expect_lossless(place.info())


def toggled(place, how):
    done = place.record(place.program('toggled'), how, options=(
        '--toggle-signal=USR1', '--snapshot-signal', 'SIGUSR2'))
    expect(f'status ({done.err})', done.status, 0)
    sizes = [event.size for event in place.heaplapse.dump(place.traces()[0]) if event.op == 'alloc']
    return done, [sizes.count(size) for size in (3001, 3002, 3003)]


def test_signals(place):
    """USR1 pauses and resumes, USR2 takes a snapshot; the program sees the default action"""
    done, counts = toggled(place, 'default')
    expect('what it saw', done.out.splitlines(), ['before default flags 0', 'after default flags 0', 'calls 0'])
    expect('blocks recorded', counts, [10, 0, 10])
    contains('dump', '\n'.join(place.dump(place.traces()[0])), ' snapshot ')


def test_two_toggles(place):
    """several signals pause and resume, by several options, by commas, and by the variable; an option replaces the variable"""
    for options, env in ((('--toggle-signal=USR1', '--toggle-signal=USR2'), {}), (('--toggle-signal=SIGUSR2,10',), {}),
                         ((), {'HEAPLAPSE_TOGGLE_SIGNAL': 'USR1,USR2'}),
                         (('--toggle-signal=USR1', '--toggle-signal=USR2'), {'HEAPLAPSE_TOGGLE_SIGNAL': 'HUP'})):
        done = place.record(place.program('toggled'), 'two', options=('-f', '-o', 'two.hlt', *options), env={**os.environ, **env})
        expect(f'status with {options} ({done.err})', (done.status, done.err), (0, ''))
        sizes = [event.size for event in place.heaplapse.dump('two.hlt') if event.op == 'alloc']
        expect(f'blocks recorded with {options} {env}', [sizes.count(size) for size in (3001, 3002, 3003)], [10, 0, 10])
    done = place.record('sh', '-c', 'kill -USR2 $$', options=('-q', '--toggle-signal=USR1'), env={**os.environ, 'HEAPLAPSE_TOGGLE_SIGNAL': 'USR2'})
    expect('a signal that is replaced kills', done.status, -signal.SIGUSR2)


def counts_by_size(place, trace):
    """{size: (allocations, frees)} of the program's own blocks"""
    counts = {}
    for event in place.heaplapse.dump(trace):
        if 3000 < event.size < 3010:
            made, gone = counts.get(event.size, (0, 0))
            counts[event.size] = (made + (event.op == 'alloc'), gone + (event.op != 'alloc'))
    return counts


def test_api_pause(place):
    """heaplapse_pause(): from the call on no allocation is recorded, every free of a known block is, in a fork child too"""
    for mode in ('trace', 'cull', 'sample=1'):
        place.record(place.program('paused'), 'run', options=('-q', '-f', f'--mode={mode}', '--lifetime=1us', '-o', 'p%n.hlt'))
        infos = place.infos(2, 'p*.hlt')
        parent, child = sorted(infos, key=lambda name: infos[name]['pid'])
        if mode != 'cull':
            expect(f'{mode}: blocks', counts_by_size(place, parent), {3001: (10, 10), 3003: (10, 0)})
            expect(f'{mode}: of the child', counts_by_size(place, child), {3005: (5, 0)})
        for info in infos.values():
            expect(f'{mode}: frees that are unknown, or implied', (info['totals']['unknown_frees'], info['totals']['implicit_frees']), (0, 0))
        expect(f'{mode}: frees of blocks that were left out', infos[parent]['totals']['unrecorded_frees'] >= 10, True)
        contains('info', place.run(place.binary, 'info', parent).out, 'paused for part of the run')
        os.unlink(parent)
        os.unlink(child)
    done = place.run(place.program('paused'), 'run')
    expect('not recorded', (done.status, done.err), (0, ''))


def test_api_pause_and_ctl(place):
    """ctl status shows heaplapse_pause(), and ctl resume ends it"""
    process = place.start(place.record_command(place.program('paused'), 'ctl', options=('-q', '-o', 'c.hlt')), stdin=-1)
    pid = int(process.stdout.readline().split()[1])
    wait_until('paused', lambda: status_of(place, pid)['paused'])
    ctl(place, pid, 'resume')
    wait_until('resumed', lambda: not status_of(place, pid)['paused'])
    expect('status', place.finish(process, 'on\n').status, 0)
    found = counts_by_size(place, 'c.hlt')
    expect('blocks', (found[3003], 3002 in found), ((10, 0), True))


def test_old_requests(place):
    """a ctl resume from before heaplapse_stop() or heaplapse_pause() does not undo it"""
    process = place.start(place.record_command(place.program('paused'), 'late', options=('-q', '-o', 'l.hlt')), stdin=-1)
    ctl(place, process.stdout.readline().split()[1], 'resume')
    expect('status', place.finish(process, 'on\n').status, 0)
    expect('blocks', counts_by_size(place, 'l.hlt'), {3003: (10, 0)})


def snapshot_origins(place, trace):
    log = json.loads(place.run(place.binary, 'log', '--json', trace).out)['snapshots']
    return [(s['cause'], s['label']) for s in log if s['cause'] not in ('churn', 'end')]


def test_who_asked(place):
    """the log and the report say whether ctl, a signal or the program requested a snapshot"""
    for mode in ('trace', 'cull', 'count', 'sample'):
        trace = f'who.{mode}.hlt'
        process, pid = start(place, 'idle', options=('-q', f'--mode={mode}', '-o', trace, '--snapshot-signal=USR2'))
        wait_until('all is taken', lambda: status_of(place, pid)['file'] is not None)
        ctl(place, pid, 'snapshot', 'now')
        os.kill(pid, signal.SIGUSR2)
        wait_until('the signal', lambda: ('signal', '') in snapshot_origins(place, trace))
        finish(place, process)
        expect(f'who asked in mode {mode}', snapshot_origins(place, trace), [('ctl', 'now'), ('signal', '')])
        contains('report', place.run(place.binary, 'report', '--snapshots', trace).out, 'now (ctl): live', ' (signal): live')


def test_own_pids(place):
    """the pid of record, and of the collector that it started, stands for the program; else ctl says which is needed"""
    process, pid = start(place, 'idle')
    others = [child for child in children_of(process.pid) if child != pid]
    expect('collectors', len(others), 1)
    for own in (process.pid, others[0]):
        expect(f'whose status {own} is', status_of(place, own)['pid'], pid)
        ctl(place, own, 'mark', f'by {own}')
    finish(place, process)
    text = '\n'.join(place.dump(place.traces()[0]))
    contains('marks', text, f'by {process.pid}', f'by {others[0]}')
    process, pid = start(place, 'idle', bare=True)
    collector = status_of(place, pid)['collector_pid']
    contains('alone', ctl(place, collector, 'status', status=3), f'process {collector} is heaplapse, not a recorded program', "the program's pid")
    finish(place, process)


def test_own_handler(place):
    """the program's own handler is called normally, and a message says that the signal is taken"""
    done, counts = toggled(place, 'handler')
    expect('what it saw', done.out.splitlines(),
           ['before default flags 0', 'signal default', 'after mine flags 268435456', 'calls 2'])
    expect('blocks recorded', counts, [10, 10, 10])
    expect('lines', done.err.count('is handled by the program'), 1)


def test_own_ignore(place):
    """the same for a signal that the program ignores"""
    done, counts = toggled(place, 'ignore')
    expect('what it saw', done.out.splitlines(),
           ['before default flags 0', 'sigset default', 'after ignore flags 0', 'calls 0'])
    expect('blocks recorded', counts, [10, 10, 10])


def test_bad_signals(place):
    """signals that a program needs are refused"""
    for value in ('KILL', 'SEGV', 'CHLD', 'FLY', '0', '65', '', 'USR1,', ',USR1', 'USR1,KILL', 'USR1 USR2'):
        done = place.record('true', options=(f'--toggle-signal={value}',))
        expect(f'status of {value}', done.status, 125)
        contains('why', done.err, '--toggle-signal', 'such as USR1')
    done = place.record('true', options=('--toggle-signal=USR1', '--snapshot-signal=USR1'))
    expect('status of one signal for both', done.status, 125)
    contains('why', done.err, 'different from the signal of the other option')
    done = place.record('true', options=('--snapshot-signal=USR2', '--toggle-signal=USR1', '--toggle-signal=USR2'))
    contains('why of the second toggle', done.err, 'different from the signal of the other option')
    contains('a mode', place.record('true', options=('--mode=sample=x',)).err, 'sample=BYTES')


if __name__ == '__main__':
    main(globals())
