#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""embed_test - a trace with embedded files has its names on any machine, and `extract` restores the
files unchanged.

	embed_test.py HEAPLAPSE PHASES MKTRACE LIBHEAPLAPSE DIRECTORY_OF_DECODE.PY
"""
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import case, finish, skipped  # noqa: E402

heaplapse, phases, mktrace, library = map(os.path.abspath, sys.argv[1:5])
sys.path.insert(0, sys.argv[5])
import decode  # noqa: E402

ENV = dict(os.environ, LC_ALL='C.UTF-8', HEAPLAPSE_CACHE='off', DEBUGINFOD_URLS='')


def run(*args, **more):
    return subprocess.run([heaplapse, *args], capture_output=True, text=True, timeout=120, **dict({'env': ENV}, **more))


def run_ok(*args, **more):
    done = run(*args, **more)
    if done.returncode:
        case(False, ' '.join(args), done.stderr)
    return done.stdout


def files(trace):
    return [line.split(None, 3) for line in run_ok('extract', '--list', trace).splitlines()]


def record(*args):
    """Records a copy of the program, which can be deleted later."""
    program, trace = f'{folder}/app', f'{folder}/app.hlt'
    shutil.copy(phases, program)
    run_ok('record', '-q', '-f', '-o', trace, *args, '--', program)
    return program, trace


def names_without_files():
    program, trace = record()
    before, events = run_ok('report', '--json', trace), run_ok('dump', trace)
    inode = os.stat(trace).st_ino
    said = run('embed', trace).stderr
    case('embedded' in said and os.stat(trace).st_ino != inode, 'embed', said)
    case(run_ok('report', '--json', trace) == before and run_ok('dump', trace) == events, 'embed changes no number and no name')
    known = json.loads(run_ok('info', '--verify', '--json', trace))
    case(known['damage'] is None and known['complete'], 'the trace is whole', known['damage'])
    kinds = files(trace)
    modules = [f for f in kinds if f[0] == 'module']
    case(len({f[2] for f in modules}) == len(modules) and any(f[3] == program for f in modules), 'each file once', kinds)
    size = os.stat(trace).st_size
    case('nothing new' in run('embed', trace).stderr and os.stat(trace).st_size == size, 'again: nothing is new')

    os.rename(program, program + '.away')
    case('keep_long' in run_ok('report', '--peak', trace), 'without the program the names are there')
    part = f'{folder}/part.hlt'
    run_ok('slice', '-q', '-f', '-o', part, '--range=50%..', trace)
    case('keep_long' in run_ok('report', '--peak', part) and files(part) == kinds, 'a slice carries them, too')
    copy = f'{folder}/root'
    run_ok('extract', '-d', copy, trace)
    with open(copy + program, 'rb') as a, open(phases, 'rb') as b:
        case(a.read() == b.read(), 'extract gives back the program, to the byte')
    run_ok('slice', '-q', '-f', '-o', part, '--anonymize', trace)
    case(files(part) == [], 'an anonymous slice carries none')
    os.rename(program + '.away', program)
    return trace, before


def in_chroot(trace, before):
    """A root directory with only the libraries that heaplapse itself needs."""
    root = f'{folder}/chroot'
    os.mkdir(root)
    for lib in re.findall(r'/\S+', subprocess.run(['ldd', heaplapse], capture_output=True, text=True).stdout):
        if os.path.exists(lib):
            os.makedirs(root + os.path.dirname(lib), exist_ok=True)
            shutil.copy(lib, root + lib)
    shutil.copy(heaplapse, f'{root}/heaplapse')
    shutil.copy(trace, f'{root}/app.hlt')
    command = ['chroot', root, '/heaplapse', 'report', '--json', '/app.hlt']
    if os.geteuid() != 0:
        command = ['unshare', '-r', *command]
    done = subprocess.run(command, capture_output=True, text=True, env=ENV, timeout=120)
    if done.returncode == 1 or 'heaplapse' not in done.stderr and done.returncode:
        skipped('in an empty chroot', 'neither root nor user namespaces: ' + done.stderr.strip())
    else:
        case(done.returncode == 0 and done.stdout == before, 'in an empty chroot the report is the same', done.stderr)


def while_recording():
    program, trace = record('--embed-binaries')
    os.unlink(program)
    case('keep_long' in run_ok('report', '--peak', trace), 'record --embed-binaries')
    bare = f'{folder}/bare.hlt'
    shutil.copy(phases, program)
    subprocess.run([program], stdout=subprocess.DEVNULL, check=True,
                   env=dict(ENV, LD_PRELOAD=library, HEAPLAPSE_OUTPUT=bare, HEAPLAPSE_EMBED_BINARIES='1'))
    for _ in range(300):  # the program does not wait for it, so the test must
        if os.path.exists(bare) and 'has no embedded files' not in run('extract', '--list', bare).stderr:
            break
        time.sleep(0.1)
    case(any(f[3] == program for f in files(bare)), 'HEAPLAPSE_EMBED_BINARIES under a bare LD_PRELOAD', files(bare))


def replaced():
    program, trace = record()
    build_id = next(l.split()[-1] for l in subprocess.run(['readelf', '-n', phases], capture_output=True, text=True,
                                                          ).stdout.splitlines() if 'Build ID' in l)
    data = open(phases, 'rb').read()
    id_bytes = bytes.fromhex(build_id)
    os.unlink(program)
    with open(program, 'wb') as f:
        f.write(data.replace(id_bytes, id_bytes[::-1]))
    done = run('embed', trace)
    case(done.returncode == 0 and f'skipped {program}: it was rebuilt' in done.stderr, 'a rebuilt program is left out', done.stderr)
    case(all(f[3] != program for f in files(trace)) and files(trace), 'and the others are there', files(trace))
    case(run('embed', '--strict', trace).returncode == 4, 'embed --strict')
    os.unlink(program)
    done = run('embed', trace)
    case(f'skipped {program}: the file does not exist' in done.stderr, 'a program that is gone', done.stderr)
    shutil.copy(phases, program)
    run_ok('embed', trace)
    case(sum(f[3] == program for f in files(trace)) == 1, 'a later embed adds what was missing')


def truncated_module():
    """A truncated file with the right build-id must not be embedded: it would be used instead of
    the good file forever."""
    program, trace = record()
    data = open(phases, 'rb').read()
    # Without most of it; without only the last section header.
    for size in 5000, len(data) - 1:
        os.unlink(program)
        with open(program, 'wb') as f:
            f.write(data[:size])
        done = run('embed', trace)
        case(done.returncode == 0 and done.stderr.count(f'skipped {program}: it is truncated') == 1,
             f'a program of {size} of {len(data)} bytes is left out, which is said once', done.stderr)
        case(all(f[3] != program for f in files(trace)) and files(trace), 'and the others are there', files(trace))
        case(run('embed', '--strict', trace).returncode == 4, 'a file that is cut off: embed --strict')
    shutil.copy(phases, program)
    run_ok('embed', trace)
    case(sum(f[3] == program for f in files(trace)) == 1, 'the whole one is taken later')


def small_disk():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))


def refused():
    program, trace = record()
    data = open(trace, 'rb').read()

    def unchanged(status, words, *args, **more):
        before = sorted(os.listdir(folder)), open(args[-1], 'rb').read()
        done = run('embed', *args, **more)
        case(done.returncode == status and words in done.stderr, f'embed: {words}', f'{done.returncode} {done.stderr}')
        case((sorted(os.listdir(folder)), open(args[-1], 'rb').read()) == before, f'{words}: nothing has changed')
    unchanged(3, 'the existing file is unchanged', trace, preexec_fn=small_disk)
    unchanged(3, 'no file was left', '-o', f'{folder}/new.hlt', trace, preexec_fn=small_disk)
    unchanged(2, 'a trace cannot be written to stdout', '-o', '-', trace)
    with open(f'{folder}/taken.hlt', 'w') as f:
        f.write('precious')
    unchanged(3, 'is not overwritten', '-o', f'{folder}/taken.hlt', trace)
    unchanged(3, 'not a heaplapse trace', phases)
    bad = f'{folder}/bad.hlt'
    for what, content in ('cut off', data[:-400]), ('damaged', data[:len(data) // 2] + b'damage!!' + data[len(data) // 2 + 8:]):
        with open(bad, 'wb') as f:
            f.write(content)
        unchanged(3, 'is damaged and was not changed', bad)
    case(run('embed').returncode == 2 and run('extract').returncode == 2, 'both want a trace')
    done = run('extract', trace)
    case(done.returncode == 0 and 'has no embedded files' in done.stderr, 'extract where there is nothing', done.stderr)

    live = f'{folder}/live.hlt'
    p = subprocess.Popen([heaplapse, 'record', '-q', '-o', live, phases, '60'], stdout=subprocess.DEVNULL, env=ENV)
    try:
        for _ in range(600):
            if os.path.exists(live) and 'secret-end' in run('dump', live).stdout:
                break
            time.sleep(0.1)
        done = run('embed', live)
        case(done.returncode == 3 and 'still being written' in done.stderr, 'embed: in mid-recording', done.stderr)
    finally:
        p.terminate()
        p.wait()
    os.symlink(trace, f'{folder}/link.hlt')
    run_ok('embed', f'{folder}/link.hlt')
    case(os.path.islink(f'{folder}/link.hlt') and files(trace), 'through a link: what it leads to')


def put_nul(path):
    """Replaces the @ in an embedded file's path by a NUL and recomputes the checksums."""
    data = bytearray(open(path, 'rb').read())
    place = data.index(b'/n@l')
    head = data.rindex(data[64:72], 0, place)
    directory = 112 + 16 * decode.u(data, head + 28, 4)
    data[place + 2] = 0
    at = head + directory
    for d in range(head + 112, head + directory, 16):
        packed = decode.u(data, d + 8, 4)
        data[d + 12:d + 16] = decode.crc32c(data[at:at + packed]).to_bytes(4, 'little')
        at += packed
    crc = decode.crc32c(data[head:head + 12] + bytes(4) + data[head + 16:head + directory])
    data[head + 12:head + 16] = crc.to_bytes(4, 'little')
    with open(path, 'wb') as f:
        f.write(data)


UNSEEN = ['/ok/bad%1b[2J', '/ok/two%0alines', '/ok%7f/del', '/n@l']  # @: becomes a NUL
EVIL = ['../evil', '/../../evil', 'a/../../evil', '..', '.', '/', 'a/..', 'lib/../../../evil', 'x/./../evil']


def hostile():
    trace, inner = f'{folder}/hostile.hlt', f'{folder}/outer/inner'
    os.makedirs(inner)
    lines = [f'file 0 {name} - {phases}' for name in EVIL + UNSEEN]
    lines += [f'file 0 /ok/./g%c3%b6%c3%b6d - {phases}', f'file 0 /through/link - {phases}', f'file 0 /there - {phases}',
              f'file 1 /usr/lib/debug/../../x.debug aabbcc {phases}', 'end 0 0 100']
    subprocess.run([mktrace, trace], input='\n'.join(lines) + '\n', text=True, check=True)
    put_nul(trace)
    os.symlink(folder, f'{inner}/through')
    with open(f'{inner}/there', 'w') as f:
        f.write('precious')
    before = sorted(os.listdir(folder))
    done = run('extract', '-d', inner, trace)
    found = sorted(os.path.relpath(os.path.join(d, f), inner) for d, _, fs in os.walk(inner) for f in fs)
    case(done.returncode == 3 and found == ['ok/g\u00f6\u00f6d', 'there', 'usr/lib/debug/.build-id/aa/bbcc.debug'],
         'hostile names: only the good ones are there', (found, done.stderr))
    case(done.stderr.count('skipped ') == len(EVIL) + len(UNSEEN) + 2, 'each that is left out is named', done.stderr)
    case(done.stderr.count('its path has control characters') == len(UNSEEN), 'a path with a NUL or an escape is refused', done.stderr)
    case(open(f'{inner}/there').read() == 'precious', 'nothing is overwritten')
    case(os.listdir(f'{folder}/outer') == ['inner'] and sorted(os.listdir(folder)) == before, 'nothing lies outside')
    case('\x1b' not in done.stderr and '\x1b' not in run_ok('extract', '--list', trace), 'no escapes on the terminal')
    done = run('extract', '-d', f'{folder}/disk', trace, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)) or
               signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
    case(done.returncode == 3 and not [f for _, _, fs in os.walk(f'{folder}/disk') for f in fs], 'a full disk: no half file',
         done.stderr)


with tempfile.TemporaryDirectory() as folder:
    embedded, report = names_without_files()
    in_chroot(embedded, report)
    while_recording()
    replaced()
    truncated_module()
    refused()
    hostile()
finish()
