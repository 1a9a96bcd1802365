#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""source_test - source files with the bytes of their lines: the numbers, where the files are looked for, and what is never read.

	source_test.py HEAPLAPSE MKTRACE GEN-TRACE STEPS STEPS-MOVED

STEPS-MOVED is the same program, whose debug information names files below /build/steps-1.0.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

import web
import tap

heaplapse, mktrace, gen, steps, moved = map(os.path.abspath, sys.argv[1:6])
SOURCE = pathlib.Path(__file__).resolve().parent / 'steps.c'
TEXT = SOURCE.read_text().splitlines()
STEP, MAIN = (next(i for i, line in enumerate(TEXT, 1) if f'/* LINE: {name} */' in line) for name in ('step', 'main'))


def run(*args):
    return subprocess.run([heaplapse, *map(str, args)], capture_output=True, env=web.ENV, timeout=web.TIMEOUT)


def record(trace, program):
    script = b'alloc 5000\nalloc 300\nalloc 1000\nfree\n'
    subprocess.run([heaplapse, 'record', '-q', '-o', trace, '--', program], input=script, stdout=subprocess.DEVNULL, env=web.ENV, check=True)


def source(trace, *args):
    done = run('report', '--json', '--source', *args, trace)
    return json.loads(done.stdout) if done.returncode == 0 else done


def line_of(answer, number):
    return next((line for line in answer['lines'] if line['line'] == number), None)


def numbers(trace):
    for options, total, blocks in (((), 6300, 3), (('--leaks',), 5300, 2), (('--allocated',), 6300, 3), (('--leaks', '--filter', 'size:<1K'), 300, 1),
                                   (('--allocated', '--range', '0s..100%'), 6300, 3)):
        a = source(trace, 'steps.c', *options)
        what = ' '.join(options) or 'the peak'
        tap.case(line_of(a, STEP) == {'line': STEP, 'text': TEXT[STEP - 1], 'function': 'step', 'bytes': total, 'blocks': blocks, 'own_bytes': total, 'own_blocks': blocks},
                 f'{what}: the line that allocates', a)
        caller = line_of(a, MAIN)
        tap.case(caller['bytes'] == total and caller['own_bytes'] == 0 and caller['function'] == 'main', f'{what}: its caller', caller)
        tap.case(a['bytes'] == a['own_bytes'] == total, f'{what}: the file', a)
        table = json.loads(run('report', '--json', '-g', 'file', *options, trace).stdout)
        tap.case([r['bytes'] for r in table['rows'] if r['name'] == a['file']] == [a['own_bytes']] and sum(l['own_bytes'] for l in a['lines']) == a['own_bytes'],
                 f'{what}: the own bytes are the row of the table by file', table)
    a = source(trace, f'steps.c:{MAIN}')
    tap.case([line['line'] for line in a['lines']] == list(range(max(1, MAIN - 15), min(len(TEXT), MAIN + 15) + 1)), 'FILE:LINE has the lines around it', a['lines'])
    a = source(trace, 'steps.c', '--whole-file')
    tap.case([line['text'] for line in a['lines']] == TEXT and a['total_lines'] == len(TEXT), 'the whole file', a)
    a = source(trace, 'steps.c')
    shown = [line['line'] for line in a['lines']]
    tap.case(STEP - 3 in shown and MAIN - 3 in shown and 1 not in shown, 'without it the lines around those with blocks', shown)


def text(trace):
    done = run('report', '--leaks', '--source', 'steps.c', trace).stdout.decode()
    tap.case(f'{STEP}          void *block = malloc(bytes);'.replace('          ', '          ') in done or f'   {STEP}  ' in done, 'text has the line', done)
    row = next((line for line in done.splitlines() if 'malloc(bytes)' in line), '')
    tap.case(row.split()[:5] == ['5.2', 'KiB', '5.2', 'KiB', str(STEP)], 'text has its bytes', row)


def refused(trace):
    for name, word in (('nothing.c', 'no stack of the trace'), ('/etc/passwd', 'no stack of the trace'), ('teps.c', 'no stack of the trace'),
                       ('../web/steps.c/', 'no stack of the trace')):
        done = run('report', '--source', name, trace)
        tap.case(done.returncode == 2 and word in done.stderr.decode(), f'{name} is refused', done.stderr)
    tap.case(run('report', '--whole-file', trace).returncode == 2, '--whole-file needs --source', '')
    tap.case(run('report', '--source', 'a.c', '--source', 'b.c', trace).returncode == 2, 'one file', '')
    tap.case(run('report', '--source-root', '/nothing/here', trace).returncode == 2, 'a root must exist', '')


def roots(trace, tmp):
    a = source(trace, 'steps.c')
    tap.case(a['file'] == '/build/steps-1.0/src/steps.c' and a['path'] is None and '--source-root /build/steps-1.0/src=DIR' in a['problem'], 'the file is elsewhere', a)
    tap.case(line_of(a, STEP)['bytes'] == 6300 and line_of(a, STEP)['text'] is None, 'its numbers are known', a)
    done = run('report', '--source', 'steps.c', trace).stdout.decode()
    tap.case('--source-root' in done and 'step' in done, 'text says it', done)
    for where, root in (('mapped', f'/build/steps-1.0={tmp}/mapped'), ('below/steps-1.0', f'{tmp}/below'), ('flat', f'{tmp}/flat')):
        place = pathlib.Path(tmp, where, 'src' if where != 'flat' else '')
        place.mkdir(parents=True)
        shutil.copy(SOURCE, place)
        os.utime(place / 'steps.c', (0, 0))
        a = source(trace, 'steps.c', '--source-root', '/', '--source-root', root)
        tap.case(a['path'] == str(place / 'steps.c') and not a['changed'] and line_of(a, STEP)['text'] == TEXT[STEP - 1], f'--source-root {root}', a)
    os.utime(place / 'steps.c')
    a = source(trace, 'steps.c', '--source-root', root)
    tap.case(a['changed'], 'it was changed after the recording', a)
    tap.case('was modified after' in run('report', '--source', 'steps.c', '--source-root', root, trace).stdout.decode().replace('\n', ' '), 'text says it', '')


def hostile(trace, tmp):
    """The text of a source file is not trusted, either."""
    root = pathlib.Path(tmp, 'hostile')
    root.mkdir()
    file = root / 'steps.c'
    file.write_bytes(b'\n' * (STEP - 1) + b'\x1b[31mred\xff\xe2\x80\xae</script>' + b'x' * 5000 + b'\n' * 100)
    done = run('report', '--source', 'steps.c', '--source-root', root, trace)
    tap.case(b'\x1b' not in done.stdout and b'\xe2\x80\xae' not in done.stdout and b'red' in done.stdout, 'no escape sequence', done.stdout)
    line = line_of(source(trace, 'steps.c', '--source-root', root), STEP)
    tap.case(line['text'].startswith('\x1b[31mred\ufffd\u202e</script>x') and len(line['text']) < 2100 and line['cut'], 'a long line is cut', line)
    file.write_bytes(b'a\0b')
    tap.case('not a text' in source(trace, 'steps.c', '--source-root', root)['problem'], 'a binary file', '')
    file.unlink()
    file.symlink_to('/etc/passwd')
    a = source(trace, 'steps.c', '--source-root', root)
    tap.case(a['path'] is None and 'links lead out' in a['problem'], 'a link that leads out of the root', a)
    file.unlink()
    file.write_bytes(b'only one line\n')
    a = source(trace, 'steps.c', '--source-root', root)
    tap.case(line_of(a, STEP)['bytes'] == 6300 and line_of(a, STEP)['text'] is None, 'a file that is too short', a)


def over_http(trace, moved_trace, tmp):
    with web.Server(heaplapse, trace, moved_trace, '--source-root', f'/build/steps-1.0={tmp}/mapped') as server:
        for query, options in (('file=steps.c', ['steps.c']), ('file=steps.c&whole-file&leaks', ['steps.c', '--whole-file', '--leaks']),
                               (f'file=steps.c&line={MAIN}', [f'steps.c:{MAIN}']), ('file=steps.c&filter=size:%3C1K', ['steps.c', '--filter', 'size:<1K']),
                               ('file=steps.c&max-rows=2', ['steps.c', '--max-rows', '2'])):
            a = server.get(f'/api/traces/1/source?{query}')
            wanted = run('report', '--json', '--source', *options, trace)
            tap.case(a.status == 200 and a.body == wanted.stdout, f'source?{query}', f'{a} {wanted}')
        a = server.get('/api/traces/2/source?file=steps.c').json()
        tap.case(a['path'] == f'{tmp}/mapped/src/steps.c', 'the roots of the server', a)
        for query in ('', 'file=', 'file=/etc/passwd', 'file=..%2f..%2f..%2fetc%2fpasswd', 'file=steps.c%00', 'file=steps.c&line=0', 'file=steps.c&line=x',
                      'file=steps.c&source-root=/', 'file=%2fproc%2fself%2fenviron', 'file=steps.c&line=99999999999'):
            a = server.get(f'/api/traces/1/source?{query}')
            tap.case(a.status == 400 and b'root:' not in a.body, f'source?{query} is refused', a)
    # Other machines see only files that the user has named.
    with web.Server(heaplapse, trace, moved_trace, '--source-root', f'/build/steps-1.0={tmp}/mapped', listen='0.0.0.0:0') as server:
        tap.case(server.get('/api/traces/1/source?file=steps.c').json()['path'] is None, 'not without a root', '')
        tap.case(server.get('/api/traces/2/source?file=steps.c').json()['path'], 'below a root', '')


with tempfile.TemporaryDirectory() as tmp:
    trace, moved_trace = f'{tmp}/steps.hlt', f'{tmp}/moved.hlt'
    record(trace, steps)
    record(moved_trace, moved)
    numbers(trace)
    text(trace)
    refused(trace)
    roots(moved_trace, tmp)
    hostile(moved_trace, tmp)
    over_http(trace, moved_trace, tmp)
tap.finish()
