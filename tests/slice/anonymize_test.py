#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""anonymize_test - anonymized traces: no true name is left in the file, and trees keep their shape.

	anonymize_test.py HEAPLAPSE PHASES DIRECTORY_OF_DECODE.PY
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import case, finish  # noqa: E402

heaplapse, phases = map(os.path.abspath, sys.argv[1:3])
sys.path.insert(0, sys.argv[3])
import decode  # noqa: E402

# Names of the code; and other text that could identify its owner.
CODE = [b'keep_long', b'die_young', b'secret_grow', b'worker', b'phases.c', b'x86_64-linux-gnu']
REST = [b'secret-one', b'secret-two', b'phases', b'their-argument', os.path.dirname(phases).encode()]


def run(*args):
    done = subprocess.run([heaplapse, *args], capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, LC_ALL='C.UTF-8', HEAPLAPSE_CACHE='off'))
    if done.returncode:
        case(False, ' '.join(args), done.stderr)
    return done.stdout


def unpacked(trace):
    """The bytes of the file, and of all decompressed columns."""
    data = open(trace, 'rb').read()
    return data + b''.join(b''.join(c.columns.values()) for c, _ in decode.chunks(data))


def shape(trace, *args):
    """A report without its names, and its names in order."""
    answer = json.loads(run('report', '--json', *args, trace))
    rows = answer.get('nodes', answer.get('sites', []))
    names = [(n.get('function'), n.get('file'), n.get('module')) for n in rows]
    for n in rows:
        for key in 'function', 'file', 'module', 'frames', 'stack':
            n.pop(key, None)
    return answer, names


def is_renaming(before, after):
    """Equal names stay equal, and no two names become one."""
    there, back = {}, {}
    for was, now in zip(before, after):
        for kind, (a, b) in enumerate(zip(was, now)):
            if there.setdefault((kind, a), b) != b or back.setdefault((kind, b), a) != a:
                return False
    return len(before) == len(after)


def samples(trace):
    """The mappings of each sample: (address, the rest of the line without its name, name)."""
    maps, out = decode.Maps(), []
    for c, _ in decode.chunks(open(trace, 'rb').read()):
        for line in maps.part(c) if c.type == 9 else []:
            words = line.split(maxsplit=11)
            if words[0] == 'sample':
                out.append([])
            else:
                out[-1].append((int(words[1], 16), words[2:11], words[11]))
    return out


def check_samples(how, trace, out):
    """The samples of the mappings are the same, with made-up names of files, and moved if everything is made up."""
    was, now = samples(trace), samples(out)
    case(len(was) == len(now) > 0, f'{how}: samples of mappings', (len(was), len(now)))
    steps = {b[0] - a[0] for x, y in zip(was, now) for a, b in zip(x, y)}
    case(len(steps) == 1 and (steps == {0}) == (how == 'names'), f'{how}: mappings are moved by one constant', steps)
    case(all(a[1] == b[1] for x, y in zip(was, now) for a, b in zip(x, y)), f'{how}: what they hold is the same')
    names = {a[2]: b[2] for x, y in zip(was, now) for a, b in zip(x, y)}
    case(names['"[stack]"'] == '"[stack]"' and len(set(names.values())) == len(names) and
         not any('/' in name[2:] for name in names.values()), f'{how}: names of mappings', names)


def check(how, hidden, trace, name=''):
    out = f'{folder}/{name}{how}.hlt'
    run('slice', '-o', out, f'--anonymize={how}', trace)
    content, original = unpacked(out), unpacked(trace)
    for word in hidden:
        case(word not in content, f'{how}: {word.decode()} is not in the file')
    for id in build_ids:
        case(id in original and id not in content, f'{how}: no build-id', id.hex())
    for args in [], ['--leaks'], ['--allocated'], ['--leaks', '--no-default-suppressions'], ['--at=50%']:
        (was, names), (now, made_up) = shape(trace, *args), shape(out, *args)
        case(was == now, f'{how} {args}: numbers, lines and parents are the same')
        few = name and args == ['--at=50%']  # sums are known for some moments only
        case(is_renaming(names, made_up) and (few or names != made_up and len(names) > 3), f'{name} {how} {args}: names are renamed', made_up)
    # The text hides the frames before main and libc's own blocks, as it did with the true names.
    counts = [len(run('report', '--leaks', '--min=0', t).splitlines()) for t in (trace, out)]
    case(counts[0] == counts[1], f'{how}: the text has as many lines', counts)
    check_samples(how, trace, out)
    case('anonymized' in run('info', out) and json.loads(run('info', '--json', out))['cut']['made_up'] == how, f'{how}: info says it')
    said = subprocess.run([heaplapse, 'report', out], capture_output=True, text=True).stderr
    case('not there' not in said and 'names:' not in said, f'{how}: nobody looks for files', said)
    return out


with tempfile.TemporaryDirectory() as folder:
    recorded = f'{folder}/phases.hlt'
    run('record', '-q', '--mmap', '--exit-wait=60', '-o', recorded, '--', phases, '0', 'their-argument')
    run('embed', '-q', recorded)
    listed = [line.split() for line in run('extract', '--list', recorded).splitlines()]
    build_ids = [bytes.fromhex(l[2]) for l in listed if l[0] == 'module']
    case(len(build_ids) > 1, 'there are build-ids to be hidden')

    check('names', CODE, recorded)
    full = check('full', CODE + REST, recorded)
    case(run('extract', '--list', full) == '', 'no files are in it')

    info, was = (json.loads(run('info', '--json', t)) for t in (full, recorded))
    case(info['program'].startswith('module_') and info['command'] == [info['program']] and info['pid'] == 1, 'program', info)
    case(info['totals'] == was['totals'], 'totals are the same')

    def addresses(trace):
        return [int(line.split()[4], 16) for line in run('dump', trace).splitlines() if not line.startswith('extra')]
    steps = {a - b for a, b in zip(addresses(full), addresses(recorded))}
    case(len(steps) == 1 and steps != {0} and next(iter(steps)) % (2 << 20) == 0, 'addresses are shifted by one constant', steps)
    texts = [line.split()[-1] for line in run('dump', full).splitlines() if ' mark ' in line]
    case(len(set(texts)) == 4 and all(t.startswith('"text_') for t in texts), 'marks have made-up names', texts)

    part = f'{folder}/part.hlt'
    run('slice', '-o', part, '--anonymize', '--filter', 'fn:secret_grow', '--range=@mark:secret-two..', recorded)
    case(b'secret_grow' not in unpacked(part), 'the filter is not told')
    second, third = f'{folder}/second.hlt', f'{folder}/third.hlt'
    run('slice', '-o', second, '--filter', 'size:>=1', part)
    case('only blocks that match a filter; size:>=1;' in run('info', second), 'a slice of it still says that there was a filter', run('info', second))
    run('slice', '-o', third, '--filter', 'size:>=2', second)
    case('only blocks that match a filter; size:>=1 size:>=2;' in run('info', third), 'and so does the next', run('info', third))
    again = f'{folder}/again.hlt'
    run('slice', '-o', again, full)
    case(shape(again) == shape(full), 'a slice of it has the same made-up names')
    done = subprocess.run([heaplapse, 'embed', full], capture_output=True, text=True)
    case(done.returncode == 3 and 'is anonymized' in done.stderr, 'embed refuses it', done.stderr)

    # A trace that has only sums, or some blocks in sums only, can be anonymized as a whole but not sliced.
    for mode in 'count', 'cull':
        sums = f'{folder}/{mode}.hlt'
        run('record', '-q', '--mmap', '--exit-wait=60', f'--mode={mode}', '--lifetime=1ms', '-o', sums, '--', phases, '0', 'their-argument')
        data = open(sums, 'rb').read()
        run('embed', '-q', sums)
        case(json.loads(run('info', '--json', sums))['totals']['allocations'] > 0 and 'in sums only' in run('info', sums), f'{mode}: there are sums')
        check('names', CODE, sums, mode)
        full = check('full', CODE + REST, sums, mode)
        info, was = (json.loads(run('info', '--json', t)) for t in (full, sums))
        case(info['totals'] == was['totals'] and info['program'].startswith('module_') and info['pid'] == 1, f'{mode}: totals and program', info)
        case(run('extract', '--list', full) == '', f'{mode}: no files are in it')
        lines = [[l.split(' ')[:4] + l.split(' ')[5:9] for l in run('dump', t).splitlines() if not l.startswith('extra')] for t in (full, sums)]
        case(lines[0] == lines[1] and (mode == 'count' or lines[0]), f'{mode}: what events there are are the same', lines[0][:2])
        if mode == 'cull':
            steps = {a - b for a, b in zip(addresses(full), addresses(sums))}
            case(len(steps) == 1 and steps != {0}, f'{mode}: addresses are shifted by one constant', steps)
        marks = [[l.split(' ')[3:9] for l in run('dump', t).splitlines() if ' mark ' in l] for t in (full, sums)]
        texts = [line.split()[-1] for line in run('dump', full).splitlines() if ' mark ' in line]
        case(marks[0] == marks[1] and len(set(texts)) == 4 and all(t.startswith('"text_') for t in texts), f'{mode}: marks have made-up names', texts)
        for args in ['--snapshots'], ['--timeline']:
            said = [json.loads(run('report', '--json', *args, t)) for t in (full, sums)]
            for answer in said:
                for entry in answer.get('marks', []) + answer.get('snapshots', []):
                    entry.pop('name', None)
                    entry.pop('label', None)
                answer.pop('trace', None)
            case(said[0] == said[1], f'{mode} {args}: the same moments', str(said)[:1000])
        again = f'{folder}/{mode}-again.hlt'
        run('slice', '-o', again, '--anonymize', full)
        case(shape(again, '--allocated')[0] == shape(full, '--allocated')[0], f'{mode}: it can be renamed once more')
        for option in '--range=0..1ms', '--filter=size:>1', '--min-life=1us':
            for more in [], ['--anonymize']:
                done = subprocess.run([heaplapse, 'slice', '-o', f'{folder}/no.hlt', option, *more, sums], capture_output=True, text=True)
                case(done.returncode == 3 and 'needs every event' in done.stderr and not os.path.exists(f'{folder}/no.hlt'), f'{mode} {option} {more} is refused', done.stderr)
        broken = f'{folder}/{mode}-broken.hlt'
        open(broken, 'wb').write(data[:len(data) // 2] + b'?' * 64 + data[len(data) // 2 + 64:])
        done = subprocess.run([heaplapse, 'slice', '-o', f'{folder}/no.hlt', '--anonymize', broken], capture_output=True, text=True)
        case(done.returncode == 3 and 'cannot be read' in done.stderr and not os.path.exists(f'{folder}/no.hlt'), f'{mode}: one that is damaged is refused', done.stderr)
        done = subprocess.run(f'ulimit -f 1; exec {heaplapse} slice -o {folder}/no.hlt --anonymize {sums}', shell=True, capture_output=True, text=True)
        case(done.returncode == 3 and 'no.hlt' in done.stderr and not os.path.exists(f'{folder}/no.hlt'), f'{mode}: a full disk leaves nothing behind', f'{done.returncode} {done.stderr}')
finish()
