#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sandbox_test - programs that give up rights or change their namespaces: they are still recorded,
or run unrecorded."""
import os
import signal
import subprocess

from transparency import Failure, Skip, children_of, comm_of, contains, expect, expect_lossless, main, unmatched_frees, wait_until


def sizes(place, trace):
    """{size: allocations} of the program's own sizes."""
    found = {}
    for event in place.heaplapse.dump(trace):
        if event.op == 'alloc' and event.size % 1000 == 0:
            found[event.size] = found.get(event.size, 0) + 1
    return found


def expect_accounted(info, found, wanted):
    """Behind a filter a thread must not sleep until there is room: on a busy machine events are
    dropped, but each is counted."""
    if info['complete']:
        expect_lossless(info)
        expect('blocks', found, wanted)
        return
    totals = info['totals']
    seen = totals['allocations'] + totals['frees'] + unmatched_frees(totals)
    missing = 2 * sum(wanted.values()) - seen
    # the dropped events may include libc's allocations for threads
    if not missing <= totals['dropped_events'] <= missing + 100:
        raise Failure(f'{missing} events are missing, {totals["dropped_events"]} are said to be dropped')


def in_sandbox(place, way, status, *wanted):
    program = place.program('sandbox')
    expect('alone', place.run(program, way).status, status)
    for mode in ('record', 'bare'):
        done = place.in_mode(mode, program, way)
        expect(f'{mode}: status and output', (done.status, done.out, done.err), (status, '', ''))
        infos = place.infos(len(wanted))
        for name, info in infos.items():
            found = sizes(place, name)
            expect('end', info['end'], {'kind': 'exit', 'value': status})
            expect_accounted(info, found, next(these for these in wanted if these.keys() & found.keys()))
            os.unlink(name)


BOTH = {1000: 1500, 2000: 1500}


def test_strict(place):
    """seccomp strict mode: neither the counter nor a system call, and nothing is lost"""
    in_sandbox(place, 'strict', 44, BOTH)


def test_filters(place):
    """a seccomp filter that kills, refuses or traps: the recorder makes no call that it rejects"""
    for way in ('kill', 'libseccomp', 'errno', 'trap'):
        in_sandbox(place, way, 44, BOTH)


def test_tsc(place):
    """PR_SET_TSC: the cycle counter is not read"""
    in_sandbox(place, 'tsc', 44, BOTH)


def test_probe(place):
    """a test for seccomp by a call that fails changes nothing"""
    in_sandbox(place, 'probe', 44, BOTH)


def test_threads(place):
    """40 threads that begin behind a filter"""
    in_sandbox(place, 'threads', 45, {1000: 1500, 3000: 4000})


def test_fork(place):
    """a child that is forked behind a filter has its trace"""
    in_sandbox(place, 'fork', 46, {1000: 1500}, {2000: 1500})


def test_exec(place):
    """a program that is started behind a filter is not recorded and says so; its parent's trace ends by exec"""
    expect('alone', place.run(place.program('sandbox'), 'exec').status, 47)
    for mode in ('record', 'bare'):
        done = place.in_mode(mode, place.program('sandbox'), 'exec')
        expect('status and output', (done.status, done.out), (47, ''))
        contains('message', done.err, 'not recorded', 'sandbox (seccomp)')
        expect('lines', done.err.count('\n'), 1)
        expect_lossless(place.info(), end=('exec', 0))
        expect('blocks', sizes(place, place.traces()[0]), {1000: 1500})
        os.unlink(place.traces()[0])


def test_usual_filter(place):
    """a filter that existed before record, as in a container, does not prevent recording"""
    install = ('import ctypes, os, struct, sys\n'
               'code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))\n'
               'class Program(ctypes.Structure): _fields_ = [("n", ctypes.c_ushort), ("code", ctypes.c_void_p)]\n'
               'program = Program(1, ctypes.addressof(code))\n'
               'libc = ctypes.CDLL(None)\n'
               'assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(program)) == 0\n'
               'os.execv(sys.argv[1], sys.argv[1:])\n')
    done = place.run('/usr/bin/python3', '-c', install, *place.record_command(place.program('ending'), 'exit:3'))
    expect('status and stderr', (done.status, done.err), (3, ''))
    expect_lossless(place.info(), 100, 40, ('exit', 3))


def with_rights(place, way):
    os.mkdir('empty')
    alone = place.run(place.program('rights'), way, cwd='empty')
    if alone.status == 77:
        raise Skip(f'{way}: not permitted here')
    expect('alone', alone.status, 50)
    for mode in ('record', 'bare'):
        output = os.path.abspath(f'{mode}.hlt')
        if mode == 'bare':
            done = place.bare(place.program('rights'), way, env={'HEAPLAPSE_OUTPUT': output}, cwd='empty')
        else:
            done = place.record(place.program('rights'), way, options=('-q', '-o', output), cwd='empty')
        expect('status and output', (done.status, done.out, done.err), (50, '', ''))
        infos = place.infos(2, f'{mode}*.hlt')
        for info in infos.values():
            expect_lossless(info)
        expect('blocks', sorted(map(str, (sizes(place, name) for name in infos))),
               sorted(map(str, [{1000: 1500, 2000: 1500}, {3000: 1500}])))
        expect('ends', sorted(info['end']['value'] for info in infos.values()), [50, 51])


def test_chroot(place):
    """chroot into an empty directory"""
    with_rights(place, 'chroot')


def test_uid(place):
    """a change to another user"""
    with_rights(place, 'uid')


def test_mounts(place):
    """its own mount namespace"""
    with_rights(place, 'mounts')


def test_users(place):
    """its own user namespace: needs a program without threads"""
    with_rights(place, 'users')


def test_pids(place):
    """its own pid namespace"""
    with_rights(place, 'pids')


def test_subreaper(place):
    """a subreaper sees no child of the recorder"""
    with_rights(place, 'subreaper')


def test_not_dumpable(place):
    """PR_SET_DUMPABLE 0"""
    with_rights(place, 'dumpable')


def test_no_new_privs(place):
    """PR_SET_NO_NEW_PRIVS"""
    with_rights(place, 'no-new-privs')


def test_mlockall(place):
    """mlockall(MCL_FUTURE) with a limit of 8 MiB"""
    with_rights(place, 'mlockall')


def in_namespace(place, *command, **options):
    done = place.run('unshare', *command, **options)
    if 'unshare: ' in done.err:
        raise Skip(done.err.strip())
    return done


def test_pid_1(place):
    """as process 1 of a namespace: recorded by record, and not recorded, with a message, with LD_PRELOAD alone"""
    ending = (place.program('ending'), 'exit:3')
    done = in_namespace(place, '-p', '-f', '--mount-proc', *place.record_command(*ending))
    expect('record as process 1', (done.status, done.err), (3, ''))
    expect_lossless(place.info(), 100, 40, ('exit', 3))
    os.unlink(place.traces()[0])
    done = place.record('unshare', '-p', '-f', *ending)
    expect('the program as process 1', (done.status, done.err), (3, ''))
    expect_lossless(place.info('*ending*'), 100, 40, ('exit', 3))
    done = in_namespace(place, '-p', '-f', 'env', f'LD_PRELOAD={place.library}', *ending)
    expect('status', done.status, 3)
    contains('message', done.err, 'PID 1', 'heaplapse record')


def test_pid_namespace(place):
    """children in a pid namespace, whose pids differ outside: each trace ends, and no collector stays"""
    in_namespace(place, '-p', '-f', 'true')
    for way, status, traces in (('fork', 21, 2), ('grandchild', 31, 3), ('signal', 134, 2)):
        done = place.record('unshare', '-p', '-f', place.program('family'), way)
        expect('status', done.status, status)
        infos = place.infos(traces, '*family*.hlt')
        # A process that is killed and reaped before the collector could look has an unknown end;
        # all others have a known one.
        kinds = {info['end']['kind'] for info in infos.values()}
        expect(f'{way}: ends', kinds - {'exit', 'signal', 'lost'}, set())
        for info in infos.values():
            expect('dropped', info['totals']['dropped_events'], 0)
        place.remove_traces()


def remaining_files(folder):
    return [name for name in os.listdir(folder) if name.startswith('heaplapse-')]


def in_network(place, way):
    os.mkdir('run', 0o700)
    env = {**os.environ, 'XDG_RUNTIME_DIR': os.path.abspath('run')}
    in_namespace(place, way, 'true')
    done = place.record('unshare', way, place.program('ending'), 'exit:3', env=env)
    expect('status and stderr', (done.status, done.err), (3, ''))
    expect_lossless(place.info('*ending*'), 100, 40, ('exit', 3))
    expect('left over', remaining_files('run'), [])


def test_network(place):
    """a network namespace hides the collector's name: programs executed inside connect to its second socket"""
    in_network(place, '-n')


def test_user_network(place):
    """the same in a user namespace"""
    in_network(place, '-rn')


def test_network_folder(place):
    """the second socket is in a private directory; if no place is safe, there is none"""
    in_namespace(place, '-n', 'true')
    for base in ('run', 'open', 'x' * 100):
        os.mkdir(base, 0o700)
    os.chmod('open', 0o777)
    for base, used in (('run', True), ('open', False), ('x' * 100, False), ('none', False)):
        where = os.path.abspath(base)
        env = {**os.environ, 'XDG_RUNTIME_DIR': where, 'TMPDIR': where}
        show = f'stat -c %a:%u {where}/heaplapse-* 2>&1; echo "$HEAPLAPSE_SOCKET"'
        mode, _, address = place.record('/bin/sh', '-c', show, env=env).out.rpartition('\n')[0].rpartition('\n')
        expect(f'{base}: in the address', where in address, used)
        if used:
            expect('mode and owner', mode, f'700:{os.getuid()}')


def test_network_hidden(place):
    """in a mount namespace where the directory is empty the collector cannot be reached, and a message says so"""
    in_namespace(place, '-n', '-m', 'true')
    os.mkdir('run', 0o700)
    hidden = 'mount -t tmpfs none "$XDG_RUNTIME_DIR" && exec "$@"'
    done = place.record('unshare', '-n', '-m', '/bin/sh', '-c', hidden, 'sh', place.program('ending'), 'exit:3',
                        env={**os.environ, 'XDG_RUNTIME_DIR': os.path.abspath('run')})
    expect('status', done.status, 3)
    contains('message', done.err, 'not recorded', 'network namespace')


def test_network_deaths(place):
    """the directory is removed by the last of collector and record, whichever is killed"""
    os.mkdir('run', 0o700)
    env = {**os.environ, 'XDG_RUNTIME_DIR': os.path.abspath('run')}
    for victim in ('collector', 'record'):
        process = place.start(place.record_command('/bin/sh', '-c', 'echo; read x; exit 3'), env=env,
                              stdin=subprocess.PIPE)
        process.stdout.readline()
        expect('folders', len(remaining_files('run')), 1)
        script = next(pid for pid in children_of(process.pid) if comm_of(pid) == 'sh')
        if victim == 'record':
            process.kill()
        else:
            os.kill(next(pid for pid in children_of(process.pid) if pid != script), signal.SIGKILL)
        process.stdin.write('\n')
        process.stdin.close()
        process.wait()
        wait_until(f'the folder is gone: {victim}', lambda: not remaining_files('run'))
        process.stdout.close()
        process.stderr.close()


def test_no_proc(place):
    """without /proc, for record and for the program"""
    if os.getuid() != 0:
        raise Skip('needs root to unmount')
    for before, command in (('umount -l /proc; exec "$@"', place.record_command(place.program('ending'), 'exit:3')),
                            ('umount -l /proc; LD_PRELOAD=$LIBRARY exec "$@"', [place.program('ending'), 'exit:3'])):
        done = in_namespace(place, '-m', '/bin/sh', '-c', before, 'sh', *command,
                            env={**os.environ, 'LIBRARY': place.library})
        expect('status and stderr', (done.status, done.err), (3, ''))
        expect_lossless(place.info(), 100, 40, ('exit', 3))
        os.unlink(place.traces()[0])


def test_read_only(place):
    """a read-only file system: the trace is written where -o says; otherwise not, with a message"""
    os.mkdir('ro')
    mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'ro', 'tmpfs', 'ro'], stderr=subprocess.DEVNULL)
    if os.getuid() != 0 or mounted.returncode:
        raise Skip('a read-only file system cannot be mounted here')
    try:
        output = os.path.abspath('x.hlt')
        done = place.record(place.program('ending'), 'exit:3', options=('-q', '-o', output), cwd='ro')
        expect('status and stderr', (done.status, done.err), (3, ''))
        expect_lossless(place.info(), 100, 40, ('exit', 3))
        done = place.record(place.program('ending'), 'exit:3', cwd='ro')
        expect('record refuses', done.status, 125)
        contains('message', done.err, 'cannot write the trace', '-o')
        done = place.bare(place.program('ending'), 'exit:3', cwd='ro')
        expect('the program runs', done.status, 3)
        contains('message', done.err, 'not recorded')
    finally:
        subprocess.run(['umount', '-l', 'ro'], check=False)


main(globals())
