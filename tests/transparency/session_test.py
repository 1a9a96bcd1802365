#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""session_test - the traces of a run with many processes: one file and one directory, which commands
read as a whole or by process, whatever was killed, planted or written into the list meanwhile."""
import json
import os
import re
import signal
import subprocess
import time

from transparency import NOBODY, Failure, children_of, comm_of, contains, expect, expect_lossless, main, need_other_user, wait_until

PLAIN = ('-q', '-o', 'x.hlt')


def tops():
    return sorted(os.listdir('.'))


def run(place, *words, status=0):
    done = place.run(place.binary, *words)
    expect(f'{words}: status', done.status, status)
    return done


def processes(place, trace='x.hlt'):
    """{pid: row} of `info --all`; all of them have ended."""
    deadline = time.monotonic() + 20
    while True:
        rows = place.heaplapse.session(trace)
        if not any(row['running'] for row in rows):
            break
        if time.monotonic() > deadline:
            raise Failure(f'still running: {rows}')
        time.sleep(0.02)
    expect('pids', len({row['pid'] for row in rows}), len(rows))
    return {row['pid']: row for row in rows}


def base(row):
    return os.path.basename(row['program'])


def check_peaks(rows):
    peaks = [row['peak_bytes'] for row in rows.values()]
    expect('order', peaks, sorted(peaks, reverse=True))


def test_one_process(place):
    """one process leaves one file"""
    place.record(place.program('ending'), 'exit:0', options=PLAIN)
    expect('files', tops(), ['x.hlt'])
    expect('rows', [base(row) for row in place.heaplapse.session('x.hlt')], ['transparency_ending'])
    expect('all', run(place, 'report', '--all', 'x.hlt').err, '')


def test_pipeline(place):
    """a pipeline of 16 programs and its shell: 17 processes, each with what it ran, all below the shell"""
    script = 'seq 50' + ' | cat' * 15 + '; exit 3'
    done = place.record('/bin/sh', '-c', script, options=('--summary', '-o', 'x.hlt'))
    expect('status', done.status, 3)
    expect('files', tops(), ['x.hlt', 'x.hlt.d'])
    rows = processes(place)
    first = place.heaplapse.info('x.hlt')['pid']
    expect('programs', sorted(base(row) for pid, row in rows.items() if pid != first), ['cat'] * 15 + ['seq'])
    expect('parents', {row['parent_pid'] for pid, row in rows.items() if pid != first}, {first})
    check_peaks(rows)
    expect('listed', {row[0] for row in place.session_rows('x.hlt')}, set(rows) - {first})
    for row in rows.values():
        expect('ends', place.heaplapse.info(row['trace'])['end']['kind'], 'exit')
        expect('numbers', (row['peak_bytes'], row['allocations']), numbers_of(place, row['trace']))
    contains('summary', done.err, 'recorded 17 processes', 'and 7 more processes', '--process NAME|PID x.hlt')
    hint = re.search(r'^  next: (\S+) report --process NAME\|PID x\.hlt$', done.err, re.M)
    expect('the hint has the path of the program', bool(hint) and os.access(hint.group(1), os.X_OK), True)
    table = re.findall(r'^ +[\d.]+ \w*B +(?:-|[\d.]+ \w*B) +[\d,]+ +(\d+)  (.*)$', done.err, re.M)
    expect('rows of the summary', [int(pid) for pid, _ in table], list(rows)[:10])
    contains('report', run(place, 'report', 'x.hlt').err, '16 more processes in x.hlt.d; ', ' has the largest heap, with a peak of ')


def numbers_of(place, trace):
    totals = place.heaplapse.info(trace)['totals']
    return totals['peak_bytes'], totals['allocations']


def test_resident(place):
    """the table, the rows of -g process, info and JSON have the resident memory, and the hint names who has most of it"""
    grow = 'import mmap, time; m = mmap.mmap(-1, 64 << 20); [m.write(bytes(1 << 20)) for i in range(64)]; time.sleep(0.5)'
    heap = f'{place.program("becoming")} {place.program("ending")} exit:0'
    done = place.record('/bin/sh', '-c', f"/usr/bin/python3 -S -c '{grow}'; {heap}; {heap}; exit 0", options=('--summary', '-o', 'x.hlt'))
    rows = list(processes(place).values())
    python = [row for row in rows if base(row).startswith('python')][0]
    expect('resident', (python['resident_bytes'] >= 64 << 20, max(row['resident_bytes'] for row in rows) == python['resident_bytes']), (True, True))
    contains('hint', run(place, 'report', 'x.hlt').err, f'; {base(python)} (pid {python["pid"]}) has the most resident memory, ')
    value = f'{python["resident_bytes"] / (1 << 20):.1f} MiB'
    for words in ('info', '--all'), ('report', '--peak', '-g', 'process'):
        (line,) = [line for line in run(place, *words, 'x.hlt').out.splitlines() if 'python' in line]
        contains(f'{words}', line, value)
    contains('summary', done.err, value, 'resident')
    by_pid = {row['pid']: row for row in json.loads(run(place, 'report', '--peak', '-g', 'process', '--json', 'x.hlt').out)['processes']}
    expect('JSON', by_pid[python['pid']]['resident_bytes'], python['resident_bytes'])


def test_tree(place):
    """a tree of shells like that of make: every parent is in the session"""
    leaf = place.program('ending')
    script = f'for i in 1 2 3; do (for k in 1 2; do /bin/sh -c "{leaf} exit:0; true"; done; true) & done; wait'
    done = place.record('/bin/sh', '-c', script, options=PLAIN)
    expect('status and stderr', (done.status, done.err), (0, ''))
    rows = processes(place)
    first = place.heaplapse.info('x.hlt')['pid']
    expect('leaves', sum(base(row) == 'transparency_ending' for row in rows.values()), 6)
    expect('parents', {row['parent_pid'] for pid, row in rows.items() if pid != first} - set(rows), set())
    expect('files', tops(), ['x.hlt', 'x.hlt.d'])


def test_exec_chain(place):
    """programs that follow one another in one process are one process; views show the last"""
    step = f'exec {place.program("ending")} exit:3'
    done = place.record('/bin/sh', '-c', f'exec /bin/sh -c "{step}"', options=('--summary', '-o', 'x.hlt'))
    expect('status', done.status, 3)
    (row,) = place.heaplapse.session('x.hlt')
    names = ['x.hlt', f'x.hlt.d/{row["pid"]}.sh.hlt', f'x.hlt.d/{row["pid"]}.transparency_ending.hlt']
    expect('traces', [file['trace'] for file in row['files']], names)
    expect('its numbers', (base(row), row['allocations']), ('transparency_ending', 100))
    expect('no table', 'processes' in done.err, False)
    expect_lossless(place.heaplapse.info('x.hlt'), end=('exec', 0))
    for words in ('report', '--allocated'), ('report', '--process', row['pid'], '--allocated'), ('report', '--all', '--allocated'):
        contains(f'{words}', run(place, *words, 'x.hlt').out, '100 blocks' if words[1:2] != ('--all',) else 'in 100 block')
    done = run(place, 'report', '--allocated', 'x.hlt')
    contains('line', done.err, 'showing transparency_ending, the last program', names[2], 'the first one is shown by --process x.hlt')
    for command in 'info', 'dump':
        last, first = run(place, command, 'x.hlt'), run(place, command, '--process', 'x.hlt', 'x.hlt')
        expect(f'{command}: the last', (last.out, last.err == done.err), (run(place, command, names[2]).out, True))
        expect(f'{command}: the first', (first.out != last.out, 'showing' in first.err), (True, False))
    text = run(place, 'info', 'x.hlt').out
    contains('program', text, 'transparency_ending exit:3')
    by_file = json.loads(run(place, 'report', '--process', 'x.hlt', '--allocated', '--json', 'x.hlt').out)
    expect('the first by its file', by_file['total_blocks'], place.heaplapse.info('x.hlt')['totals']['allocations'])
    expect('the program by its file', run(place, 'report', '--process', os.path.basename(names[2]), '--allocated', 'x.hlt').out, done.out)
    expect('the last shell', run(place, 'report', '--process', 'sh', '--allocated', '--json', 'x.hlt').out,
           run(place, 'report', '--allocated', '--json', names[1]).out)


def test_exec_of_a_smaller(place):
    """a process counts with the largest program that it ran, in tables, sums and hints"""
    step = f'{place.program("becoming")} {place.program("ending")} exit:0'
    done = place.record(*step.split(), options=('--summary', '-o', 'x.hlt'))
    (row,) = place.heaplapse.session('x.hlt')
    expect('the program that counts', (base(row), row['peak_bytes'] >> 20, len(row['files'])), ('transparency_becoming', 8, 2))
    hint = f'{place.binary} report --process transparency_becoming x.hlt'
    contains('summary', done.err, 'transparency_becoming (then transparency_ending)', f'next: {hint}\n')
    contains('report', run(place, 'report', 'x.hlt').err, f'also ran transparency_becoming with a higher peak, 8.0 MiB:\n  {hint}\n')
    contains('by pid', run(place, 'report', '--process', row['pid'], 'x.hlt').out, '8.0 MiB')
    sums = json.loads(run(place, 'report', '--all', '--peak', '--json', 'x.hlt').out)
    expect('sum', sums['total_bytes'], row['peak_bytes'])
    place.remove_traces()
    done = place.record('/bin/sh', '-c', f'{step}; exit 0', options=('--summary', '-o', 'x.hlt'))
    rows = list(processes(place).values())
    expect('rank', (base(rows[0]), rows[0]['peak_bytes'] >> 20), ('transparency_becoming', 8))
    contains('rest', run(place, 'report', 'x.hlt').err, f'1 more process in x.hlt.d; it is transparency_becoming with a peak of 8.0 MiB:\n  {hint}\n')
    run(place, *hint.split()[1:])
    text = run(place, 'report', '-g', 'process', '--peak', 'x.hlt').out
    contains('table', text.splitlines()[1], '8.0 MiB', 'transparency_becoming')


def test_shim(place):
    """a shim that starts 78 processes and becomes the program leaves one trace and one directory"""
    script = f'i=0; while [ $i -lt 78 ]; do /bin/true; i=$((i+1)); done; exec {place.program("ending")} exit:5'
    with open('shim', 'w', encoding='ascii') as file:
        file.write(f'#!/bin/sh\n{script}\n')
    os.chmod('shim', 0o755)
    done = place.record('./shim', options=('--summary', '-o', 'x.hlt'))
    expect('status', done.status, 5)
    expect('files', tops(), ['shim', 'x.hlt', 'x.hlt.d'])
    expect('processes', len(processes(place)), 79)
    contains('summary', done.err, 'recorded 79 processes', 'transparency_ending (after sh)', 'and 69 more processes')
    contains('report', run(place, 'report', '--allocated', 'x.hlt').out, '100 blocks')


def test_default_name(place):
    """the default name has its directory, too"""
    place.record('/bin/sh', '-c', '/bin/true; exit 0')
    name = place.traces('heaplapse.*')[0]
    expect('name', re.fullmatch(r'heaplapse\.(sh|dash)\.\d+\.hlt', name) is not None, True)
    expect('files', tops(), [name, name + '.d'])
    expect('processes', len(processes(place, name)), 2)


def test_nested(place):
    """a record inside of a record has a session of its own"""
    inner = f'{place.binary} record -q -o inner.hlt /bin/sh -c "/bin/true; exit 4"'
    done = place.record('/bin/sh', '-c', f'{inner}; exit $?', options=PLAIN)
    expect('status', done.status, 4)
    expect('files', tops(), ['inner.hlt', 'inner.hlt.d', 'x.hlt', 'x.hlt.d'])
    expect('inner', sorted(base(row) for row in processes(place, 'inner.hlt').values())[-1], 'true')
    expect('outer', {base(row) for row in processes(place).values()} & {'true'}, set())


def test_bare(place):
    """with LD_PRELOAD alone children join the session, also from another directory, by exec and below shells"""
    os.mkdir('elsewhere')
    script = 'cd elsewhere; seq 3 | cat >/dev/null; /bin/sh -c "/bin/true; exit 0"; exit 6'
    done = place.bare('/bin/sh', '-c', script, env={'HEAPLAPSE_OUTPUT': 'x.hlt'})
    expect('status and stderr', (done.status, done.err), (6, ''))
    wait_until('four children', lambda: len(place.heaplapse.session('x.hlt')) == 5)
    rows = processes(place)
    expect('programs', sorted(base(row) for row in rows.values()), sorted([base(rows[done.pid]), 'cat', 'seq', base(rows[done.pid]), 'true']))
    expect('files', (tops(), os.listdir('elsewhere')), (['elsewhere', 'x.hlt', 'x.hlt.d'], []))


def test_bare_other_output(place):
    """a child with another HEAPLAPSE_OUTPUT, and one without the environment, is not in the session"""
    program = place.program('leaving')
    script = f'HEAPLAPSE_OUTPUT=y.hlt {program} return; env -i {program} return; exit 0'
    place.bare('/bin/sh', '-c', script, env={'HEAPLAPSE_OUTPUT': 'x.hlt'})
    place.infos()
    expect('its own', base(place.heaplapse.session('y.hlt')[0]), 'transparency_leaving')
    rows = processes(place)
    expect('in the session', [base(row) for row in rows.values() if base(row) == 'transparency_leaving'], [])


def test_bare_twice(place):
    """a second run under the same name gets a number, and so does its directory"""
    for name in 'x.hlt', 'x.2.hlt':
        done = place.bare('/bin/sh', '-c', '/bin/true; exit 0', env={'HEAPLAPSE_OUTPUT': 'x.hlt'})
        expect(f'{name}: status', done.status, 0)
        wait_until('a child', lambda name=name: len(place.heaplapse.session(name)) == 2)
    os.unlink('x.hlt')  # the directory alone takes the name, too
    done = place.bare('/bin/true', env={'HEAPLAPSE_OUTPUT': 'x.hlt'})
    contains('message', done.err, 'x.hlt exists; the trace is written to x.3.hlt')


def test_patterns(place):
    """%p, %e and %n name every trace; the directory has only the list"""
    for pattern in '%p.hlt', '%e.%p.hlt', 'n%n.hlt':
        place.record('/bin/sh', '-c', '/bin/true; exit 0', options=('-q', '-o', pattern))
        names = [name for name in tops() if name.endswith('.hlt')]
        expect(f'{pattern}: traces', len(names), 2)
        (folder,) = [name for name in tops() if name.endswith('.hlt.d')]
        expect('the directory', os.listdir(folder), ['session'])
        expect('row', [row[3] for row in place.session_rows(folder[:-2])], [f'../{name}' for name in names if name != folder[:-2]])
        expect('processes', len(processes(place, folder[:-2])), 2)
        expect('by the directory', len(processes(place, folder)), 2)
        place.remove_traces()


def test_overwriting(place):
    """an old session is not added to: refused without -f, replaced as a whole with it"""
    script = '/bin/true; exit 0'
    place.record('/bin/sh', '-c', script, options=PLAIN)
    before = set(os.listdir('x.hlt.d'))
    for name in 'x.hlt', None:
        done = place.record('/bin/sh', '-c', 'echo ran >ran', options=PLAIN)
        expect('status', done.status, 125)
        contains('message', done.err, 'x.hlt', 'is not overwritten', '-f')
        if name:
            os.unlink(name)
    expect('untouched', (set(os.listdir('x.hlt.d')), os.path.exists('ran')), (before, False))
    place.record('/bin/sh', '-c', script, options=('-q', '-f', '-o', 'x.hlt'))
    expect('processes', len(processes(place)), 2)
    expect('files', len(os.listdir('x.hlt.d')), len(place.session_rows('x.hlt')) + 1)


def test_overwriting_live(place):
    """-f does not replace a session of which a process still runs"""
    os.mkfifo('f')
    process = place.start(place.record_command('/bin/sh', '-c', '/bin/cat f >/dev/null 2>&1 & exit 0', options=PLAIN))
    wait_until('a child', lambda: place.traces_of('cat'))
    place.finish(process)
    done = place.record('/bin/true', options=('-q', '-f', '-o', 'x.hlt'))
    expect('status', done.status, 125)
    contains('message', done.err, 'x.hlt', 'still being written')
    with open('f', 'w', encoding='ascii'):
        pass
    processes(place)
    expect('then', place.record('/bin/true', options=('-q', '-f', '-o', 'x.hlt')).status, 0)


def test_overwriting_read_only(place):
    """-f refuses a directory that it cannot write to before the program runs, so two runs do not mix"""
    need_other_user(place, 0o755)
    os.chown('.', 65534, 65534)
    command = place.record_command('/bin/sh', '-c', '/bin/true; echo ran >>ran', options=('-q', '-f', '-o', 'x.hlt'))
    expect('first', place.run(*NOBODY, *command).status, 0)
    before = open('x.hlt', 'rb').read()
    for name in [], os.listdir('x.hlt.d'):
        os.chmod('x.hlt.d', 0o555)
        done = place.run(*NOBODY, *command)
        expect('status', done.status, 125)
        contains('message', done.err, 'x.hlt.d', 'is read-only', 'chmod u+w', '-o')
        os.chmod('x.hlt.d', 0o755)
        for file in name:
            os.unlink(f'x.hlt.d/{file}')
    expect('unchanged', (open('x.hlt', 'rb').read() == before, open('ran', encoding='ascii').read()), (True, 'ran\n'))
    expect('writable', place.run(*NOBODY, *command).status, 0)


def test_planted(place):
    """what is not a session of this user is neither used nor removed, with and without -f"""
    os.mkdir('victim')
    open('victim/1.a.hlt', 'w').close()
    def share():
        os.mkdir('x.hlt.d')
        os.chmod('x.hlt.d', 0o777)
    plants = {'file': lambda: open('x.hlt.d', 'w').close(), 'link': lambda: os.symlink('victim', 'x.hlt.d'),
              'dangling link': lambda: os.symlink('nowhere', 'x.hlt.d'), 'a shared directory': share,
              'fifo': lambda: os.mkfifo('x.hlt.d')}
    for name, plant in plants.items():
        plant()
        for options, part in (PLAIN, 'x.hlt.d exists'), (('-f', *PLAIN), 'x.hlt.d exists and cannot have the traces of a session'):
            done = place.record('/bin/sh', '-c', 'echo ran >ran', options=options)
            expect(f'{name}, {options}: status', done.status, 125)
            contains(f'{name}, {options}', done.err, part, '-o')
        expect('it ran', os.path.exists('ran'), False)
        (os.rmdir if os.path.isdir('x.hlt.d') and not os.path.islink('x.hlt.d') else os.unlink)('x.hlt.d')
    expect('victim', os.listdir('victim'), ['1.a.hlt'])


def test_overwriting_foreign(place):
    """-f removes what the list names; other files of the directory stay, also traces, and it is used again and again"""
    script = '/bin/true; exit 0'
    place.record('/bin/sh', '-c', script, options=PLAIN)
    (child,) = place.traces_of('true')
    with open(child, 'rb') as trace, open('x.hlt.d/other.hlt', 'wb') as other:
        other.write(trace.read())
    with open('x.hlt.d/mine.txt', 'w', encoding='ascii') as file:
        file.write('mine')
    with open('x.hlt.d/session', 'a', encoding='ascii') as file:
        file.write('1\t2\t3\t/x\tmine.txt\n1\t2\t3\t/x\t../victim.hlt\n')
    open('victim.hlt', 'w').close()
    for words in ('/bin/true',), ('/bin/sh', '-c', script), ('/bin/sh', '-c', script):
        expect(f'{words}: status', place.record(*words, options=('-f', *PLAIN)).status, 0)
        new = {'session', place.session_rows('x.hlt')[0][-1]} if words[1:] else set()
        expect(f'{words}: files', set(os.listdir('x.hlt.d')), {'mine.txt', 'other.hlt'} | new)
    expect('beside', tops(), ['victim.hlt', 'x.hlt', 'x.hlt.d'])
    expect('mine', open('x.hlt.d/mine.txt', encoding='ascii').read(), 'mine')


def test_overwriting_other_list(place):
    """a file `session` that is not a list is neither removed nor appended to"""
    os.mkdir('x.hlt.d', 0o700)
    expect('empty', place.record('/bin/sh', '-c', '/bin/true; exit 0', options=('-f', *PLAIN)).status, 0)
    with open('x.hlt.d/session', 'w', encoding='ascii') as file:
        file.write('my notes\n')
    done = place.record('/bin/sh', '-c', '/bin/true; exit 0', options=('-f', *PLAIN))
    expect('status', done.status, 125)
    contains('message', done.err, 'its file `session` is not a list of traces', 'move it away', '-o')
    expect('notes', open('x.hlt.d/session', encoding='ascii').read(), 'my notes\n')


def test_planted_meanwhile(place):
    """a name that is taken while the program runs: record says so, and the traces are beside the first one"""
    script = 'echo mine >x.hlt.d; /bin/true; exit 0'
    done = place.record('/bin/sh', '-c', script, options=PLAIN)
    expect('status', done.status, 0)
    contains('message', done.err, 'x.hlt.d cannot be used: it is not a private directory of yours')
    expect('one message', done.err.count('\n'), 1)
    expect('the file', open('x.hlt.d', encoding='ascii').read(), 'mine\n')
    names = [name for name in tops() if name.endswith('.hlt')]
    expect('traces', len(names) >= 2 and names[0] == 'x.2.hlt', True)
    expect('programs', 'true' in {os.path.basename(place.heaplapse.info(name)['program']) for name in names}, True)


def test_killed_collector(place):
    """the collector is killed while children come and go: what was recorded is listed and readable"""
    script = 'i=0; while [ $i -lt 60 ]; do /bin/true; i=$((i+1)); done; exit 7'
    process = place.start(place.record_command('/bin/sh', '-c', script, options=PLAIN))
    wait_until('children', lambda: len(place.traces_of('true')) >= 5)
    shell = place.heaplapse.info('x.hlt')['pid']
    collector = [child for child in children_of(process.pid) if child != shell and comm_of(child) == 'heaplapse']
    os.kill(collector[0], signal.SIGKILL)
    done = place.finish(process)
    expect('status', done.status, 7)
    contains('message', done.err, 'was replaced')
    rows = processes(place)
    expect('files', tops(), ['x.hlt', 'x.hlt.d'])
    if len(rows) < 5:
        raise Failure(f'{len(rows)} processes')
    parts = rows[shell]['files']
    expect('parts of the shell', [part['continues'] for part in parts], [False] + [True] * (len(parts) - 1))
    run(place, 'report', '--all', '--group', 'process', 'x.hlt')


def test_unlisted(place):
    """a trace whose line is missing is found; a line whose trace is missing is named"""
    place.record('/bin/sh', '-c', '/bin/true; /bin/echo; exit 0', options=PLAIN, stdout=subprocess.DEVNULL)
    before = processes(place)
    with open('x.hlt.d/session', encoding='utf-8') as file:
        lines = file.readlines()
    with open('x.hlt.d/session', 'w', encoding='utf-8') as file:
        file.writelines([*lines[:2], '9\t1\t1\t/bin/gone\t9.gone.hlt\n'])
    done = run(place, 'info', '--all', '--json', 'x.hlt', status=3)
    expect('processes', {row['pid'] for row in json.loads(done.out)['processes']}, set(before))
    contains('named', done.err, 'the trace of gone (pid 9) is missing: x.hlt.d/9.gone.hlt')
    os.unlink('x.hlt.d/session')
    expect('without the list', set(processes(place)), set(before))
    os.rename('x.hlt', 'y.hlt')
    expect('without the first', len(processes(place, 'x.hlt.d')), len(before) - 1)
    contains('the first', run(place, 'report', 'x.hlt', status=2).err, 'x.hlt does not exist', '--process NAME')


HOSTILE = (b'', b'\n\n\n', b'\0' * 5000, b'\xff\xfe' * 3000, b'heaplapse session 2\n', b'1\t2\t3\t/bin/x\t' + b'A' * 100000 + b'\n',
           b'1\t2\t3\t/x\t../../../etc/passwd\n', b'1\t2\t3\t/x\t/etc/passwd\n', b'1\t2\t3\t/x\t../victim.hlt/..\n',
           b'1\t2\t3\t/x\tpipe.hlt\n1\t2\t3\t/x\tlink.hlt\n1\t2\t3\t/x\tfolder.hlt\n1\t2\t3\t/x\tsession\n',
           b'99999999999999999999\t2\t3\t/x\ta.hlt\n', b'1\t2\t3\t/x\t\\x2e\\x2e\n', b'1\t2\t3\t\x1b[31m\tempty.hlt\n',
           b'1\t2\t3\t/x\t../x.hlt\n' * 1000, b'1\t2\t3\t/x\tgood.hlt\n' * 1000, b'1\t2\t3\t/x\tgood.hlt')


def test_hostile(place):
    """no list and no file in the directory makes a command hang, crash, or read what it should not"""
    place.record('/bin/sh', '-c', '/bin/true; exit 0', options=PLAIN)
    (child,) = place.traces_of('true')
    os.rename(child, 'x.hlt.d/good.hlt')
    for name in place.traces()[1:]:
        if name != 'x.hlt.d/good.hlt':
            os.unlink(name)
    os.mkfifo('x.hlt.d/pipe.hlt')
    os.symlink('/dev/zero', 'x.hlt.d/link.hlt')
    os.symlink('../x.hlt', 'x.hlt.d/again.hlt')
    os.mkdir('x.hlt.d/folder.hlt')
    open('x.hlt.d/empty.hlt', 'w').close()
    with open('x.hlt.d/text.hlt', 'w', encoding='ascii') as file:
        file.write('no trace\n' * 100)
    for text in HOSTILE:
        with open('x.hlt.d/session', 'wb') as file:
            file.write(text)
        lost = b'pipe' in text or b'empty' in text
        done = run(place, 'info', '--all', '--json', 'x.hlt', status=3 * lost)
        rows = json.loads(done.out)['processes']
        expect(f'{text[:60]}: traces', sorted(row['trace'] for row in rows), ['x.hlt', 'x.hlt.d/good.hlt'])
        contains(f'{text[:60]}', done.err, 'x.hlt.d/empty.hlt', 'x.hlt.d/text.hlt')
        expect('escaped', '\x1b' in done.err, False)
        for words in ('report', 'x.hlt'), ('report', '--group', 'process', 'x.hlt.d'), ('log', '--all', 'x.hlt'):
            run(place, *words, status=3 * (lost and words[1] != 'x.hlt'))


def test_lost(place):
    """a trace of the session that is missing or damaged is named, and the sum says that it lacks a process"""
    place.record('/bin/sh', '-c', '/bin/true; /bin/echo; exit 0', options=PLAIN, stdout=subprocess.DEVNULL)
    n = len(processes(place))
    (child,) = place.traces_of('true')
    with open(child, 'rb') as file:
        content = file.read()
    def write(data):
        with open(child, 'wb') as file:
            file.write(data)
    for what, damage in {'empty': lambda: write(b''), 'short': lambda: write(content[:60]), 'garbage': lambda: write(b'x' * 5000),
                         'fifo': lambda: os.mkfifo(child), 'link': lambda: os.symlink('/dev/zero', child), 'gone': lambda: None}.items():
        if os.path.lexists(child):
            os.unlink(child)
        damage()
        pid = int(os.path.basename(child).split('.')[0])
        state = 'is missing' if what == 'gone' else 'cannot be read'
        for words in ('info', '--all'), ('report', '--group', 'process'), ('report', '--all', '--strict'), ('log', '--all'):
            done = run(place, *words, 'x.hlt', status=3)
            contains(f'{what}, {words}', done.err, f'the trace of true (pid {pid}) {state}: {child}')
            if words[0] == 'report':
                contains(f'{what}, {words}: sum', done.out, f'{n - 1} of {n} processes')
        contains(f'{what}: one', run(place, 'report', '--process', 'echo', 'x.hlt').err, f'(pid {pid}) {state}')


def test_damaged_child(place):
    """a trace that was cut is marked in the list of processes: its numbers may be too low"""
    place.record('/bin/sh', '-c', 'sort /etc/passwd; exit 0', options=PLAIN, stdout=subprocess.DEVNULL)
    expect('whole', [row['damaged'] for row in processes(place).values()], [False, False])
    (child,) = place.traces_of('sort')
    os.truncate(child, os.path.getsize(child) // 2)
    rows = json.loads(run(place, 'info', '--all', '--json', 'x.hlt').out)['processes']
    expect('cut', {base(row): row['damaged'] for row in rows}, {'sort': True, 'sh': False})
    contains('cut', run(place, 'info', '--all', 'x.hlt').out, ' sort (damaged trace)\n')


def test_names_that_lead_elsewhere(place):
    """a program is found by the name that it was called by, and by that of its file"""
    with open(place.program('ending'), 'rb') as program, open('real-name', 'wb') as copy:
        copy.write(program.read())
    os.chmod('real-name', 0o755)
    os.symlink('real-name', 'alias')
    place.record('/bin/sh', '-c', './alias exit:0; ./real-name exit:0; exit 0', options=PLAIN)
    by_base = {base(row): pid for pid, row in processes(place).items()}
    for name in 'alias', 'real-name':
        contains(name, run(place, 'report', '--process', name, '--allocated', 'x.hlt').out, '100 blocks')
        expect(name, run(place, 'info', '--json', '--process', name, 'x.hlt').out, run(place, 'info', '--json', '--process', by_base[name], 'x.hlt').out)
    shell = os.path.basename(os.path.realpath('/bin/sh'))
    expect('the shell', run(place, 'info', '--process', shell, 'x.hlt').out, run(place, 'info', 'x.hlt').out)


def test_arguments(place):
    """processes of one program are distinguished by the word of their command line that only they have"""
    one = place.program('ending')
    long = 'f' * 60
    place.record('/bin/sh', '-c', f'{one} exit:0 -O1 a.c; {one} exit:0 -O2 b.c; {one} exit:0 -O1 {long}/c.c; /bin/true x; exit 0', options=PLAIN)
    rows = processes(place)
    expect('arguments', sorted(str(row['argument']) for row in rows.values()), sorted(['a.c', 'b.c', f'{long}/c.c', 'None', 'None']))
    table = run(place, 'info', '--all', 'x.hlt').out
    for words in 'transparency_ending a.c', 'transparency_ending b.c':
        contains('table', table, words + '\n')
    expect('80 columns', max(map(len, table.splitlines())) <= 80 and bool(re.search(r'transparency_ending f+\.\.\.f*/c\.c\n', table)), True)
    contains('a choice', run(place, 'report', '--process', 'transparency_ending', 'x.hlt', status=2).err, 'transparency_ending a.c, peak')
    place.record('/bin/sh', '-c', f'{one} exit:0 a; {one} exit:0 a; exit 0', options=('-q', '-o', 'y.hlt'))
    expect('equal', {row['argument'] for row in processes(place, 'y.hlt').values()}, {None})


def test_summary(place):
    """the summary is about the process with the highest peak, and says so"""
    done = place.record('/bin/sh', '-c', 'sort /etc/passwd | head -n 1', options=('--summary', '-o', 'x.hlt'), stdout=subprocess.DEVNULL)
    rows = processes(place)
    sort = next(row for row in rows.values() if base(row) == 'sort')
    contains('said', done.err, f'of {len(rows)} processes, sort (pid {sort["pid"]}) has the highest peak and is shown here; sh, which was started:\n  {place.binary} report ',
             'recorded sort for ', sort['trace'])
    done = place.record('/usr/bin/env', '-i', '/bin/true', options=('--summary', '-o', 'z.hlt'))
    contains('what was not recorded', done.err, ' env (then one not recorded)\n')
    contains('what was not recorded', run(place, 'report', 'z.hlt').err, 'then ran a program that was not recorded', 'env -i')
    done = place.record('/bin/sh', '-c', 'sort /etc/passwd; exec true', options=('--summary', '-o', 'exec.hlt'), stdout=subprocess.DEVNULL)
    contains('an exec chain', done.err, 'recorded sort for ')
    expect('an exec chain', 'not recorded' in done.err, False)
    done = place.record('/bin/sh', '-c', 'exit 0', options=('--summary', '-o', 'y.hlt'))
    expect('one process', 'highest peak and' in done.err or 'recorded sh for' not in done.err, False)


def test_missing_directory(place):
    """a directory of a session that was removed or not copied is noticed, and where it was expected"""
    place.record('/bin/sh', '-c', '/bin/true; /bin/echo; exit 0', options=PLAIN, stdout=subprocess.DEVNULL)
    whole = processes(place)
    os.rename('x.hlt.d', 'away')
    sentence = f'{len(whole) - 1} more traces of this run are missing: expected in x.hlt.d, the directory of its session; copy it together with x.hlt'
    for words, status in (('report',), 0), (('info',), 0), (('export', '-f', 'collapsed'), 0), (('report', '--process', 'true'), 2), \
                         (('report', '--all'), 3), (('info', '--all'), 3), (('report', '-g', 'process'), 3), (('export', '-f', 'csv', '--all'), 3):
        contains(f'{words}', run(place, *words, 'x.hlt', status=status).err, sentence)
    contains('the sum', run(place, 'report', '-g', 'process', 'x.hlt', status=3).out, f'\n1 process without {len(whole) - 1} missing traces, ')
    os.mkdir('x.hlt.d')
    contains('an empty one', run(place, 'report', 'x.hlt').err, sentence)
    os.rmdir('x.hlt.d')
    os.rename('away', 'x.hlt.d')
    expect('it is back', 'missing' in run(place, 'report', 'x.hlt').err, False)
    run(place, 'slice', '-q', '-o', 'slice.hlt', 'x.hlt')
    expect('a slice is no session', 'missing' in run(place, 'report', 'slice.hlt').err, False)
    place.record('/bin/sh', '-c', 'exec /bin/true', options=('-o', 'exec.hlt', '-q'))
    (last,) = (name for name in os.listdir('exec.hlt.d') if name.endswith('.hlt'))
    expect('another program of the first process', 'missing' in run(place, 'report', f'exec.hlt.d/{last}').err, False)
    place.record('/bin/sh', '-c', 'exit 0', options=('-o', 'one.hlt', '-q'))
    expect('one process', run(place, 'report', 'one.hlt').err, '')


def test_choice(place):
    """--process takes a name or a pid; several and none are listed; what cannot be added is refused"""
    one = place.program('ending')
    place.record('/bin/sh', '-c', f'{one} exit:0; {one} exit:0; /bin/true; exit 0', options=PLAIN)
    rows = processes(place)
    twins = [pid for pid, row in rows.items() if base(row) == 'transparency_ending']
    expect('twins', len(twins), 2)
    done = run(place, 'report', '--process', 'transparency_ending', 'x.hlt', status=2)
    contains('several', done.err, '2 processes are', f'--process {twins[0]}', f'\n  {twins[1]}  transparency_ending, peak ')
    done = run(place, 'report', '--process', 'treu', 'x.hlt', status=2)
    contains('none', done.err, 'no process of x.hlt is "treu"; did you mean true?', '  transparency_ending, peak ')
    contains('by pid', run(place, 'report', '--process', twins[1], '--allocated', 'x.hlt').out, '100 blocks')
    for command in 'info', 'export', 'log':
        words = {'export': ('-f', 'collapsed')}.get(command, ())
        expect(f'{command} --process', run(place, command, *words, '--process', 'true', 'x.hlt').out,
               run(place, command, *words, rows[[pid for pid, row in rows.items() if base(row) == 'true'][0]]['trace']).out)
    for options, hint in (('-f', 'html', '-o', 'x.html'), True), (('-f', 'collapsed'), True), (('-f', 'collapsed', '-q'), False):
        done = run(place, 'export', *options, 'x.hlt')
        expect(f'{options}: the rest', ' has the largest heap, with a peak of ' in done.err and f'\n  {place.binary} report --process ' in done.err, hint)
    contains('export', run(place, 'export', '-f', 'html', '--all', 'x.hlt', status=2).err,
             'processes cannot be exported into one file of html, only of json, ', '; write a file of each with -o NAME-%p.html, or choose one, as in --process ')
    one_by_one = {pid: [line for line in run(place, 'export', '-q', '-f', 'collapsed', '--allocated', row['trace']).out.splitlines()] for pid, row in rows.items()}
    together = run(place, 'export', '-f', 'collapsed', '--allocated', '--all', 'x.hlt').out.splitlines()
    expect('collapsed', sorted(together), sorted(f'{base(rows[pid])} (pid {pid});{line}' for pid, lines in one_by_one.items() for line in lines))
    document = json.loads(run(place, 'export', '-f', 'json', '--all', 'x.hlt').out)
    expect('json', {x['pid']: x for x in document['processes']},
           {pid: json.loads(run(place, 'export', '-q', '-f', 'json', row['trace']).out) for pid, row in rows.items()})
    head, *table = run(place, 'export', '-f', 'csv', '--all', 'x.hlt').out.splitlines()
    expect('csv', (head.startswith('pid,program,id,stack,'), len(table)), (True, sum(row['allocations'] for row in rows.values())))
    expect('columns', {line.count(',') for line in table if '"' not in line.split(',', 2)[2]} <= {head.count(',')}, True)
    expect('pids', {int(line.split(',')[0]) for line in table}, {pid for pid, row in rows.items() if row['allocations']})
    run(place, 'export', '-f', 'csv', '-g', 'site', '--all', '-o', 'all.csv', 'x.hlt')
    expect('a table', open('all.csv', encoding='utf-8').readline(), 'pid,program,site,bytes,blocks,bytes_margin\n')
    contains('log', run(place, 'log', '--all', '--json', 'x.hlt', status=2).err, 'cannot be combined', '--process')
    contains('both', run(place, 'info', '--all', '--process', '1', 'x.hlt', status=2).err, 'exclude each other')
    contains('two', run(place, 'report', '--all', 'x.hlt', 'x.hlt', status=2).err, 'takes one trace or the directory')
    contains('dump', run(place, 'dump', 'x.hlt.d', status=2).err, '--process')
    expect('log', run(place, 'log', '--all', 'x.hlt').out.count('=== '), len(rows))
    text = run(place, 'report', '--group', 'process', '--allocated', 'x.hlt').out
    table = re.findall(r'^ +([\d.]+) (\w*B) +([\d,]+) +([\d.]+)% +(?:-|[\d.]+ \w*B)  \S+ \(pid (\d+)\)', text, re.M)
    expect('rows', {int(row[-1]) for row in table}, set(rows))
    answer = json.loads(run(place, 'report', '--group', 'process', '--allocated', '--json', 'x.hlt').out)
    ranking = answer['ranking']
    expect('the ranking', [row['bytes'] for row in ranking], sorted((p['total_bytes'] for p in answer['processes']), reverse=True))
    expect('its processes', {row['pid']: (row['bytes'], row['blocks'], row['share_ppm']) for row in ranking},
           {p['pid']: (p['total_bytes'], p['total_blocks'], p['total_bytes'] * 1000000 // answer['total_bytes']) for p in answer['processes']})
    expect('by blocks', [row['blocks'] for row in json.loads(run(place, 'report', '--group', 'process', '--allocated', '--sort', 'blocks', '--json', 'x.hlt').out)['ranking']],
           sorted((row['blocks'] for row in ranking), reverse=True))
    shares = [float(row[3]) for row in table]
    expect('shares', (shares == sorted(shares, reverse=True), 99 < sum(shares) < 101), (True, True))
    together = json.loads(run(place, 'report', '--all', '--allocated', '--json', 'x.hlt').out)
    expect('sum', together['total_blocks'], sum(row['allocations'] for row in rows.values()))


def test_choice_odd_names(place):
    """a program may have a number or a newline as its name; a directory without traces is said to have none"""
    for name in '123', 'new\nline':
        with open(place.program('ending'), 'rb') as program, open(name, 'wb') as copy:
            copy.write(program.read())
        os.chmod(name, 0o755)
    place.record('/bin/sh', '-c', './123 exit:0; "./new\nline" exit:0; exit 0', options=PLAIN)
    processes(place)
    contains('a number', run(place, 'report', '--process', '123', '--allocated', 'x.hlt').out, '100 blocks')
    done = run(place, 'report', '--process', 'nothing', 'x.hlt', status=2)
    contains('a newline', done.err, '  new\\nline, peak ')
    os.mkdir('none')
    for words in ('report',), ('info',), ('export', '-f', 'collapsed'), ('log',):
        contains(f'{words}', run(place, *words, 'none', status=3).err, 'none has no trace')


def test_only(place):
    """--only and --skip choose programs by patterns, also below programs that are not recorded"""
    script = '/bin/true; /bin/sh -c "/bin/echo; /bin/true; exit 0"; exit 8'
    def recorded(*options, mode='record', env=None):
        if mode == 'record':
            done = place.record('/bin/sh', '-c', script, options=('-q', '-o', 'x.hlt', *options), stdout=subprocess.DEVNULL)
        else:
            done = place.bare('/bin/sh', '-c', script, env={'HEAPLAPSE_OUTPUT': '%p.hlt', **env}, stdout=subprocess.DEVNULL)
        expect(f'{options}: status and stderr', (done.status, done.err), (8, ''))
        names = place.traces()
        infos = [place.ended(name, 10) for name in names]
        place.remove_traces()
        for name in tops():
            if name.endswith('.d'):
                os.unlink(f'{name}/session')
                os.rmdir(name)
        return sorted(os.path.basename(info['program']) for info in infos)
    expect('only', recorded('--only', 'true'), ['true', 'true'])
    expect('two', recorded('--only', 'true', '--only', 'ech?'), ['echo', 'true', 'true'])
    expect('skip', recorded('--skip', '*sh'), ['echo', 'true', 'true'])
    expect('both', recorded('--only', '[et]*', '--skip', 'echo'), ['true', 'true'])
    expect('bare', recorded(mode='bare', env={'HEAPLAPSE_ONLY': 'true,ech?', 'HEAPLAPSE_SKIP': 'echo'}), ['true', 'true'])
    done = place.record('/bin/sh', '-c', 'exit 9', options=('-q', '-o', 'x.hlt', '--only', 'nothing'))
    expect('status', done.status, 9)
    contains('nothing', done.err, 'nothing was recorded', 'that --only asks for;')
    done = place.record('/bin/sh', '-c', 'exit 9', options=('-q', '-o', 'x.hlt', '--only', '*sh', '--skip', '*sh'))
    contains('contradiction', done.err, 'nothing was recorded', 'that --only asks for and --skip leaves over;')
    expect('files', tops(), [])


def test_only_names(place):
    """a link has its own name and that of its file; a script has the name of its interpreter"""
    os.symlink(place.program('ending'), 'called')
    with open('script', 'w', encoding='ascii') as file:
        file.write('#!/bin/sh\nexit 0\n')
    os.chmod('script', 0o755)
    for word, pattern, wanted in (('./called', 'called', True), ('./called', 'transparency_ending', True), ('./called', 'called?', False),
                                  ('./script', 'script', False), ('./script', '*sh', True)):
        place.record(word, 'exit:0', options=('-q', '-o', 'x.hlt', '--only', pattern))
        expect(f'{word} by {pattern}', os.path.exists('x.hlt'), wanted)
        if wanted:
            os.unlink('x.hlt')


def test_shell_words(place):
    """a command line in one word is explained"""
    done = place.record('ls | wc -l')
    expect('status', done.status, 127)
    contains('message', done.err, "heaplapse record sh -c 'ls | wc -l'")


def test_ctl_list(place):
    """ctl list shows each process that is recorded now; doctor takes the pid of record"""
    os.mkfifo('f')
    process = place.start(place.record_command('/bin/sh', '-c', '/bin/cat f; exit 0', options=PLAIN))
    wait_until('a child', lambda: place.traces_of('cat'))
    def ours():
        rows = json.loads(run(place, 'ctl', 'list', '--json').out)['processes']
        return [row for row in rows if row['file'] and row['file'].startswith('x.hlt') and
                os.path.exists(f'/proc/{row["pid"]}/cwd') and os.path.samefile(f'/proc/{row["pid"]}/cwd', '.')]
    wait_until('two processes', lambda: len(ours()) == 2)
    rows = {os.path.basename(row['program']): row for row in ours()}
    cat = rows['cat']
    expect('cat', (cat['file'], cat['mode'], cat['error'], cat['events'] > 0), (f'x.hlt.d/{cat["pid"]}.cat.hlt', 'trace', None, True))
    text = run(place, 'ctl', 'list').out
    contains('text', text, f'{cat["pid"]}  cat ', cat['file'])
    expect('the name of its trace', set(rows), {'cat', 'sh'})
    done = run(place, 'doctor', str(process.pid))
    contains('doctor', done.out, f'process {process.pid} belongs to heaplapse record', 'it is recorded by process')
    contains('ctl', run(place, 'ctl', str(process.pid), 'status').out, 'x.hlt')
    with open('f', 'w', encoding='ascii'):
        pass
    place.finish(process)
    expect('after', ours(), [])
    contains('usage', run(place, 'ctl', 'lst', status=2).err, 'ctl')
    contains('an operand of list', run(place, 'ctl', 'list', 'foo', status=2).err, 'list takes no operand, but "foo" follows it')


def test_outlives(place):
    """a child that outlives record is in the session, and is complete when it has ended"""
    os.mkfifo('f')
    done = place.record('/bin/sh', '-c', '/bin/cat f >/dev/null 2>&1 & exit 0', options=PLAIN, stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL)
    expect('status', done.status, 0)
    wait_until('a child', lambda: place.traces_of('cat'))
    expect('running', [base(row) for row in place.heaplapse.session('x.hlt') if row['running']], ['cat'])
    with open('f', 'w', encoding='ascii'):
        pass
    rows = processes(place)
    (cat,) = [row for row in rows.values() if base(row) == 'cat']
    expect_lossless(place.heaplapse.info(cat['trace']), end=('exit', 0))


main(globals())
