#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""rotate_test - ctl PID rotate: the files of a recording together have every event, under load, in all modes, and
whatever goes wrong."""
import json
import os
import re
import signal
import subprocess
import threading
import time

from transparency import Failure, Skip, contains, expect, main, wait_until

PLAIN = ('-q', '-o', 'x.hlt')


def start(place, options=PLAIN, blocks=2000, pause=300, bare=False, **popen):
    """(the process that was started, the pid of the program)"""
    command = [place.program('rotated'), str(blocks), str(pause)]
    if bare:
        popen['env'] = place.bare_env(HEAPLAPSE_OUTPUT='x.hlt')
    else:
        command = place.record_command(*command, options=options)
    process = place.start(command, stdin=-1, **popen)
    return process, int(process.stdout.readline().split()[1])


def rotate(place, pid, status=0):
    done = place.run(place.binary, 'ctl', '--json', pid, 'rotate')
    expect(f'status of rotate: {done.err}', done.status, status)
    return done.err if status else json.loads(done.out)


def finish(place, process):
    """The program's own counts: allocations, their bytes, frees, bytes and blocks that are left."""
    done = place.finish(process, '')
    expect(f'status ({done.err})', done.status, 0)
    return tuple(map(int, done.out.split()[-5:]))


def files_of(place):
    """The files of x.hlt, in order."""
    def number(name):
        found = re.fullmatch(r'x\.(\d+)\.hlt', name)
        return int(found[1]) if found else 1
    return sorted(place.traces('x*.hlt'), key=number)


def infos_of(place, names):
    place.infos(pattern=names[-1])
    infos = [json.loads(place.run(place.binary, 'info', '--verify', '--json', name).out) for name in names]
    for name, info in zip(names, infos):
        expect(f'{name}: complete, damage', (info['complete'], info['damage']), (True, None))
        expect(f'{name}: lost', [info['totals'][k] for k in ('dropped_events', 'unknown_frees', 'implicit_frees', 'late_events')],
               [0, 0, 0, 0])
    return infos


def check_sums(place, names, truth):
    """The events of all files are those that the program counted, each in one file."""
    infos = infos_of(place, names)
    allocs = frees = allocated = 0
    for name in names:
        for line in place.dump(name):
            fields = line.split()
            if fields[0] == 'extra' or not int(fields[5]) & 1:
                continue
            if fields[0] == 'alloc':
                allocs, allocated = allocs + 1, allocated + int(fields[5])
            else:
                frees += 1
    # The blocks of a base are printed as allocations, and are in an earlier file too.
    based = [own_base(place, name, info) for name, info in zip(names, infos)]
    allocs -= sum(blocks for blocks, _ in based)
    allocated -= sum(size for _, size in based)
    expect('allocations, bytes, frees', (allocs, allocated, frees), truth[:3])
    expect('left', own_left(place, names[-1]), truth[3:])
    return infos


def own_base(place, name, info):
    if not info['base']:
        return 0, 0
    sizes = [int(line.split()[5]) for line in place.dump(name)[:info['base']['live_blocks']]]
    odd = [size for size in sizes if size & 1]
    return len(odd), sum(odd)


def own_left(place, name):
    live = {}
    for line in place.dump(name):
        fields = line.split()
        if fields[0] == 'alloc':
            live[fields[6]] = int(fields[5])
        elif fields[0] == 'free':
            del live[fields[6]]
    odd = [size for size in live.values() if size & 1]
    return sum(odd), len(odd)


def test_under_load(place):
    """a hundred rotations under the load of four threads: no event is lost, each file is whole"""
    process, pid = start(place)
    for i in range(100):
        answer = rotate(place, pid)
        names = files_of(place)
        expect(f'rotation {i}', (answer['closed'], answer['file']), (names[i], names[i + 1]))
    truth = finish(place, process)
    names = files_of(place)
    expect('files', len(names), 101)
    infos = check_sums(place, names, truth)
    expect('ends', {info['end']['kind'] for info in infos[:-1]}, {'continued'})
    expect('end', infos[-1]['end'], {'kind': 'exit', 'value': 0})
    for before, after in zip(infos, infos[1:]):
        expect('allocations so far', after['totals']['allocations'] >= before['totals']['allocations'], True)


def test_file_is_closed(place):
    """when the answer comes the old file is complete, and the new one can be read"""
    process, pid = start(place)
    time.sleep(0.1)
    answer = rotate(place, pid)
    info = json.loads(place.run(place.binary, 'info', '--verify', '--json', answer['closed']).out)
    expect('end', (info['end']['kind'], info['complete']), ('continued', True))
    done = place.run(place.binary, 'report', answer['file'])
    contains('a report of the new file', done.out + done.err, 'still being written')
    text = place.run(place.binary, 'ctl', pid, 'rotate').out
    contains('text', text, 'closed      x.2.hlt', 'continues   x.3.hlt')
    contains('info', place.run(place.binary, 'info', 'x.hlt').out, 'the recording continues in another file')
    for option in ('--leaks',), ('--at', '@end'):
        contains(option, place.run(place.binary, 'report', *option, 'x.hlt').out, 'live at the end of this file, which another file continues')
    place.run(place.binary, 'slice', '-o', 'part.hlt', '--range', '1ns..', 'x.hlt')
    contains('a slice of it', place.run(place.binary, 'info', 'part.hlt').out, 'from 1 ns of the run on')
    os.remove('part.hlt')
    contains('status', place.run(place.binary, 'ctl', pid, 'status').out, 'x.3.hlt')
    finish(place, process)


def test_summary_names_all_files(place):
    """the summary of record is about the whole run, and names the earlier files"""
    process, pid = start(place, options=('--summary', '-o', 'x.hlt'))
    rotate(place, pid)
    rotate(place, pid)
    process.stdin.close()
    process.wait()
    contains('summary', process.stderr.read(), 'x.3.hlt', '2 earlier files')


def test_modes(place):
    """in every mode; the sums go on, and the base has the blocks that the mode records"""
    for mode in ('count', 'cull', 'sample=4K'):
        process, pid = start(place, options=(*PLAIN, f'--mode={mode}'))
        for _ in range(5):
            time.sleep(0.02)
            rotate(place, pid)
        truth = finish(place, process)
        names = files_of(place)
        infos = infos_of(place, names)
        expect(f'{mode}: files', len(names), 6)
        for name, info in zip(names, infos):
            done = place.run(place.binary, 'report', '--json', name)
            expect(f'{mode}: the peak of {name}', (done.status, json.loads(done.out)['total_bytes']), (0, info['totals']['peak_bytes']))
        if mode == 'count':
            expect('blocks in the base', infos[-1]['base']['live_blocks'], 0)
        if mode == 'sample=4K':
            totals, margin = infos[-1]['totals'], infos[-1]['estimate']['live_bytes_end_margin']
            if abs(totals['live_bytes_end'] - truth[3]) > 3 * margin:
                raise Failure(f'{totals["live_bytes_end"]} +- {margin} live, should be {truth[3]}')
        else:
            totals = infos[-1]['totals']
            if not 0 <= totals['allocations'] - truth[0] < 20 or not 0 <= totals['live_blocks_end'] - truth[4] < 20:
                raise Failure(f'{mode}: {totals}, should be {truth}')
        for name in names:
            os.remove(name)     # the directory then has only a list, and is used again


def test_mode_changes(place):
    """a mode that was changed before is that of the next file; blocks recorded before stay exact"""
    process, pid = start(place)
    for mode in ('count', 'trace', 'cull', 'trace', 'sample=64K', 'trace'):
        place.run(place.binary, 'ctl', pid, f'mode={mode}')
        rotate(place, pid)
        time.sleep(0.02)
        rotate(place, pid)
    finish(place, process)
    names = files_of(place)
    place.infos(pattern=names[-1])
    infos = [json.loads(place.run(place.binary, 'info', '--verify', '--json', name).out) for name in names]
    expect('damage', {str(info['damage']) for info in infos}, {'None'})
    expect('unknown and implicit frees', [(i['totals']['unknown_frees'], i['totals']['implicit_frees']) for i in infos], [(0, 0)] * len(infos))
    expect('the last mode', infos[-1]['mode_changes'][-1]['mode'], 'trace')
    expect('modes so far', [len(info['mode_changes']) for info in infos[1::2]], [1] * 6)


def log_of(place, name):
    return json.loads(place.run(place.binary, 'log', '--json', name).out)['snapshots']


def test_snapshots_continue(place):
    """snapshots have their numbers in the run; their changes add up to the run, and a rotation is not its end"""
    for mode in 'trace', 'count':
        process, pid = start(place, options=(*PLAIN, f'--mode={mode}', '--churn=1000G'))
        for label in 'a', 'b':
            place.run(place.binary, 'ctl', pid, 'snapshot', label)
        rotate(place, pid)
        place.run(place.binary, 'ctl', pid, 'snapshot', 'c')
        rotate(place, pid)
        finish(place, process)
        names = files_of(place)
        logs = [log_of(place, name) for name in names]
        expect(f'{mode}: snapshots', [[(s['snapshot'], s['since_snapshot'], s['cause'], s['label']) for s in log] for log in logs],
               [[(1, 0, 'ctl', 'a'), (2, 1, 'ctl', 'b'), (3, 2, 'rotate', '')], [(3, None, 'ctl', 'c'), (4, 3, 'rotate', '')],
                [(4, None, 'end', '')]])
        totals = infos_of(place, names)[-1]['totals']
        sums = [sum(s['change'][key] for log in logs for s in log) for key in ('allocated_blocks', 'allocated_bytes', 'freed_blocks')]
        expect(f'{mode}: changes', sums, [totals['allocations'], totals['bytes_allocated'], totals['frees'] + totals['implicit_frees']])
        text = place.run(place.binary, 'log', names[1]).out
        contains('text', text, '\n[  3]==', '"c"\n', '\n[  4]==', ', rotate, ')
        expect('compare', place.run(place.binary, 'log', '--compare', names[1], '3', '4').status, 0)
        contains('compare', place.run(place.binary, 'log', '--compare', names[1], '1', '3').err, 'use 0 (the base) or 3 to 4')
        for args in ['--snapshots'], ['--snapshots', '--filter', 'thread:0'], ['--snapshot-deltas'], ['--cumulative-delta']:
            plan = place.run(place.binary, 'report', '--explain', *args, names[1]).out
            done = place.run(place.binary, 'report', *args, names[1])
            expect(f'{mode}: {args} is refused', ('is refused' in plan, plan), (done.status != 0, plan))
        plan = place.run(place.binary, 'report', '--explain', '--at', '@mark:c', '-g', 'tag', names[1]).out
        contains('a plan with a mark', plan, 'to find the mark')
        shown = json.loads(place.run(place.binary, 'report', '--json', '--snapshots', names[1]).out)['snapshots']
        expect('report --snapshots', [s['snapshot'] for s in shown], [3])
        for name in names:
            os.remove(name)


def test_bare_and_children(place):
    """under a bare LD_PRELOAD, and of a child that was forked: only its own trace is rotated"""
    process, pid = start(place, bare=True)
    time.sleep(0.1)
    rotate(place, pid)
    truth = finish(place, process)
    wait_until('the end', lambda: json.loads(place.run(place.binary, 'info', '--json', 'x.2.hlt').out)['end']['kind'] == 'exit')
    check_sums(place, files_of(place), truth)


def test_overwrite(place):
    """-f replaces the files of an old rotation, and no others, whatever their names"""
    process, pid = start(place)
    rotate(place, pid)
    finish(place, process)
    with open('x.3.hlt', 'w', encoding='ascii') as file:
        file.write('mine')
    place.run(place.binary, 'record', '-q', '-o', 'x.4.hlt', 'true')
    other = open('x.4.hlt', 'rb').read()
    process, pid = start(place, options=(*PLAIN, '-f'))
    wait_until('the old file is removed', lambda: not os.path.exists('x.2.hlt'))
    answers = [rotate(place, pid)['file'] for _ in range(3)]
    truth = finish(place, process)
    expect('names', answers, ['x.2.hlt', 'x.5.hlt', 'x.6.hlt'])
    expect('other files', (open('x.3.hlt', encoding='ascii').read(), open('x.4.hlt', 'rb').read()), ('mine', other))
    os.remove('x.3.hlt')
    os.remove('x.4.hlt')
    check_sums(place, files_of(place), truth)


def test_whole_session(place):
    """--all adds up all files of a rotated process; one that was moved away is named, and is no error"""
    process, pid = start(place)
    for _ in range(3):
        rotate(place, pid)
    truth = finish(place, process)
    def total(*options):
        done = place.run(place.binary, 'report', '--json', '--allocated', '-g', 'process', *options)
        expect(f'status ({done.err})', done.status, 0)
        return json.loads(done.out)['total_blocks'], done.err
    named, _ = total(*files_of(place))
    expect('--all', total('--all', 'x.hlt')[0], named)
    if not 0 <= named - truth[0] < 20:
        raise Failure(f'{named} allocations, should be {truth[0]}')
    os.remove('x.2.hlt')
    left, err = total('--all', 'x.hlt')
    expect('less', left < named, True)
    contains('the note', err, 'x.2.hlt is not there')
    expect('info', place.run(place.binary, 'info', 'x.hlt').status, 0)


def test_several_at_once(place):
    """requests at the same time are executed one after the other"""
    process, pid = start(place)
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(rotate(place, pid))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    truth = finish(place, process)
    names = files_of(place)
    expect('files', len(names), 13)
    expect('closed', sorted(answer['closed'] for answer in answers), sorted(names[:-1]))
    check_sums(place, names, truth)


def test_directory_is_gone(place):
    """if the next file cannot be created the recording stays as it is"""
    os.mkdir('away')
    process, pid = start(place, options=('-q', '-o', 'away/x.hlt'))
    wait_until('the first file', lambda: os.path.exists('away/x.hlt'))
    os.rename('away', 'moved')
    contains('why', rotate(place, pid, status=3), 'was not rotated and continues in the same file', 'No such file')
    os.rename('moved', 'away')
    rotate(place, pid)
    truth = finish(place, process)
    os.chdir('away')
    check_sums(place, files_of(place), truth)
    os.chdir('..')


def test_full_disk(place):
    """a trace that could not be written completely is not continued in another file"""
    os.mkdir('small')
    if os.getuid() != 0 or subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=24k', 'tmpfs', 'small'],
                                          stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skip('a small file system cannot be mounted here')
    try:
        process, pid = start(place, options=('-q', '-o', 'small/x.hlt'))
        wait_until('it is full', lambda: 'has a write error' in place.run(place.binary, 'ctl', pid, 'rotate').err)
        done = place.finish(process, '')
        contains('record', done.err, 'No space left on device')
        expect('status', done.status, 0)
    finally:
        subprocess.run(['umount', 'small'], check=False)


def test_no_room_for_base(place):
    """a base that does not fit on the disk is not begun: the recording continues in the same file"""
    os.mkdir('tight')
    if os.getuid() != 0 or subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', 'tight'],
                                          stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skip('a small file system cannot be mounted here')
    try:
        process, pid = start(place, options=('-q', '-o', 'tight/x.hlt'), blocks=40000, pause=2000)
        done = place.run(place.binary, 'ctl', pid, 'rotate')
        expect('status', done.status, 3)
        contains('rotate', done.err, 'continues in the same file')
        contains('rotate', done.err, 'free some space')
        expect('files', os.listdir('tight'), ['x.hlt'])
        truth = finish(place, process)
        os.chdir('tight')
        check_sums(place, files_of(place), truth)
        os.chdir('..')
    finally:
        subprocess.run(['umount', 'tight'], check=False)


def test_client_goes_away(place):
    """a client that does not wait leaves no file behind that is not used, and none is listed"""
    process, pid = start(place)
    time.sleep(0.1)
    for i in range(60):
        client = subprocess.Popen([place.binary, 'ctl', str(pid), 'rotate'], stdout=subprocess.DEVNULL)
        time.sleep(i % 20 * 0.0003)
        client.send_signal(signal.SIGKILL)
        client.wait()
    truth = finish(place, process)
    check_sums(place, files_of(place), truth)


def test_large_heap(place):
    """a heap of a million blocks is copied while the program works at full speed"""
    process, pid = start(place, blocks=250000, pause=0)
    for _ in range(3):
        rotate(place, pid)
    finish_time = time.monotonic()
    truth = finish(place, process)
    names = files_of(place)
    infos = infos_of(place, names)
    expect('base', infos[-1]['base']['live_blocks'] > 400000, True)
    totals = infos[-1]['totals']
    # libc's own blocks come on top: stdio, threads, the table of blocks
    for name, count in (('allocations', truth[0]), ('frees', truth[2]), ('live_blocks_end', truth[4])):
        if not 0 <= totals[name] - count < 20:
            raise Failure(f'{name}: {totals[name]}, should be {count} ({time.monotonic() - finish_time:.0f} s)')


def test_tags_have_no_trace(place):
    """in mode tags there is nothing to rotate"""
    process, pid = start(place, options=('-q', '--mode=tags', '--stats-json=x.json'))
    wait_until('a region', lambda: place.run(place.binary, 'ctl', pid, 'status').status in (0, 3))
    contains('why', rotate(place, pid, status=3), 'mode tags, which writes no trace')
    finish(place, process)


if __name__ == '__main__':
    main(globals())
