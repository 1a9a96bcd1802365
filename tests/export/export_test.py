#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""export_test - options and errors common to all export formats, bad input, and the formats `json`
and `collapsed`."""
import gzip, json, os, pathlib, re, resource, shutil, signal, stat, subprocess, tempfile

from viewers import FORMATS, HERE, export, heaplapse, lines_of, make_traces, node, npm, programs, record_several, report, run, run_ok, stacks, total
import tap

QUANTITIES = {
    'peak': ['--peak'], 'leaks': ['--leaks'], 'allocated': ['--allocated'], 'temporary': ['--temporary'],
    'temporary 1ms': ['--temporary=1ms'], 'growth': ['--growth', '20%..70%'], 'half': ['--at', '50%'],
    'range': ['--range', '30%..60%'], 'filter': ['--allocated', '--filter', 'size:>=64'],
    'by death': ['--allocated', '--filter', 'life:<1ms'], 'live and filter': ['--at', '40%', '--filter', 'size:<200 alive:40%'],
}
SCHEMA = HERE.parent.parent / 'docs' / 'export-json.schema.json'


def check_json(name, trace, folder):
    """Sums over the allocations equal those of report, also by stack."""
    for what, args in QUANTITIES.items():
        d = json.loads(export('json', *args, trace))
        rows, answer = d['allocations'], report(*args, '--group', 'stack', trace)
        found = sum(r['size'] for r in rows), len(rows)
        tap.case(found == (answer['total_bytes'], answer['total_blocks']) == (d['total_bytes'], d['total_blocks']),
                 f'json, {name}, {what}', f'{found} {answer["total_bytes"], answer["total_blocks"]}')
        known = {s['stack'] for s in d['stacks']} | {None}
        tap.case(all(r['stack'] in known for r in rows) and len({r['id'] for r in rows}) == len(rows) and
                 all(s['parent'] in known and all(f < len(d['frames']) for f in s['frames']) for s in d['stacks']),
                 f'json, {name}, {what}: no stack is missing, no block twice')
    d = json.loads(export('json', trace))
    live, peak = 0, 0
    for t, kind, size in sorted([(r['allocated_ns'], 1, r['size']) for r in d['allocations']] +
                                [(r['freed_ns'], 0, -r['size']) for r in d['allocations'] if r['freed_ns'] is not None]):
        live += size
        peak = max(peak, live)
    tap.case(live == total('--at=@end', trace)[0], f'json, {name}: live at the end')
    if name == 'sample':
        tap.case([m['name'] for m in d['marks']] == [m['name'] for m in report('--timeline', trace)['marks']], 'json: marks')
        tap.case(peak == total(trace)[0], f'json, {name}: the peak by hand', f'{peak} {total(trace)}')
    # the complete path of one stack, written by hand
    by_id = {s['stack']: s for s in d['stacks']}
    found = {}
    for r in d['allocations']:
        path, at = [], r['stack']
        while at is not None:
            path = [d['frames'][f]['function'] for f in by_id[at]['frames']] + path
            at = by_id[at]['parent']
        path = tuple(path) or ('[no stack]',)
        old = found.get(path, (0, 0))
        found[path] = old[0] + r['size'], old[1] + 1
    wanted = {}
    for path, v in stacks(report('--allocated', trace)).items():
        path = path if path == ('[no stack]',) else path[:-1]
        old = wanted.get(path, (0, 0))
        wanted[path] = old[0] + v[0], old[1] + v[1]
    tap.case(found == wanted, f'json, {name}: each stack by its names', f'{set(found.items()) ^ set(wanted.items())}')
    pathlib.Path(f'{folder}/{name}.json').write_bytes(export('json', trace))
    if npm():
        errors = node('validate.js', SCHEMA, f'{folder}/{name}.json')
        tap.case(errors == {'errors': []}, f'json, {name}: ajv', errors)
    else:
        tap.skipped(f'json, {name}: ajv', npm.why)


def schema_refuses(folder):
    if not npm():
        return tap.skipped('the schema refuses', npm.why)
    d = json.loads(export('json', f'{folder}/sample.hlt'))
    d['allocations'][0]['size'] = -1
    del d['frames'][0]['function']
    pathlib.Path(f'{folder}/wrong.json').write_text(json.dumps(d))
    tap.case(len(node('validate.js', SCHEMA, f'{folder}/wrong.json')['errors']) == 2, 'the schema refuses what is wrong')


def several_processes(folder):
    """--all: one file, or with a pattern a file of each process in every format"""
    trace, rows = record_several(folder)
    pathlib.Path(f'{folder}/all.json').write_bytes(export('json', '--all', trace))
    schema = json.loads(SCHEMA.read_text())
    parts = {'definitions': dict(schema['definitions'], process={k: v for k, v in schema.items() if k not in ('$schema', 'definitions')})}
    text = json.dumps(dict(parts, **{'$ref': '#/definitions/several'})).replace('{"$ref": "#"}', '{"$ref": "#/definitions/process"}')
    pathlib.Path(f'{folder}/all.schema').write_text(text)
    if npm():
        errors = node('validate.js', f'{folder}/all.schema', f'{folder}/all.json')
        tap.case(errors == {'errors': []}, 'json --all: ajv', errors)
        wrong = json.loads(export('json', '--all', trace))
        del wrong['processes'][1]['pid']
        pathlib.Path(f'{folder}/all.json').write_text(json.dumps(wrong))
        tap.case(len(node('validate.js', f'{folder}/all.schema', f'{folder}/all.json')['errors']) == 1, 'json --all: a wrong process is refused')
    else:
        tap.skipped('json --all: ajv', npm.why)
    for form in FORMATS:
        out = pathlib.Path(f'{folder}/each-{form}')
        out.mkdir()
        r = run('export', '-q', '-f', form, '--all', '-o', f'{out}/%e-%p.out', trace)
        found = {p.name: p.read_bytes() for p in out.iterdir()}
        wanted = {f'{os.path.basename(row["program"])}-{row["pid"]}.out' for row in rows}
        tap.case(r.returncode == 0 and wanted <= set(found) and (form == 'parquet' or wanted == set(found)), f'{form}: a file of each process', f'{r} {sorted(found)}')
        if form in ('collapsed', 'massif', 'html'):
            for row in rows:
                tap.case(found[f'{os.path.basename(row["program"])}-{row["pid"]}.out'] == export(form, '-q', row['trace']), f'{form}: {row["label"]} is as alone')
        refused = run('export', '-q', '-f', form, '--all', '-o', f'{out}/one.out', trace)
        tap.case(refused.returncode == 0 or (b'write a file of each with -o NAME-%p' in refused.stderr and not (out / 'one.out').exists()),
                 f'{form}: one file, or what to do', refused.stderr)
    tap.case(run('export', '-f', 'html', '-o', f'{folder}/each-%p.html', trace).returncode == 0 and os.path.exists(f'{folder}/each-%p.html'), 'one process: no pattern')
    r = run('export', '-f', 'html', '--all', '-o', f'{folder}/%e.html', trace)
    tap.case(r.returncode == 2 and b'two processes would be written to' in r.stderr and not list(pathlib.Path(folder).glob('*sample*.html')), 'equal names are refused', r.stderr)
    r = run('export', '-f', 'html', '--all', '-o', f'{folder}/%p%z.html', trace)
    tap.case(r.returncode == 2 and b'is not a valid name' in r.stderr, 'a bad pattern is refused', r.stderr)
    r = run('export', '-f', 'svg', '--all', '-o', f'{folder}/nowhere/%p.svg', trace)
    tap.case(r.returncode == 3 and r.stderr.count(b'cannot be written') == len(rows), 'a directory that is not there', r.stderr)


def collapsed(name, trace):
    for what, args in QUANTITIES.items():
        for cost in (0, 1) if name == 'sample' else (0,):
            lines = export('collapsed', *args, '--cost', ('bytes', 'blocks')[cost], trace).decode().splitlines()
            found = {}
            for line in lines:
                path, _, n = line.rpartition(' ')
                path = tuple(re.sub(r'^(0x\S+) \[.*\]$', r'\1', f) for f in path.split(';'))
                found[path] = found.get(path, 0) + int(n)
            wanted = {tuple(f.replace(';', ':') for f in k): v[cost] for k, v in stacks(report(*args, trace)).items() if v[cost]}
            tap.case(found == wanted, f'collapsed, {name}, {what}, {cost}', f'{set(found.items()) ^ set(wanted.items())}')


def refused(name, status, words, *args, output=None):
    r = run('export', *args)
    lines = r.stderr.decode().splitlines()
    said = r.returncode == status and words in lines[0] and len(lines) <= 4
    tap.case(said and r.stdout == b'' and (output is None or not os.path.exists(output)), name, f'{r.returncode} {r.stderr}')


def bad_input(traces, folder):
    trace, out = traces['sample'], f'{folder}/out'
    refused('unknown format', 2, 'unknown format "svgz"; formats are: json,', '-f', 'svgz', '-o', out, trace, output=out)
    refused('no format', 2, '--format is one of: json,', '-o', out, trace, output=out)
    refused('no such folder', 3, 'cannot be written: No such file or directory', '-f', 'json', '-o', f'{folder}/nowhere/x', trace)
    refused('a folder', 3, 'cannot be written: Is a directory', '-f', 'json', '-o', folder, trace)
    refused('no trace', 3, 'nowhere.hlt', '-f', 'json', '-o', out, f'{folder}/nowhere.hlt', output=out)
    refused('not a trace', 3, 'not a', '-f', 'json', '-o', out, __file__, output=out)
    refused('a mark that is not there', 2, 'there is no mark "x"', '-f', 'json', '-o', out, '--at', '@mark:x', trace, output=out)
    refused('a filter that is none', 2, '--filter', '-f', 'json', '-o', out, '--filter', 'fn:/(/', trace, output=out)
    refused('two questions', 2, 'exclude each other', '-f', 'json', '-o', out, '--peak', '--leaks', trace, output=out)
    refused('two traces', 2, 'takes one trace', '-f', 'json', '-o', out, trace, trace, output=out)
    refused('a group that a format has not', 2, 'json cannot be grouped by size', '-f', 'json', '-g', 'size', trace)
    refused('an empty name', 2, 'is not the name of a file', '-f', 'json', '-o', '', trace)
    for form, end in ('parquet', '.parquet.gz'), ('replay', '.replay.zst'), ('pprof', '.pb.zst'):
        refused(f'{form} as {end}', 2, 'cannot be compressed with ' + end[end.rindex('.'):], '-f', form, '-o', out + end, trace, output=out + end)
    tap.case(not [f for f in os.listdir(folder) if '.gz' in f], 'no table under such a name', os.listdir(folder))
    own = f'{folder}/own.trace'
    pathlib.Path(own).write_bytes(pathlib.Path(trace).read_bytes())
    refused('over the trace itself', 2, 'is the trace itself', '-f', 'json', '-o', own, own)
    tap.case(pathlib.Path(own).read_bytes() == pathlib.Path(trace).read_bytes(), 'the trace is still there')
    refused('under the name of a trace', 2, '.hlt is the suffix of traces', '-f', 'json', '-o', f'{folder}/x.hlt', trace, output=f'{folder}/x.hlt')
    if os.getuid():
        os.mkdir(f'{folder}/closed', 0o500)
        refused('a folder without permission', 3, 'Permission denied', '-f', 'json', '-o', f'{folder}/closed/x', trace)


def limit_file_size():
    """Limits the size of files, with SIGXFSZ ignored."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (32, 32))


def limit_file_size_default():
    """Limits the size of files, with SIGXFSZ as `ulimit -f` leaves it. Python ignores the signal
    itself, a shell does not."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (32, 32))


def full_disk(traces, folder):
    for form in FORMATS:
        r = run('export', '-f', form, '-o', '/dev/full', traces['made'])
        tap.case(r.returncode == 3 and b'No space left on device' in r.stderr, f'/dev/full: {form}', f'{r.returncode} {r.stderr}')
        with open('/dev/full', 'w') as full:
            r = subprocess.run([heaplapse, 'export', '-f', form, traces['made']], stdout=full, stderr=subprocess.PIPE)
        tap.case(r.returncode == 3 and b'cannot write the output: No space left on device' in r.stderr, f'stdout full: {form}', f'{r.returncode} {r.stderr}')
    # A full disk without the right to mount one: the old file stays, and no other file is left.
    room = f'{folder}/room'
    os.mkdir(room)
    pathlib.Path(f'{room}/kept').write_text('old')
    for form in FORMATS:
        r = run('export', '-f', form, '-o', f'{room}/kept', traces['made'], preexec_fn=limit_file_size)
        tap.case(r.returncode == 3 and b'cannot be written: File too large' in r.stderr, f'no room: {form}', f'{r.returncode} {r.stderr}')
        tap.case(os.listdir(room) == ['kept'] and pathlib.Path(f'{room}/kept').read_text() == 'old', f'no room: no half file: {form}', os.listdir(room))
    r = run('export', '-f', 'json', '-o', f'{room}/kept', traces['made'], preexec_fn=limit_file_size_default)
    tap.case(r.returncode == 3 and b'cannot be written: File too large' in r.stderr and pathlib.Path(f'{room}/kept').read_text() == 'old',
             'a limit that would kill is told', f'{r.returncode} {r.stderr}')
    small = f'{folder}/small'
    os.mkdir(small)
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', small], capture_output=True).returncode:
        return tap.skipped('a small disk', 'mount is not allowed')
    try:
        pathlib.Path(f'{small}/kept.json').write_text('old')
        for form in ('json',):
            r = run('export', '-f', form, '-o', f'{small}/kept.json', traces['made'])
            tap.case(r.returncode == 3 and b'No space left' in r.stderr, f'a small disk: {form}', f'{r.returncode} {r.stderr}')
            tap.case(os.listdir(small) == ['kept.json'] and pathlib.Path(f'{small}/kept.json').read_text() == 'old',
                     f'a small disk: the old file is left, and nothing else: {form}', os.listdir(small))
    finally:
        subprocess.run(['umount', small], check=True)


def check_list():
    """--list has each format with its suffix and its viewer; and each format is accepted by its name."""
    lines = run_ok('export', '--list').decode().splitlines()
    tap.case(len(lines) >= 16 and all(re.match(r'[a-z0-9]+ +\.[a-z.0-9]+ +\S', x) for x in lines), '--list', lines)
    r = run('export', '--list', '-f', 'nonsense')
    tap.case(r.returncode == 0 and r.stdout.decode().splitlines() == lines, '--list is shown whatever else is asked')


def files(traces, folder):
    """Files are written atomically; compressed by suffix; links and modes are kept; pipes work."""
    trace, out = traces['sample'], f'{folder}/files'
    os.mkdir(out)
    plain = export('json', trace)
    pathlib.Path(f'{out}/there.json').write_text('old')
    os.symlink('there.json', f'{out}/link.json')
    for name in ('new.json', 'there.json', 'link.json', 'x.json.gz', 'x.json.zst'):
        run_ok('export', '-f', 'json', '-o', f'{out}/{name}', trace)
    read = {'new.json': ['cat'], 'there.json': ['cat'], 'link.json': ['cat'], 'x.json.gz': ['gzip', '-dc'], 'x.json.zst': ['zstd', '-dc']}
    for name, reader in read.items():
        found = subprocess.run([*reader, f'{out}/{name}'], capture_output=True)
        tap.case(found.stdout == plain and not found.returncode, f'file {name}', found.stderr)
    tap.case(os.path.islink(f'{out}/link.json') and sorted(os.listdir(out)) == sorted(read), 'nothing else is left', os.listdir(out))
    old = os.umask(0o027)
    run_ok('export', '-f', 'json', '-o', f'{out}/mode.json', trace)
    os.umask(old)
    tap.case(stat.S_IMODE(os.stat(f'{out}/mode.json').st_mode) == 0o640, 'the mode is the umask\'s')
    os.chmod(f'{out}/mode.json', 0o600)
    run_ok('export', '-f', 'json', '-o', f'{out}/mode.json', trace)
    tap.case(stat.S_IMODE(os.stat(f'{out}/mode.json').st_mode) == 0o600, 'a file that is replaced keeps its mode')
    tap.case(run_ok('export', '-f', 'json', '-o', '-', trace) == plain, '-o - is stdout')
    r = subprocess.run(f'{heaplapse} export -f json {traces["made"]} | head -c 100', shell=True, capture_output=True)
    tap.case(len(r.stdout) == 100 and not r.stderr, 'a reader that had enough', r.stderr)


def empty_results(traces, folder):
    """A query that matches nothing, and an empty trace: the files are valid."""
    subprocess.run([programs['mktrace'], f'{folder}/empty.hlt'], input=b'thread 1\nend 0 0 640\n', check=True)
    for form in FORMATS:
        for args in (['--filter', 'size:>1T', traces['sample']], [f'{folder}/empty.hlt']):
            r = run('export', '-f', form, '-o', f'{folder}/nothing', *args)
            tap.case(r.returncode == 0 and os.path.exists(f'{folder}/nothing'), f'nothing: {form} {args[0][:8]}', f'{r.returncode} {r.stderr}')
            if os.path.exists(f'{folder}/nothing'):
                os.unlink(f'{folder}/nothing')
    d = json.loads(export('json', '--filter', 'size:>1T', traces['sample']))
    tap.case(d['allocations'] == [] and d['stacks'] == [] and d['total_bytes'] == 0, 'json of nothing')
    tap.case(export('collapsed', '--filter', 'size:>1T', traces['sample']) == b'', 'collapsed of nothing')


def all_events_lost(folder):
    """If the only chunk with events and all after it are unreadable, no message claims that there
    were no events."""
    lines = ['module /x -', 'thread 1', 'node - 0 10', 'alloc 64 0 100 0 malloc', 'alloc 65 0 200 0 malloc', 'end 0 0 640']
    subprocess.run([programs['mktrace'], f'{folder}/lost.hlt'], input='\n'.join(lines).encode() + b'\n', check=True)
    whole = pathlib.Path(f'{folder}/lost.hlt').read_bytes()
    whole, met = whole[:len(whole) * 62 // 100], set()
    for at in range(64, len(whole), 50):
        pathlib.Path(f'{folder}/lost.hlt').write_bytes(whole[:at] + bytes([whole[at] ^ 0xff]) + whole[at + 1:])
        for args in ['export', '-f', 'html'], ['report']:
            r = run(*args, f'{folder}/lost.hlt')
            if b'with 2 events cannot be read' in r.stderr and b'those of the first 0 events' in r.stderr:
                met.add(args[0])
                tap.case(b'the program made none' not in r.stdout + r.stderr, f'all is lost: {args[0]}', r.stderr)
    tap.case(len(met) == 2, 'all is lost: met', met)


def after_the_end(traces):
    """A time after the end means the end. The message is that of report, and the file has the true time."""
    said = b'356400.000 s is after the end of the recording; showing the end, at '
    for form in FORMATS:
        if form in ('massif', 'chrome'):  # they show the whole run
            continue
        r = run('export', '-f', form, '--at', '99h', '-o', '/dev/null', traces['sample'])
        tap.case(r.returncode == 0 and r.stderr.count(said) == 1, f'after the end: {form}', f'{r.returncode} {r.stderr}')
    r = run('report', '--at', '99h', traces['sample'])
    tap.case(said in r.stderr, 'after the end: report', r.stderr)
    d = json.loads(export('json', '--at', '99h', traces['sample']))
    tap.case(d['to_ns'] == d['duration_ns'] and d['total_bytes'] == total('--leaks', traces['sample'])[0], 'after the end: json has the end', d['to_ns'])
    page = re.search(r'id="data">(.*?)</script>', export('html', '--at', '99h', traces['sample']).decode())
    asked = next(q for q in json.loads(page[1])['questions'] if q['id'] == 'asked')
    tap.case(asked['to_ns'] == d['duration_ns'], 'after the end: html has the end', asked['to_ns'])
    r = run('export', '-f', 'json', '--at', '50%', '-o', '/dev/null', traces['sample'])
    tap.case(r.returncode == 0 and r.stderr == b'', 'before the end nothing is said', r.stderr)


def invalid_utf8(folder):
    """Names that are not UTF-8, in formats that require UTF-8."""
    lines = ['module /lib/b%ffd.so -', 'thread 1', 'node - 0 10', 'alloc 64 0 100 0 malloc', 'end 0 0 640']
    subprocess.run([programs['mktrace'], f'{folder}/bytes.hlt'], input='\n'.join(lines).encode() + b'\n', check=True)
    for name, text in {'csv': export('csv', f'{folder}/bytes.hlt'), 'csv -g module': export('csv', '-g', 'module', f'{folder}/bytes.hlt'),
                       'pprof': gzip.decompress(export('pprof', f'{folder}/bytes.hlt'))}.items():
        tap.case('b\ufffdd.so'.encode() in text and b'b\xffd.so' not in text, f'not UTF-8: {name}', text[:400])


def hostile_names(folder):
    """CSV: names that are escape sequences for a terminal or formulas for a spreadsheet are neutralized."""
    names = {'%1b]0;owned%07%1b[2J': '\\x1b]0;owned\\x07\\x1b[2J', 'a%0d%0ab%09c': 'a\\r\\nb\\tc', '%c2%9b31m': '\\x9b31m',
             '=1+2': "'=1+2", '+1': "'+1", '-1': "'-1", '@SUM(1)': "'@SUM(1)", '%09=1': '\\t=1', 'a=1': 'a=1', '%22,%22': '","', "'=1": "'=1"}
    lines = [f'module {name} -' for name in names] + ['thread 1']
    lines += [f'node - {i} 10' for i in range(len(names))]
    lines += [f'alloc {64 * (i + 1)} 0 {100 + i} {i} malloc' for i in range(len(names))] + ['end 0 0 6400']
    subprocess.run([programs['mktrace'], f'{folder}/hostile.hlt'], input='\n'.join(lines).encode() + b'\n', check=True)
    for options, column in ([], 'module'), (['-g', 'module', '--allocated'], 'module'):
        text = export('csv', *options, f'{folder}/hostile.hlt')
        rows = lines_of(text)
        tap.case(sorted(r[column] for r in rows) == sorted(names.values()), f'hostile names: csv {options}', [r[column] for r in rows])
        tap.case(not re.search(rb'[\0-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]', text), f'hostile names: csv {options} has no control bytes', text)
        tap.case(text.count(b'\n') == len(rows) + 1, f'hostile names: csv {options} has a line for each row', text)
    carried = {s['module'] for s in json.loads(export('json', f'{folder}/hostile.hlt'))['frames'] if s.get('module')}
    tap.case({'=1+2', 'a\r\nb\tc'} <= carried, 'hostile names: json has them as they are', carried)


def truncated(traces, folder):
    """The readable part is exported, with a message."""
    traces = {'made': f'{folder}/long.hlt'}
    subprocess.run([programs['gen'], '-n', '400000', '--nodes', '300', '-o', traces['made']], check=True)
    whole = pathlib.Path(traces['made']).read_bytes()
    cut = f'{folder}/cut.hlt'
    pathlib.Path(cut).write_bytes(whole[:len(whole) * 2 // 3])
    for form in FORMATS:
        r = run('export', '-f', form, '-o', f'{folder}/cut.out', cut)
        tap.case(r.returncode == 0 and b'the end of the recording is missing' in r.stderr and os.path.getsize(f'{folder}/cut.out') > 0,
                 f'truncated: {form}', f'{r.returncode} {r.stderr}')
    r = run('export', '--strict', '-f', 'json', '-o', f'{folder}/cut.out', cut)
    tap.case(r.returncode == 4, 'truncated: --strict', r.returncode)
    d = json.loads(export('json', cut))
    tap.case((d['total_bytes'], d['total_blocks']) == total('--allocated', cut) and 0 < d['total_blocks'] < total('--allocated', traces['made'])[1],
             'truncated: json has all that report has')
    tap.case(d['complete'] is False, 'truncated: json says so')
    # A hole: everything before it is exported, with a message.
    hole = bytearray(whole)
    for i in range(len(hole) // 2, len(hole) // 2 + 64):
        hole[i] ^= 0xff
    pathlib.Path(cut).write_bytes(hole)
    r = run('export', '-f', 'json', '-o', f'{folder}/cut.out', cut)
    tap.case(r.returncode == 0 and b'the export ends at' in r.stderr, 'a hole is said', f'{r.returncode} {r.stderr}')
    d = json.loads(pathlib.Path(f'{folder}/cut.out').read_bytes())
    tap.case(0 < d['total_blocks'] < total('--allocated', traces['made'])[1], 'a hole: what is before it is there')
    tap.case(d['complete'] is False, 'a hole: json says so')
    for form in 'json', 'csv', 'dhat', 'parquet':
        r = run('export', '-f', form, '--leaks', '-o', f'{folder}/behind.out', cut)
        tap.case(r.returncode == 3 and b'an earlier part of the file is lost' in r.stderr and not os.path.exists(f'{folder}/behind.out'),
                 f'a hole: {form} of a moment behind it is no other moment', f'{r.returncode} {r.stderr}')
    tap.case(sum(int(line.rsplit(' ', 1)[1]) for line in export('collapsed', '--leaks', cut).decode().splitlines()) == total('--leaks', traces['made'])[0],
             'a hole: sums are known behind it')


def modules_without_names(traces, folder):
    """A file cannot store why it has addresses instead of names: a message says it, once, unless -q is given."""
    for tool in 'gcc', 'strip':
        if not shutil.which(tool):
            return tap.skipped('modules without names', f'{tool} is not installed')
    source, program, trace = (f'{folder}/{n}' for n in ('nameless.c', 'nameless', 'nameless.hlt'))
    pathlib.Path(source).write_text('#include <stdlib.h>\nstatic __attribute__((noinline)) void *deep(int n) { return n ? deep(n - 1) : malloc(100); }\n'
                                    'int main(void) { for (int i = 0; i < 9; i++) deep(i); return 0; }\n')
    subprocess.run(['gcc', '-O0', '-g', '-o', program, source], check=True)
    subprocess.run(['strip', '-o', f'{folder}/stripped', program], check=True)
    run_ok('record', '-q', '-o', trace, '--', f'{folder}/stripped')
    for form in 'collapsed', 'pprof', 'svg', 'csv', 'json', 'heaptrack':
        said = run('export', '-f', form, '-o', f'{folder}/named.out', trace).stderr.decode().splitlines()
        tap.case(len(said) == 1 and re.search(r'\d+ of \d+ frames have no name, in .*/stripped; install debug packages, .* --symbols, or run heaplapse embed ', said[0]),
                 f'{form}: modules without names are said, with what to do', said)
        r = run('export', '-q', '-f', form, '-o', f'{folder}/named.out', trace)
        tap.case(r.returncode == 0 and r.stderr == b'', f'{form}: -q does not say it', r.stderr)
    r = run('export', '-f', 'chrome', '-o', f'{folder}/named.out', trace)
    tap.case(r.stderr == b'', 'chrome shows no names, and says nothing of them', r.stderr)
    r = run('export', '-f', 'collapsed', '-o', f'{folder}/named.out', traces['sample'])
    tap.case(r.stderr == b'', 'with names nothing is said', r.stderr)
    run_ok('slice', '-q', '-o', f'{folder}/anonymous.hlt', '--anonymize', trace)
    r = run('export', '-f', 'collapsed', '-o', f'{folder}/named.out', f'{folder}/anonymous.hlt')
    tap.case(r.stderr == b'', 'of made-up names nobody has others', r.stderr)


with tempfile.TemporaryDirectory() as folder:
    traces = make_traces(folder)
    for name, trace in traces.items():
        check_json(name, trace, folder)
        collapsed(name, trace)
    schema_refuses(folder)
    several_processes(folder)
    check_list()
    bad_input(traces, folder)
    full_disk(traces, folder)
    files(traces, folder)
    empty_results(traces, folder)
    all_events_lost(folder)
    after_the_end(traces)
    invalid_utf8(folder)
    hostile_names(folder)
    truncated(traces, folder)
    modules_without_names(traces, folder)
tap.finish()
