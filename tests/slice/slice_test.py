#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""slice_test - a slice has exactly the events of the run, says what was removed, and is written
completely or not at all.

	slice_test.py HEAPLAPSE PHASES GEN_TRACE DIRECTORY_OF_DECODE.PY
"""
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import case, finish  # noqa: E402

heaplapse, phases, gen_trace, docs = map(os.path.abspath, sys.argv[1:5])
OWN = 'fn:keep_long,die_young,secret_grow'


def run(*args, **more):
    return subprocess.run([heaplapse, *args], capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, LC_ALL='C.UTF-8', HEAPLAPSE_CACHE='off'), **more)


def run_ok(*args):
    done = run(*args)
    if done.returncode:
        case(False, ' '.join(args), done.stderr)
    return done.stdout


def info(trace):
    return json.loads(run_ok('info', '--verify', '--json', trace))


def total(trace, *args):
    answer = json.loads(run_ok('report', '--json', *args, trace))
    return [answer['total_blocks'], answer['total_bytes']]


def slice_(trace, *args):
    """Makes a slice; returns it and the messages."""
    out = f'{folder}/slice-{slice_.n}.hlt'
    slice_.n += 1
    done = run('slice', '-o', out, *args, trace)
    case(done.returncode == 0, f'slice {" ".join(args)}', done.stderr)
    return out, done.stderr


slice_.n = 0


def is_complete(trace, what):
    """The trace has no damage, and the reader written from the document alone (docs/decode.py) agrees."""
    known = info(trace)
    case(known['damage'] is None, f'{what}: is whole', known['damage'])
    other = subprocess.run([sys.executable, f'{docs}/decode.py', trace], capture_output=True, text=True)
    case(other.returncode == 0 and other.stdout == run_ok('dump', trace), f'{what}: decode.py reads the same', other.stderr)
    return known


def sums(trace, original, what):
    known, was = info(trace), info(original)
    cut, now = known['cut'], known['totals']
    case(cut is not None and now['allocations'] + cut['left_out_allocations'] == was['totals']['allocations'] and
         now['bytes_allocated'] + cut['left_out_bytes'] == was['totals']['bytes_allocated'],
         f'{what}: what is there and what is left out are all', known)


def ranges(trace, truth):
    for i, begin, end in (0, '@mark:secret-one', '@mark:secret-two'), (1, '@mark:secret-two', '@mark:secret-three'), \
            (2, '@mark:secret-three', '@mark:secret-end'):
        phase = truth['phases'][i]
        out, _ = slice_(trace, f'--range={begin}..{end}')
        known = is_complete(out, phase['name'])
        sums(out, trace, phase['name'])
        start = f'{known["cut"]["from_ns"]}ns'
        older = total(out, '--allocated', '--filter', OWN)[0] - phase['made'][0]
        case(older == phase['live'][0], f'{phase["name"]}: blocks that were live are there', older)
        case(total(out, '--growth', f'{begin}..', '--filter', OWN)[0] > 0, f'{phase["name"]}: grows')
        # The mark itself is the position: not its time, which other events may share.
        case(total(out, '--allocated', f'--range={begin}..', '--filter', OWN) == phase['made'],
             f'{phase["name"]}: allocated', start)
        case(total(out, '--at=@end', '--filter', OWN) == phase['end'], f'{phase["name"]}: live at its end')
        case(total(out, f'--at={begin}', '--filter', OWN) == phase['live'], f'{phase["name"]}: live at its start')
        case(known['end']['kind'] == 'stopped' and 'leaked' not in run_ok('report', '--leaks', out).splitlines()[0],
             f'{phase["name"]}: nothing is called leaked', known['end'])
    out, said = slice_(trace, '--range=@mark:secret-two..')
    case(info(out)['end'] == info(trace)['end'] and total(out, '--leaks', '--filter', OWN) == truth['left'] and
         'leaked' in run_ok('report', '--leaks', out).splitlines()[0], 'to the end: leaks are those of the run', said)
    again, _ = slice_(out, '--range=..@mark:secret-three')
    case(total(again, '--at=@end', '--filter', OWN) == truth['phases'][1]['end'] and
         info(again)['cut']['from_ns'] == info(out)['cut']['from_ns'], 'a slice of a slice', info(again))
    sums(again, trace, 'a slice of a slice')


def choices(trace, truth):
    out, _ = slice_(trace, '--min-life=10ms')
    known = is_complete(out, 'min-life')
    sums(out, trace, 'min-life')
    case(total(out, '--allocated', '--filter', 'fn:die_young') == [0, 0], 'min-life: what dies young is gone')
    case(total(out, '--leaks', '--filter', OWN) == truth['left'] and 'leaked' in run_ok('report', '--leaks', out),
         'min-life: leaks are those of the run')
    for args in ['--at=50%'], ['--allocated'], ['--at=@end'], ['--growth=30%..']:
        case(total(out, *args) == total(trace, *args, '--filter', 'life:>=10ms'), f'min-life: {args} as by a filter')
    case(known['cut']['min_life_ns'] == 10000000 and known['cut']['range'] is False, 'min-life: is said', known['cut'])

    out, said = slice_(trace, '--filter', 'fn:secret_grow')
    is_complete(out, 'filter')
    case(total(out, '--allocated') == truth['grown'], 'filter: allocations of one function')
    case(info(out)['cut']['filter'] == 'fn:secret_grow', 'filter: is said')
    case('fn:secret_grow' in run_ok('info', out) and 'a part of a recording' in run('report', out).stderr,
         'filter: info and report say it')
    out, said = slice_(trace, '--filter', 'fn:nothing_has_this_name')
    known = is_complete(out, 'no match')
    case(known['totals']['allocations'] == 0 and '0 of' in said, 'no match: a valid empty trace', known)
    for view in 'report', 'dump':
        case(run(view, out).returncode == 0, f'no match: {view}')
    for f in 'fn:die_young', 'size:>20', 'thread:0', 'fn:secret_grow':
        out, _ = slice_(trace, '--filter', f)
        case(total(out, '--temporary') == total(trace, '--temporary', '--filter', f), f'{f}: temporary ones',
             total(out, '--temporary'))


def nothing_cut(trace):
    out, _ = slice_(trace)
    for args in [], ['--leaks'], ['--allocated'], ['--temporary'], ['--at=40%'], ['--sites'], ['--threads'], ['--lifetimes']:
        case(run_ok('report', '--json', *args, out) == run_ok('report', '--json', *args, trace), f'nothing cut: {args}')
    case(info(out)['totals'] == info(trace)['totals'], 'nothing cut: totals')


# Many chunks; stacks have no names, so no filter needs names.
LARGE = {'plain': ['--nodes=200', '--live=5000'], 'strange': ['--nodes=500', '--live=2000', '--strange', '--free-stacks']}


def large(name, options):
    trace = f'{folder}/{name}.hlt'
    subprocess.run([gen_trace, '-n', '300000', *options, '-o', trace], check=True)
    out, _ = slice_(trace, '--range=30%..70%')
    is_complete(out, name)
    sums(out, trace, name)
    end = info(trace)['duration_ns']
    for percent in 30, 41, 50, 66, 70:
        at = f'--at={end * percent // 100}ns'
        case(total(out, at) == total(trace, at), f'{name}: live at {percent} %', (total(out, at), total(trace, at)))
    span = f'--range={end * 30 // 100}ns..{end * 70 // 100}ns'
    for quantity in '--allocated', '--temporary':
        case(total(out, quantity, span) == total(trace, quantity, span), f'{name}: {quantity}',
             (total(out, quantity, span), total(trace, quantity, span)))
    for f in 'size:>=256 thread:1', 'life:<1us', 'size:<64':
        out, _ = slice_(trace, '--filter', f, '--range=..80%')
        span = f'--range=..{end * 80 // 100}ns'
        for quantity in '--allocated', '--temporary':
            case(total(out, quantity, span) == total(trace, quantity, span, '--filter', f), f'{name}, {f}: {quantity}',
                 (total(out, quantity, span), total(trace, quantity, span, '--filter', f)))


def refused(status, words, *args, **more):
    before = sorted(os.listdir(folder))
    done = run('slice', *args, **more)
    case(done.returncode == status and words in done.stderr, f'slice {" ".join(args)}: {words}',
         f'{done.returncode}: {done.stderr}')
    case(sorted(os.listdir(folder)) == before, f'{words}: no file is left', set(os.listdir(folder)) ^ set(before))


def small_disk():
    """Like a full disk: no file may grow beyond 64 KiB."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))


def bad_input(trace):
    new, big = f'{folder}/new.hlt', f'{folder}/plain.hlt'
    refused(2, 'no output file', trace)
    refused(2, 'which trace', '-o', new, cwd='/')
    refused(2, 'nowhere', '-o', new, '--range=@mark:nowhere..', trace)
    refused(2, 'the recording ends at', '-o', new, '--range=1h..', trace)
    refused(2, 'before its start', '-o', new, '--range=20ms..10ms', trace)
    refused(2, 'range of times', '-o', new, '--range=5', trace)
    refused(2, 'a duration', '-o', new, '--min-life=fast', trace)
    refused(2, 'op= applies only to dump', '-o', new, '--filter=op=free', trace)
    refused(2, '"much" is not names or full', '-o', new, '--anonymize=much', trace)
    case(run('slice', '-o', new, '--anonymize=much', trace).stderr.splitlines()[0].endswith('names or full'), 'and nothing behind it')
    refused(2, 'a trace cannot be written to stdout', '-o', '-', trace, cwd=folder)
    refused(3, 'is not a heaplapse trace', '-o', new, phases)
    refused(3, 'does not exist', '-o', new, f'{folder}/nothing')
    refused(3, 'no file was left', '-o', new, big, preexec_fn=small_disk)
    refused(3, 'cannot write the trace', '-o', f'{folder}/no/such/folder.hlt', trace)
    with open(new, 'w') as f:
        f.write('precious')
    refused(3, 'exists and is not overwritten', '-o', new, trace)
    refused(3, 'the existing file is unchanged', '-f', '-o', new, big, preexec_fn=small_disk)
    case(open(new).read() == 'precious', 'a full disk leaves what was there')
    os.unlink(new)
    os.symlink(f'{folder}/elsewhere', new)
    refused(3, 'exists and is not overwritten', '-o', new, trace)
    case(run('slice', '-q', '-f', '-o', new, trace).returncode == 0 and not os.path.islink(new) and
         not os.path.exists(f'{folder}/elsewhere') and os.stat(new).st_mode & 0o777 == 0o600,
         '-f replaces a link, not what it leads to')
    os.mkdir(f'{folder}/open')
    os.chmod(f'{folder}/open', 0o777)
    refused(3, 'world-writable', '-o', f'{folder}/open/x.hlt', trace)
    shutil.copy(trace, f'{folder}/self.hlt')
    case(run('slice', '-f', '-o', f'{folder}/self.hlt', f'{folder}/self.hlt').returncode == 0 and
         info(f'{folder}/self.hlt')['totals'] == info(trace)['totals'], 'in place of itself')


def damaged(trace):
    """The events before a loss are sliced, and the slice claims no more than it has."""
    data = open(f'{folder}/plain.hlt', 'rb').read()
    bad = f'{folder}/bad.hlt'
    for name, content in ('truncated', data[:len(data) * 6 // 10]), \
            ('damaged', data[:len(data) // 2] + bytes([data[len(data) // 2] ^ 255]) + data[len(data) // 2 + 1:]):
        with open(bad, 'wb') as f:
            f.write(content)
        out, said = slice_(bad)
        known = is_complete(out, name)
        case(known['end']['kind'] == 'lost' and not known['complete'] and known['totals']['allocations'] > 1000 and
             'trace' in said, f'{name}: the end is not known', (known, said))
        at = f'--at={known["duration_ns"] // 2}ns'
        case(total(out, at) == total(f'{folder}/plain.hlt', at), f'{name}: what is there is exact')
        case(run('slice', '--strict', '-f', '-o', out, bad).returncode == 4, f'{name}: --strict')


def samples(trace):
    """The samples of the mappings: [(time, lines)]."""
    out = subprocess.run([sys.executable, f'{docs}/decode.py', '--maps', trace], capture_output=True, text=True, check=True)
    found = []
    for line in out.stdout.splitlines():
        if line.startswith('sample'):
            found.append((int(line.split()[1]), [line]))
        else:
            found[-1][1].append(line)
    return found


def mappings(folder):
    """A slice has the samples of its range."""
    trace, out = f'{folder}/maps.hlt', f'{folder}/maps.cut.hlt'
    run_ok('record', '-q', '--mmap', '--exit-wait=60', '-o', trace, '--', phases, '3')
    whole = samples(trace)
    case(len(whole) >= 3, 'samples of mappings', len(whole))
    middle = whole[2][0]
    for option, kept in (f'--range=0..{middle}ns', whole[:3]), (f'--range={middle}ns..', whole[2:]), ('--filter=size:>1M', whole):
        run_ok('slice', '-f', '-o', out, option, trace)
        case(samples(out) == kept, f'{option}: samples of mappings', [at for at, _ in samples(out)])


def recording(trace):
    live = f'{folder}/live.hlt'
    p = subprocess.Popen([heaplapse, 'record', '-q', '-o', live, phases, '60'], stdout=subprocess.DEVNULL)
    try:
        for _ in range(600):
            if os.path.exists(live) and 'secret-end' in run('dump', live).stdout:
                break
            time.sleep(0.1)
        out, said = slice_(live, '--range=@mark:secret-two..')
        case('still being written' in said and info(out)['end']['kind'] == 'lost', 'in mid-recording: says so', said)
        case(total(out, '--allocated', '--filter', 'fn:secret_grow')[0] > 0, 'in mid-recording: has what is there')
    finally:
        p.terminate()
        p.wait()


with tempfile.TemporaryDirectory() as folder:
    recorded = f'{folder}/phases.hlt'
    counted = json.loads(run_ok('record', '-q', '-o', recorded, '--', phases))
    ranges(recorded, counted)
    choices(recorded, counted)
    nothing_cut(recorded)
    for key, values in LARGE.items():
        large(key, values)
    bad_input(recorded)
    damaged(recorded)
    recording(recorded)
    mappings(folder)
finish()
