#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""doctor_test - doctor predicts what record does: the same messages, and what will be missing."""
import glob
import json
import os
import shutil
import signal
import struct
import subprocess
import sys

from transparency import NOBODY, Failure, Skip, children_of, compiled, contains, expect, main, need_other_user, size_of, wait_until

SOURCE = '#include <stdio.h>\nint main(void) { puts("ran"); return 3; }\n'
OWN = '''#include <stddef.h>
#include <string.h>
%s void *malloc(size_t n);
static char arena[1 << 20];
static size_t used;
void *malloc(size_t n) { void *p = arena + used; used += (n + 15) & ~(size_t)15; return p; }
%s void free(void *p) { (void)p; }
int main(void) { char *p = malloc(10); strcpy(p, "x"); free(p); return 3; }
'''
HIDDEN = '__attribute__((visibility("hidden")))'
MACHINE = {'kernel', 'libc', 'library', 'memory', 'membarrier', 'pidfd', 'clock', 'limits', 'output', 'trial'}


def build(name, *options, compiler='gcc', source=SOURCE):
    if not shutil.which(compiler):
        raise Skip(f'{compiler} is not installed')
    with open('source.c', 'w', encoding='ascii') as file:
        file.write(source)
    compiled(compiler, '-w', '-o', name, 'source.c', *options)
    return './' + name


def doctor(place, *words, prefix=(), status=0, **popen):
    """{check: finding}, the program's before the machine's; both output forms must agree."""
    done = place.run(*prefix, place.binary, 'doctor', '--json', *words, **popen)
    expect(f'doctor {words}: status, stderr', (done.status, done.err), (status, ''))
    answer = json.loads(done.out)
    expect('works', answer['works'], status == 0)
    text = place.run(*prefix, place.binary, 'doctor', *words, **popen)
    expect('status of the text', text.status, status)
    for one in answer['checks'] + answer['machine']:
        if one['verdict'] != 'ok' and 'events' not in one['what']:
            contains(f'{words}: text', text.out, f'{one["verdict"]:8}{one["check"]:13} {one["what"]}', one['remedy'] or '')
    return {one['check']: one for one in answer['machine'] + answer['checks']}


def expect_verdict(found, check, wanted, *parts):
    if check not in found:
        raise Failure(f'nothing was said about {check}: {sorted(found)}')
    expect(f'{check}: {found[check]["what"]}', found[check]['verdict'], wanted)
    contains(check, found[check]['what'] + '; ' + (found[check]['remedy'] or ''), *parts)


def expect_same_as_record(place, program, found, prefix=()):
    """The message and the remedy equal those of record's refusal."""
    done = place.run(*prefix, *place.record_command(program))
    expect('record refuses it', done.status, 125)
    one = next(one for one in found.values() if one['verdict'] == 'fails')
    contains('the refusal', done.err, f'cannot be recorded: {one["what"]}; {one["remedy"]}')


def test_machine(place):
    """without arguments it checks the machine and makes a short recording, of which nothing is left"""
    found = doctor(place)
    bad = [one for one in found.values() if one['verdict'] == 'fails']
    expect('what fails', bad, [])
    expect('what was looked at', MACHINE - set(found), set())
    expect_verdict(found, 'trial', 'ok')
    expect('what is left', os.listdir('.'), [])
    done = place.run(place.binary, 'doctor')
    contains('the last line', done.out, '\n\nPrograms can be recorded here.\n')


def test_program(place):
    """a plain program: all is well, and it is not run"""
    program = build('program', '-g')
    found = doctor(place, program)
    for check in 'loader', 'allocator', 'stacks', 'names', 'trial':
        expect_verdict(found, check, 'ok')
    expect('what is left', sorted(os.listdir('.')), ['program', 'source.c'])
    contains('the last line', place.run(place.binary, 'doctor', program).out, '\n\nIt would be recorded.\n')


def test_refused(place):
    """programs that record refuses fail with record's message: static, machine, sanitizers, musl, scripts of such"""
    static = build('static', '-static')
    with open('script', 'w', encoding='ascii') as file:
        file.write(f'#! {os.path.abspath(static)} -x\n')
    with open('by-env', 'w', encoding='ascii') as file:
        file.write('#!/usr/bin/env -S A=b static\n')
    with open(build('program'), 'rb') as file:
        data = bytearray(file.read())
    data[18] = 183
    with open('arm', 'wb') as file:
        file.write(data)
    for name in 'script', 'by-env', 'arm':
        os.chmod(name, 0o755)
    os.environ['PATH'] += ':' + os.getcwd()
    programs = {static: ('linking', 'statically'), './script': ('linking', 'statically'), './by-env': ('linking', 'statically'),
                build('pie', '-static-pie'): ('linking', 'statically'), './arm': ('architecture', 'x86_64'),
                build('asan', '-fsanitize=address'): ('sanitizer', '-fsanitize'),
                build('tsan', '-fsanitize=thread'): ('sanitizer', '-fsanitize')}
    if shutil.which('musl-gcc'):
        programs[build('musl', compiler='musl-gcc')] = ('loader', 'musl')
    for program, (check, part) in programs.items():
        found = doctor(place, program, status=1)
        expect_verdict(found, check, 'fails', part)
        expect_same_as_record(place, program, found)
    expect('traces', place.traces(), [])


def test_privileges(place):
    """setuid, setgid and file capabilities, run as another user"""
    need_other_user(place, 0o1777)
    program = build('program')
    for mode in 0o4755, 0o2755:
        os.chmod(program, mode)
        found = doctor(place, program, prefix=NOBODY, status=1)
        expect_verdict(found, 'privileges', 'fails', 'setuid')
        expect_same_as_record(place, program, found, NOBODY)
    os.chmod(program, 0o755)
    if shutil.which('setcap') and not subprocess.run(['setcap', 'cap_net_raw+ep', program], stderr=subprocess.DEVNULL).returncode:
        expect_verdict(doctor(place, program, prefix=NOBODY, status=1), 'privileges', 'fails', 'capabilities')
    os.chmod(build('secret'), 0o711)
    expect_verdict(doctor(place, './secret', prefix=NOBODY), 'file', 'note', 'cannot examine')


def test_allocators(place):
    """an allocator in the program: doctor and record say what is not seen; a shared one is fine"""
    exported = build('exported', source=OWN % ('', ''))
    expect_verdict(doctor(place, exported), 'allocator', 'partial', 'its own malloc', 'not recorded')
    done = place.record(exported, options=('-o', 'exported.hlt'))
    expect('status', done.status, 3)
    contains('record', done.err, 'partly recorded', 'its own malloc', 'shared library')
    expect('and so it is', place.info('exported.hlt')['totals']['allocations'], 0)
    hidden = build('hidden', source=OWN % (HIDDEN, HIDDEN))
    expect_verdict(doctor(place, hidden), 'allocator', 'partial', 'an allocator (malloc)', 'those of libraries are')
    compiled('strip', hidden)
    expect_verdict(doctor(place, hidden), 'allocator', 'ok')       # no trace of it is left
    libraries = glob.glob('/usr/lib/*/libjemalloc.so.2')
    if libraries:
        expect_verdict(doctor(place, build('je', '-Wl,--no-as-needed', libraries[0])), 'allocator', 'ok', 'libjemalloc.so.2', 'every call is recorded')


MANY = '#include <stdlib.h>\n' + ''.join(f'void *f{i}(int n) {{ return n ? f{i - 1 if i else 0}(n - 1) : malloc({i} + 1); }}\n' for i in range(40)) + \
    'int main(int n, char **a) { return !f39(n); }\n'


def test_names(place):
    """missing unwind tables, debug information and build-id"""
    found = doctor(place, build('bare', '-Wl,--no-eh-frame-hdr', '-Wl,--build-id=none', '-s'))
    expect_verdict(found, 'stacks', 'partial', 'unwind', '--eh-frame-hdr')
    expect_verdict(found, 'names', 'note', 'stripped', '-g')
    expect_verdict(doctor(place, build('partly', '-O1', '-fno-asynchronous-unwind-tables', '-fno-exceptions', source=MANY)), 'stacks', 'partial', 'functions', '-fasynchronous-unwind-tables')
    expect_verdict(doctor(place, build('wholly', '-O1', source=MANY)), 'stacks', 'ok')
    expect_verdict(found, 'build-id', 'note', '--build-id')
    expect_verdict(doctor(place, build('plain', '-g0')), 'names', 'note', 'build-id', '-g')
    expect_verdict(doctor(place, build('relro', '-Wl,-z,relro,-z,now')), 'loader', 'ok', 'RELRO')
    expect_verdict(doctor(place, build('plugins', source='#include <dlfcn.h>\nint main(void) { return !dlopen("x", 1); }')),
                   'plugins', 'note', 'RTLD_DEEPBIND')


def test_scripts(place):
    """a script is checked by its interpreter; one without a first line by /bin/sh"""
    with open('script', 'w', encoding='ascii') as file:
        file.write('#!/bin/sh\necho ran >ran\n')
    with open('bare', 'w', encoding='ascii') as file:
        file.write('echo ran >ran\n')
    for name in 'script', 'bare':
        os.chmod(name, 0o755)
    expect_verdict(doctor(place, './script'), 'script', 'ok', '/bin/sh')
    expect_verdict(doctor(place, './bare'), 'file', 'note', '/bin/sh')
    expect('nothing was run', os.path.exists('ran'), False)


def test_not_there(place):
    """a program that cannot be run has the same message as in record"""
    open('plain', 'w').close()
    for name in 'none-such', './none-such', './plain', '/', '':
        found = doctor(place, name, status=1)
        done = place.record(name)
        contains('record says the same', done.err, found['program']['what'])
    done = place.run(place.binary, 'doctor', 'a', 'b')
    expect('status', done.status, 2)


def test_cannot_run(place):
    """files that the kernel cannot execute: no loader, no interpreter; record has the same message"""
    scripts = {'none': '#!/none/such -x\n', 'lines': '#!/bin/sh\r\ntrue\r\n', 'itself': '#!./itself\n', 'data': '#!./plain\n', 'plain': 'x'}
    for name, text in scripts.items():
        with open(name, 'w', encoding='ascii', newline='') as file:
            file.write(text)
        os.chmod(name, 0o644 if name == 'plain' else 0o755)
    loaderless = build('loaderless', '-Wl,--dynamic-linker=/none/such/ld.so')
    for program, status, check, *parts in (
            (loaderless, 127, 'loader', 'its loader, /none/such/ld.so, does not exist', 'libc'),
            ('./none', 127, 'script', '/none/such, does not exist', 'first line'), ('./lines', 127, 'script', 'does not exist'),
            ('./data', 126, 'script', './plain, is not executable'), ('./itself', 126, 'script', 'a script whose interpreter is a script')):
        done = place.run(place.binary, 'doctor', program)
        contains(f'{program}: the last line', done.out, '\n\nRecording would fail.\n')
        found = doctor(place, program, status=1) if program != './lines' else None
        if found:
            expect_verdict(found, check, 'fails', *parts)
        done = place.record(program)
        expect(f'record {program}: status and lines', (done.status, done.err.count('\n')), (status, 1))
        contains(f'record {program}', done.err, f'cannot run {program}: ', *parts)
        if found:
            contains(f'record {program}', done.err, f'{found[check]["what"]}; {found[check]["remedy"]}')
    expect('traces', place.traces(), [])


def test_cut_off(place):
    """a file that ends before its segments do, by much and by a byte; data behind them may be missing"""
    with open(build('program'), 'rb') as file:
        data = file.read()
    table, = struct.unpack_from('<Q', data, 32)
    count, = struct.unpack_from('<H', data, 56)
    segments = [struct.unpack_from('<IIQQQQ', data, table + 56 * i) for i in range(count)]
    end = max(at + size for kind, _, at, _, _, size in segments if kind == 1)
    for size, status in ((3000, 1), (end - 1, 1), (end, 0)):
        with open('cut', 'wb') as file:
            file.write(data[:size])
        os.chmod('cut', 0o755)
        found = doctor(place, './cut', status=status)
        if status:
            expect_verdict(found, 'file', 'fails', 'beyond the end of the file')
            expect_same_as_record(place, './cut', found)


def test_damaged(place):
    """truncated or overwritten files are checked without a crash, and always with the same result as in record"""
    with open(build('program', '-g'), 'rb') as file:
        data = file.read()
    cases = [data[:n] for n in (0, 3, 20, 63, 64, 120, 200, 900, 5000, len(data) - 500)]
    for at in [*range(24, 64, 2), *range(64, 64 + 56 * 13, 29), *range(len(data) - 64 * 20, len(data), 67)]:
        cases.append(data[:at] + b'\xff' * 7 + data[at + 7:])
    for number, case in enumerate(cases):
        with open('other', 'wb') as file:
            file.write(case)
        os.chmod('other', 0o755)
        done = place.run(place.binary, 'doctor', './other')
        if done.status not in (0, 1) or done.err:
            raise Failure(f'case {number}: status {done.status}, {done.err!r}')


def test_output(place):
    """an output that record would refuse fails with its message; little space is reported"""
    open('x.hlt', 'w').close()
    os.mkdir('open')
    os.chmod('open', 0o777)
    for name in 'x.hlt', 'none/x.hlt', '%q', 'open/x.hlt':
        found = doctor(place, '-o', name, status=1)
        done = place.record('/bin/true', options=('-o', name))
        expect(f'{name}: record says', done.err, f'heaplapse: {found["output"]["what"]}\n')
    found = doctor(place, env={**os.environ, 'HEAPLAPSE_OUTPUT': 'none/x.hlt'}, status=1)
    expect_verdict(found, 'output', 'fails', 'none/x.hlt')
    found = doctor(place, env={**os.environ, 'HEAPLAPSE_DEPTH': 'x'}, status=1)
    expect_verdict(found, 'environment', 'fails', 'HEAPLAPSE_DEPTH')
    if os.getuid() == 0 and not subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=4m', 'none', 'open'], stderr=subprocess.DEVNULL).returncode:
        try:
            expect_verdict(doctor(place, '-o', 'open/x.hlt'), 'output', 'partial', 'little space')
        finally:
            subprocess.run(['umount', '-l', 'open'], check=True)     # a collector may still be writing its last line


def test_limits(place):
    """limits of address space and file size"""
    # a build with a sanitizer needs more than that
    if place.run('/bin/sh', '-c', f'ulimit -v 200000; exec {place.binary} version').status == 0:
        done = place.run('/bin/sh', '-c', f'ulimit -v 200000; exec {place.binary} doctor')
        expect('status', done.status, 0)
        contains('text', done.out, 'partial limits', 'ulimit -v')
    done = place.run('/bin/sh', '-c', f'ulimit -f 4; exec {place.binary} doctor')
    expect('status', done.status, 1)
    contains('text', done.out, 'fails   memory', 'ulimit')
    done = place.run('/bin/sh', '-c', f'ulimit -S -f 4; exec {place.binary} doctor')
    expect('status with a soft limit', done.status, 0)


def test_library(place):
    """heaplapse without its library, or with it where the loader cannot load it"""
    for folder, part, remedy in (('alone', 'neither beside', 'install it there'), ('a folder', 'space or colon', 'install it elsewhere')):
        os.mkdir(folder)
        shutil.copy(place.binary, f'{folder}/heaplapse')
        if folder != 'alone':
            shutil.copy(place.library, f'{folder}/libheaplapse.so')
        done = place.run(f'{folder}/heaplapse', 'doctor')
        expect('status', done.status, 1)
        contains('text', done.out, 'fails   library', part, remedy)
        record = place.run(f'{folder}/heaplapse', 'record', '/bin/true')
        expect('status of record', record.status, 125)
        contains('record', record.err, part, remedy)
    # a library of another version, or not a library: only a trial finds out
    os.mkdir('broken')
    shutil.copy(place.binary, 'broken/heaplapse')
    with open('broken/libheaplapse.so', 'w', encoding='ascii') as file:
        file.write('no library')
    done = place.run('broken/heaplapse', 'doctor')
    expect('status', done.status, 1)
    contains('text', done.out, 'fails   trial', 'Recording would fail.')


def test_process(place):
    """a process that runs unrecorded: it must be restarted; the checks for that are reported"""
    process = subprocess.Popen(['/bin/sleep', '60'], env={**os.environ, 'LD_PRELOAD': ''})
    try:
        found = doctor(place, str(process.pid), status=1)
    finally:
        process.kill()
        process.wait()
    expect_verdict(found, 'program', 'ok', 'sleep')
    expect_verdict(found, 'recorder', 'fails', 'heaplapse record')
    for check in 'limits', 'sandbox', 'namespaces', 'rights':
        expect_verdict(found, check, 'ok')
    expect_verdict(doctor(place, str(process.pid), status=1), 'process', 'fails', 'no process')
    for word in '2147483647', '0', '000', '4294967297', '99999999999999999999':
        expect_verdict(doctor(place, word, status=1), 'process', 'fails', f'there is no process {word}')


def test_recorded_process(place):
    """a recorded process: its collector, whether events are dropped, whether the collector is alive"""
    record = place.start(place.record_command('/bin/sleep', '60', options=('-q', '-o', 'x.hlt')))
    wait_until('the trace', lambda: size_of('x.hlt') > 0)
    pids = {open(f'/proc/{pid}/comm').read().strip(): pid for pid in children_of(record.pid)}
    try:
        found = doctor(place, str(pids['sleep']))
        expect_verdict(found, 'collector', 'ok', f'process {pids["heaplapse"]}')
        expect_verdict(found, 'drops', 'ok')
        for pid in record.pid, pids['heaplapse']:
            found = doctor(place, str(pid))
            expect_verdict(found, 'process', 'note', f'process {pid} belongs to heaplapse record', f'process {pids["sleep"]}')
            expect_verdict(found, 'collector', 'ok', f'process {pids["heaplapse"]}')
        os.kill(pids['heaplapse'], signal.SIGSTOP)
        expect_verdict(doctor(place, str(pids['sleep'])), 'collector', 'partial', 'does not respond')
        os.kill(pids['heaplapse'], signal.SIGCONT)
        if os.getuid() == 0 and not place.run(*NOBODY, place.binary, 'version').status:
            found = doctor(place, str(pids['sleep']), '-o', '/tmp/none.%p.hlt', prefix=NOBODY, status=1)
            expect_verdict(found, 'rights', 'note')
        # whether another program could be recorded here is a different question
        expect('status', place.run(place.binary, 'doctor', '-o', 'none/x.hlt', pids['sleep']).status, 0)
    finally:
        os.kill(pids['heaplapse'], signal.SIGCONT)
        os.kill(pids['sleep'], signal.SIGTERM)
        place.finish(record)


SANDBOX = '''
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
allow = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))
filter = struct.pack('HxxxxxxQ', 1, ctypes.addressof(allow))
libc.prctl(38, 1, 0, 0, 0)
if libc.prctl(22, 2, ctypes.c_char_p(filter), 0, 0):
    sys.exit(77)
os.execv('/bin/sh', ['sh', '-c', 'echo ready; read line'])
'''


def start_waiting(command, **popen):
    """A process that has printed its first line and waits."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **popen)
    return process, process.stdout.readline()


def end_process(process):
    process.kill()
    process.communicate()


def test_sandboxed_process(place):
    """seccomp, limits, namespaces and LD_PRELOAD of a process"""
    libraries = glob.glob('/usr/lib/*/libjemalloc.so.2') or ['/lib/x86_64-linux-gnu/libc.so.6']
    process, said = start_waiting([sys.executable, '-c', SANDBOX], env={**os.environ, 'LD_PRELOAD': libraries[0]})
    try:
        if said != 'ready\n':
            raise Skip('no seccomp here')
        subprocess.run(['prlimit', f'--pid={process.pid}', '--as=1000000'], check=True)
        found = doctor(place, str(process.pid), status=1)
    finally:
        end_process(process)
    expect_verdict(found, 'sandbox', 'note', 'seccomp')
    expect_verdict(found, 'LD_PRELOAD', 'ok', libraries[0])
    expect_verdict(found, 'limits', 'partial', 'RLIMIT_AS')
    if os.getuid() != 0:
        return
    process, said = start_waiting(['unshare', '-n', '-m', '/bin/sh', '-c', 'echo ready; read line'])
    try:
        if said == 'ready\n':
            expect_verdict(doctor(place, str(process.pid), status=1), 'namespaces', 'note', 'mnt, net')
    finally:
        end_process(process)


main(globals())
