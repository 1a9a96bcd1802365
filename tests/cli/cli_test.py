#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""cli_test - the commands that read a trace: exit statuses, messages, JSON, hostile names, damaged files."""
import json, os, re, signal, subprocess, sys, tempfile

heaplapse, mktrace, subject = map(os.path.abspath, sys.argv[1:4])
failures = []

def check(ok, what):
    if not ok:
        failures.append(what)
        print('FAILED:', what)

def run(*args, **more):
    env = dict(os.environ, LC_ALL='C.UTF-8')
    return subprocess.run([heaplapse, *args], capture_output=True, env=env, timeout=60, **more)

def expect(status, *args, err='', out='', **more):
    r = run(*args, **more)
    where = ' '.join(map(str, args))
    check(r.returncode == status, f'{where}: status {r.returncode}, not {status}: {r.stderr[:300]}')
    check(err.encode() in r.stderr, f'{where}: stderr has no {err!r}: {r.stderr[:300]}')
    check(out.encode() in r.stdout, f'{where}: stdout has no {out!r}: {r.stdout[:300]}')
    if status:
        check(r.stderr.startswith(b'heaplapse') or args == (), f'{where}: {r.stderr[:100]}')
    return r

def make(path, text):
    subprocess.run([mktrace, path], input=text.encode(), check=True)
    return path

BASE = '''module /nowhere/lib.so aabb
module /nowhere/other.so -
node - 0 1000
node 0 0 1010
node 0 1 2010
node 1 - 7f0000001000
node 0 - 1
node 4 0 1020
thread 100
thread 101
alloc 640 0 1000 1 0
alloc 1280 1 3000 2 1
alloc 1280 0 500 3 0
alloc 1920 0 0 5 9
alloc 2560 1 200 - 0
'''

def usage(tmp, good):
    r = expect(2, err='heaplapse record')
    expect(0, 'help', out='report')
    expect(0, '--help', out='report')
    expect(0, '-h', out='report')
    expect(0, '--version', out='heaplapse ')
    expect(0, '-V', out='heaplapse ')
    expect(0, 'version', out='heaplapse ')
    expect(2, 'version', 'x', err='"x"')
    expect(2, 'reprot', err='did you mean report')
    expect(2, 'rep', err='did you mean report')
    expect(2, 'xyzzy', err='heaplapse record xyzzy')
    expect(2, '--frob', err='--frob')
    expect(2, 'help', 'xyzzy', err='xyzzy')
    for command in 'report', 'info', 'dump':
        expect(2, command, err='which trace')
        expect(2, command, '--', err='which trace')
        if command != 'report':
            expect(2, command, good, good, err='one trace')
        expect(2, command, '--jsno', good, err='--jsno')
        expect(2, command, '-Z', good, err='-Z')
        expect(0, command, '--help', out='usage: heaplapse ' + command)
        expect(0, command, '-h', out='--strict')
        expect(0, 'help', command, out='usage: heaplapse ' + command)
        expect(0, command, '--', good)
        expect(0, command, good, '--strict')
        expect(2, command, '--strict=1', good, err='takes no value')
    expect(2, 'report', '--sites', '--filter', 'size:>1', '-i', 'f', '--sort', 'colour', good, err='"colour" is not')
    expect(0, 'report', '--no-default-suppressions', good)  # an option of --leaks; other views suppress nothing
    expect(2, 'report', '--alocated', good, err='did you mean --allocated')
    expect(2, 'report', '--leak', good, err='did you mean --leaks')
    expect(2, 'report', '--snapshot', good, err='did you mean --snapshots')
    expect(2, 'report', good, '--at', err='needs a value')
    for bad in '5', '0.5', '1..2', '5 s':
        expect(2, 'report', '--at=' + bad, good, err='units: ns, us, ms, s, min, h')
    for bad in '12x', '', '101%', '@nowhere', '-1':
        expect(2, 'report', '--at=' + bad, good, err='12.5s')
    expect(2, 'report', '--min', 'x', good, err='0 to 100')
    expect(2, 'dump', '-n', 'x', good, err='a number')
    r = expect(2, 'dump', '--filter', 'op=alloc syze=3', good, err='op=alloc syze=3')
    check(r.stderr.decode().splitlines()[-1] == '  ' + ' ' * 9 + '^', f'the mark: {r.stderr}')
    expect(2, 'report', '--filter', 'op=alloc', good, err='op=')
    # A filter expression must not bring control characters into the message.
    r = expect(2, 'dump', '--filter', 'a\x1b[2J=', good)
    check(b'\x1b' not in r.stderr, 'an escape in a message')

def unreadable(tmp):
    os.mkdir(f'{tmp}/folder')
    os.mkfifo(f'{tmp}/fifo')
    open(f'{tmp}/empty', 'w').close()
    open(f'{tmp}/text', 'w').write('not a trace at all\n' * 100)
    open(f'{tmp}/\x1b[2Jevil', 'w').write('x')
    for command in 'report', 'info', 'dump':
        for name in 'folder', 'fifo', 'empty', 'text', 'nowhere', '\x1b[2Jevil':
            r = expect(3, command, f'{tmp}/{name}')
            check(b'\x1b' not in r.stderr and r.stderr.count(b'\n') == 1, f'{command} {name}: {r.stderr}')
        expect(3, command, '/dev/zero')
        expect(3, command, subject)

def output(tmp, good, big):
    with open('/dev/full', 'w') as full:
        for args in (['info', good], ['report', good], ['dump', big], ['help'], ['--version']):
            r = subprocess.run([heaplapse, *args], stdout=full, stderr=subprocess.PIPE)
            check(r.returncode == 3 and b'cannot write' in r.stderr, f'{args} on a full disk: {r}')
    r = subprocess.run(f'exec {heaplapse} info {good} >&-', shell=True, stderr=subprocess.PIPE)
    check(r.returncode == 3 and b'cannot write' in r.stderr, f'closed stdout: {r}')
    # A reader closes the pipe early: no message, whether SIGPIPE kills or is ignored; but the exit
    # status says that the output is incomplete.
    for ignore in False, True:
        p = subprocess.Popen([heaplapse, 'dump', big], stdout=subprocess.PIPE, stderr=subprocess.PIPE, restore_signals=False,
                             preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN if ignore else signal.SIG_DFL))
        p.stdout.readline()
        p.stdout.close()
        err = p.stderr.read()
        p.wait()
        check(err == b'' and p.returncode == (3 if ignore else -signal.SIGPIPE), f'EPIPE: {p.returncode} {err}')

def info(good):
    i = json.loads(run('info', '--json', good).stdout)
    check(list(i)[:11] == ['schema', 'program', 'pid', 'command', 'arch', 'start_unix_ns', 'duration_ns', 'end', 'complete',
                           'mode', 'totals'], f'names: {list(i)}')
    check(i['schema'] == 1 and i['program'] == '/bin/made-up' and i['pid'] == 42, str(i))
    check(i['command'] == ['made-up', '--x', 'a \x1bb'], str(i['command']))
    check(i['start_unix_ns'] == 1700000000000000001 and i['duration_ns'] == 6400, str(i))
    check(i['end'] == {'kind': 'exit', 'value': 3} and i['complete'] is True and i['mode'] == 'trace', str(i))
    check(i['totals'] == {
        'allocations': 5, 'bytes_allocated': 4700, 'frees': 1, 'bytes_freed': 1000, 'live_blocks_end': 4,
        'live_bytes_end': 3700, 'peak_bytes': 4700, 'peak_blocks': 5, 'peak_time_ns': 2560, 'temporary': 0,
        'unknown_frees': 0, 'implicit_frees': 0, 'inherited_frees': 0, 'unrecorded_frees': 0, 'late_events': 0, 'dropped_events': 0,
        'threads': 2, 'stacks': 4, 'withheld_blocks': 0, 'withheld_bytes': 0, 'early_blocks': 0}, str(i['totals']))
    r = run('info', '-v', good)
    check(b'read ' in r.stderr and all(float(p) <= 100 for p in re.findall(rb'([\d.]+)%', r.stderr)), f'info -v: {r.stderr}')
    text = run('info', good).stdout
    check(b'\x1b' not in text and b'4.6 KiB' in text, str(text))

# lib.so and other.so are of no program here.
OWNERS = {'0x1000': 'library', '0x2010': 'library', '0x1010': 'library', '0x1020': 'library', 'calloc': 'called', 'malloc': 'called',
          'operator new': 'called', '[jit 0x7f0000001000]': 'unknown', '[...]': 'unknown', '[no stack]': 'unknown'}

def flatten_tree(nodes):
    paths = []
    for n in nodes:
        paths.append((() if n['parent'] is None else paths[n['parent']]) + (n['function'],))
        yield paths[-1], n

def tree(good):
    t = json.loads(run('report', '--json', good).stdout)
    check({k: t[k] for k in t if k != 'nodes'} == {'schema': 1, 'wrappers': [], 'quantity': 'live', 'from_ns': 2560, 'to_ns': 2560,
          'total_bytes': 4700, 'total_blocks': 5}, str(t))
    seen = {p: (n['bytes'], n['blocks'], n['self_bytes'], n['self_blocks'], n['module']) for p, n in flatten_tree(t['nodes'])}
    lib, other = '/nowhere/lib.so', '/nowhere/other.so'
    check(seen == {
        ('0x1000',): (4500, 4, 0, 0, lib),
        ('0x1000', '0x2010'): (3000, 1, 0, 0, other),
        ('0x1000', '0x2010', 'calloc'): (3000, 1, 3000, 1, None),
        ('0x1000', '0x1010'): (1500, 2, 0, 0, lib),
        ('0x1000', '0x1010', 'malloc'): (1000, 1, 1000, 1, None),
        ('0x1000', '0x1010', '[jit 0x7f0000001000]'): (500, 1, 0, 0, None),
        ('0x1000', '0x1010', '[jit 0x7f0000001000]', 'malloc'): (500, 1, 500, 1, None),
        ('0x1000', '[...]'): (0, 1, 0, 0, None),
        ('0x1000', '[...]', '0x1020'): (0, 1, 0, 0, lib),
        ('0x1000', '[...]', '0x1020', 'operator new'): (0, 1, 0, 1, None),
        ('[no stack]',): (200, 1, 200, 1, None)}, str(seen))
    first = t['nodes'][0]
    check(list(first) == ['parent', 'function', 'file', 'line', 'module', 'owner', 'inlined', 'bytes', 'blocks', 'self_bytes',
                          'self_blocks', 'site_bytes', 'site_blocks'], str(list(first)))
    sites = {p: n['site_bytes'] for p, n in flatten_tree(t['nodes']) if n['site_blocks']}
    check(sites == {('0x1000', '0x2010'): 3000, ('0x1000', '0x1010'): 1000, ('0x1000', '0x1010', '[jit 0x7f0000001000]'): 500,
                    ('0x1000', '[...]', '0x1020'): 0, ('[no stack]',): 200}, str(sites))
    check(all(n['parent'] is None or n['parent'] < i for i, n in enumerate(t['nodes'])), 'a parent stands before its children')
    check(first['file'] is None and first['line'] == 0 and first['inlined'] is False, str(first))
    check({n['function']: n['owner'] for n in t['nodes']} == OWNERS, str(t['nodes']))

    def totals(*args):
        r = json.loads(run('report', '--json', *args, good).stdout)
        return r['quantity'], r['from_ns'], r['to_ns'], r['total_bytes'], r['total_blocks']
    check(totals('--leaks') == ('live', 6400, 6400, 3700, 4), str(totals('--leaks')))
    check(totals('--allocated') == ('allocated', 0, 6400, 4700, 5), str(totals('--allocated')))
    check(totals('--at', '1us') == ('live', 1000, 1000, 1000, 1), str(totals('--at', '1us')))
    check(totals('--at', '50%') == ('live', 3200, 3200, 4700, 5), str(totals('--at', '50%')))
    check(totals('--at', '0') == ('live', 0, 0, 0, 0), str(totals('--at', '0')))
    check(totals('--at', '1h') == ('live', 6400, 6400, 3700, 4), str(totals('--at', '1h')))
    check(totals('--leaks', '--filter', 'thread=1')[3:] == (3200, 2), 'filter thread')
    check(totals('--peak', '--filter', 'size>=1K')[3:] == (3000, 1), 'filter size')
    check(totals('--peak', '--filter', 'size>=1000 !func=calloc')[3:] == (1000, 1), 'filter func')
    check(totals('--peak', '--filter', 'function=0x1010')[3:] == (1500, 2), 'filter function')
    check(totals('--peak', '--filter', '!function=0x1000')[3:] == (200, 1), 'filter not function')
    check(totals('--allocated', '--filter', 'time=1us..2us')[3:] == (3500, 3), 'filter time')

    text = run('report', '--peak', good).stdout.decode()
    check('live at the peak, at 2.6 us of 6.4 us: 4.6 KiB in 5 blocks' in text, text)
    check('├─ 0x2010  [other.so]' in text and '└─ [no stack]' in text and 'calloc' not in text, text)
    check('├─ calloc' in run('report', '--full-stacks', good).stdout.decode(), 'the called function with --full-stacks')
    check('hidden: 0 B in 1 block' in text and '--min 0' in text and '[...]' not in text, text)
    text = run('report', '--top-down', good).stdout.decode()
    check('├─ 0x1000  [lib.so]' in text and '└─ [no stack]' in text and '│  ├─ 0x2010' in text, text)
    check('[...]' in run('report', '--min', '0', good).stdout.decode(), 'min 0')
    check('leaked' in run('report', '--leaks', good).stdout.decode(), 'a clean exit may say leaked')
    check(run('report', '--peak', good).stdout == run('report', '--peak', good).stdout, 'twice the same')

def dump(good):
    lines = run('dump', good).stdout.decode().splitlines()
    check(len(lines) == 7 and lines[0].startswith('alloc 640 t0 malloc '), str(lines))
    check(sum(line.startswith('extra') for line in lines) == 1, str(lines))
    def n(expr, *more):
        return len(run('dump', '--filter', expr, *more, good).stdout.splitlines())
    check(n('op=alloc') == 5 and n('op=free') == 1 and n('!op=free') == 5 and n('thread=0') == 5, 'op, thread')
    check(n('func=calloc') == 1 and n('size>=1000') == 3 and n('size=0') == 1, 'func, size')
    check(n('time=1us..2us') == 3 and n('function=0x2010') == 1 and n('function=jit') == 1, 'time, function')
    check(n('op=alloc', '--filter', 'thread=1') == 2, 'two filters')
    check(n('op=alloc', '-n', '2') == 2 and n('op=alloc', '-n0') == 0, 'limit')

def strict_reasons(tmp):
    """--strict reports what is missing, and nothing else."""
    kinds = {'dropped while recording': BASE + 'counters 0 0 0 0 5\nend 0 0 6400\n', 'the end of the recording': BASE,
             'how the program ended': BASE + 'end 4 0 6400\n',
             'had stopped recording': BASE + 'extra 2560 3 0 x\nend 0 0 6400\n'}
    for words, text in kinds.items():
        path = make(f'{tmp}/reasons.hlt', text)
        for command in 'report', 'info', 'dump':
            r = expect(4, command, '--strict', path, err=words)
            check(b'could not be read' not in r.stderr and sum(w.encode() in r.stderr.splitlines()[-1] for w in kinds) == 1,
                  f'{command}: {words}: {r.stderr}')

def incomplete_traces(tmp):
    """No block is called leaked when the trace cannot prove it."""
    kinds = {'no end': BASE, 'unknown': BASE + 'counters 1 0 0 0 0\nend 0 0 6400\n',
             'implicit': BASE + 'free 2560 0 0 17\ncounters 0 1 0 0 0\nend 0 0 6400\n',
             'dropped': BASE + 'counters 0 0 0 0 5\nend 0 0 6400\n', 'signal': BASE + 'end 1 9 6400\n',
             'lost': BASE + 'end 4 0 6400\n'}
    for name, text in kinds.items():
        path = make(f'{tmp}/missing.hlt', text)
        complete = name in ('unknown', 'implicit', 'signal')
        r = run('report', '--leaks', path)
        check(r.returncode == 0 and b'leaked' not in r.stdout + r.stderr and b'live at the end of the recording' in r.stdout,
              f'{name}: {r.stdout[:200]} {r.stderr}')
        for command in 'report', 'info', 'dump':
            expect(0 if complete else 4, command, '--strict', path)
        i = json.loads(run('info', '--json', path).stdout)
        check(i['complete'] is complete, f'{name}: complete {i["complete"]}')
        if name == 'implicit':
            t = i['totals']
            check((t['frees'], t['bytes_freed'], t['implicit_frees'], t['live_bytes_end']) == (0, 0, 1, 3700), str(t))

def real_names(tmp):
    """A frame of a program with debug information and inlined calls; and of one that was rebuilt since."""
    symbols = {}
    for line in subprocess.run(['nm', subject], capture_output=True, text=True).stdout.splitlines():
        p = line.split()
        symbols[p[-1]] = int(p[0], 16) if len(p) == 3 else 0
    calls = [int(l.split(':')[0], 16) for l in subprocess.run(['objdump', '-d', '--no-show-raw-insn', subject],
             capture_output=True, text=True).stdout.splitlines() if re.search(r'\bcall\b.*<malloc', l)]
    check(calls != [], 'no call of malloc in the subject')
    at = calls[0] + 5
    text = f'module {subject} *\nmodule {subject} 0102\nnode - 0 {symbols["main"] + 8:x}\nnode 0 0 {at:x}\nnode - 1 {at:x}\n' \
           'thread 1\nalloc 640 0 100 1 0\nalloc 640 0 10 2 0\nend 0 0 6400\n'
    path = make(f'{tmp}/real.hlt', text)
    t = json.loads(run('report', '--json', path).stdout)['nodes']
    depth = [n['function'] for n in t].index('malloc')
    check([n['parent'] for n in t[:depth + 1]] == [None, *range(depth)], str(t))
    stack = [(n['function'], os.path.basename(n['file']), n['inlined']) for n in t[:depth]]
    node = t[depth - 1]
    other = [n for n in t if n['parent'] is None][1]
    check([f[:2] for f in stack] == [(f, 'subject.c') for f in ('main', 'fill', 'push_twice', 'push')], str(stack))
    check([f[2] for f in stack] == [False, False, True, True], str(stack))
    check(node['line'] == 13, f'the line of the call of malloc: {node["line"]}')
    check(other['function'] == f'0x{at:x}' and other['module'] == subject, str(other))
    text = run('report', '--peak', path).stdout.decode()
    check('rebuilt since the recording' in text and '(inlined)' in text, text)
    check(json.loads(run('report', '--json', '--filter', 'function=push_tw', path).stdout)['total_bytes'] == 100, 'by name')

def hostile(tmp):
    names = '/a%1b[2J%0anew%0dline', '/%ff%fe%c0%80', '/%e2%80%aertl', '/<script>"\\', '/' + 'x' * 7000
    text = ''.join(f'module {n} -\n' for n in names) + ''.join(f'node - {i} 10\n' for i in range(len(names))) + 'thread 1\n' + \
           ''.join(f'alloc 64 0 10 {i} 0\n' for i in range(len(names))) + 'extra 64 0 0 %1b[2J%0a\nend 0 0 6400\n'
    path = make(f'{tmp}/hostile.hlt', text)
    for args in (['report', path], ['report', '--json', path], ['dump', path], ['info', path], ['info', '--json', path]):
        out = run(*args).stdout
        bad = [c for c in out if c < 32 and c != 10 or c == 127]
        check(not bad, f'{args}: control characters {bad}')
        out.decode()   # valid UTF-8
        if '--json' in args:
            check(out.count(b'\n') == 1, f'{args}: one line')
            json.loads(out)
    t = json.loads(run('report', '--json', path).stdout)['nodes']
    check({n['module'] for n in t} >= {'/a\x1b[2J\nnew\rline', '/<script>"\\', '/\u202ertl'}, str([n['module'] for n in t])[:500])

def deep(tmp):
    """Unrealistically deep stacks: output is bounded, and nothing recurses."""
    n = 50000
    text = 'module /nowhere/deep.so -\nnode - 0 1\n' + ''.join(f'node {i} 0 {i + 2:x}\n' for i in range(n)) + \
           f'thread 1\nalloc 64 0 10 {n} 0\nalloc 64 0 20 {n // 2} 0\nend 0 0 640\n'
    path = make(f'{tmp}/deep.hlt', text)
    r = run('report', '--json', path)
    check(r.returncode == 0 and r.stdout.count(b'"function"') == n + 3, f'deep: {r.returncode} {r.stdout.count(b"function")}')
    depth = []
    for node in json.loads(r.stdout)['nodes']: # no reader would accept a nested tree of this depth
        depth.append(1 if node['parent'] is None else depth[node['parent']] + 1)
    check(max(depth) == n + 2, f'deep: {max(depth)}')
    r = run('report', '--peak', path)
    check(r.returncode == 0 and r.stdout.count(b'[deep.so]') == n + 1 + n // 2 + 1, f'deep text: {r.returncode} {r.stdout.count(b"[deep.so]")} {r.stdout[-300:]}')

def recursion(tmp):
    """Each level allocates, so each level branches: the text stays small and says what it omits."""
    n, most = 20000, 40
    text = 'module /nowhere/deep.so -\nnode - 0 1\n' + ''.join(f'node {i} 0 2\n' for i in range(n - 1)) + \
           'thread 1\n' + ''.join(f'alloc 64 0 10 {i} 0\n' for i in range(n)) + 'end 0 0 640\n'
    path = make(f'{tmp}/recursion.hlt', text)
    for args in ['--peak'], ['--top-down'], ['--min', '0', '-n', '0'], ['--min', '0', '-n', '0', '--top-down']:
        rows = run('report', '--bytes', *args, path).stdout.decode().splitlines()
        check(max(map(len, rows)) < 300 and len(rows) < 5 * most, f'recursion {args}: {len(rows)} rows of {max(map(len, rows))}')
        closed = [re.search(r' B +([\d,]+) ', row) for row in rows if row.endswith(' deeper: --json shows all')]
        check(len(closed) == 1, f'recursion {args}: {closed}')
        blocks = int(closed[0][1].replace(',', '')) if closed else 0
        # Each depth of the path shows the block of one level; the first frame has a level of its
        # own.
        check(n - most - 1 <= blocks <= n - most + 2, f'recursion {args}: {blocks} blocks are deeper')
    # If only the inner half allocates, all stacks share a long path: it is cut and marked before
    # that takes n * n steps.
    inner = make(f'{tmp}/inner.hlt', text.replace(''.join(f'alloc 64 0 10 {i} 0\n' for i in range(n // 2)), ''))
    rows = run('report', '--peak', inner).stdout.decode().splitlines()
    marked = [row for row in rows if row.endswith('  ... deeper: --json shows all')]
    check(len(rows) < n // 10 and 1 <= len(marked) <= 2, f'inner recursion: {len(rows)} rows, {len(marked)} marked')
    check(str(n // 2)[:2] in rows[0], f'inner recursion: {rows[0]}')
    r = run('report', '--json', path)
    check(len(json.loads(r.stdout)['nodes']) == 2 * n, f'recursion: {len(json.loads(r.stdout)["nodes"])} nodes as JSON')

def many_snapshots(tmp):
    """Snapshots times stacks: the largest stacks of each are written, with the number of those that are not."""
    n = 1200
    text = 'module /nowhere/wide.so -\n' + ''.join(f'node - 0 {i + 1:x}\n' for i in range(n)) + 'thread 1\n' + \
           ''.join(f'alloc 64 0 {i + 1} {i} 0\n' for i in range(n)) + ''.join(f'extra 64 1 0 s{i}\n' for i in range(n)) + 'end 0 0 640\n'
    path = make(f'{tmp}/snapshots.hlt', text)
    r = run('report', '--snapshots', '--json', path)
    top = json.loads(r.stdout)
    most = (1 << 20) // n
    check(len(top['snapshots']) == n and top['snapshots_left_out'] == 0, f'snapshots: {len(top["snapshots"])}')
    for s in top['snapshots'][:3]:
        nodes = s['nodes']
        check(len(nodes) == most and s['nodes_left_out'] == 2 * n - most, f'snapshots: {len(nodes)} nodes, {s["nodes_left_out"]} left out')
        check(min(x['bytes'] for x in nodes) >= n - most, 'snapshots: the smallest are left out')
        check(all(x['parent'] is None or x['parent'] < i for i, x in enumerate(nodes)), 'snapshots: callers come first')
    os.unlink(path)

def sparse(tmp, good):
    """A hole takes no time to search, whatever its size; the search continues behind it."""
    path, size = f'{tmp}/sparse.hlt', 64 << 30
    whole = open(good, 'rb').read()
    # Nothing behind the hole; junk at its end; the file from byte 100 on in its middle.
    for head, at, tail in (whole[:100], 0, b''), (whole[:-100], size - 5000, b'x' * 5000), (whole[:100], size // 2, whole[100:]):
        with open(path, 'wb') as f:
            f.write(head)
            try:
                f.truncate(size)
            except OSError:
                return print('skipped: no such large files here')
            if tail:
                f.seek(at)
                f.write(tail)
        if os.stat(path).st_blocks * 512 > 1 << 20:
            return print('skipped: no sparse files here')
        try:
            r = subprocess.run([heaplapse, 'info', path], capture_output=True, timeout=10)
        except subprocess.TimeoutExpired:
            check(False, f'sparse {at}: it reads the hole')
            continue
        check(r.returncode == 0, f'sparse {at}: {r.returncode} {r.stderr}')
        check((b'exit status 3' in r.stdout) == bool(tail), f'sparse {at}: {r.stdout}')
        check(b'in the middle of a chunk' not in r.stdout, f'sparse {at}: no chunk is as large: {r.stdout}')
    os.unlink(path)

def damaged(tmp, big):
    """Every truncation and many bit flips of a file: a result or one error message, never a crash."""
    whole = open(big, 'rb').read()
    path = f'{tmp}/damaged.hlt'
    seen = set()
    for i in range(0, 120):
        data = bytearray(whole)
        if i < 60:
            data = data[:len(whole) * i // 60]
        else:
            data[len(whole) * (i - 60) // 60] ^= 0xff
        open(path, 'wb').write(data)
        for args in (['info', '--json'], ['report', '--json', '--at', '70%'], ['report', '--leaks']):
            r = run(*args, path)
            seen.add(r.returncode)
            check(r.returncode in (0, 3), f'damage {i} {args}: {r.returncode} {r.stderr}')
            if r.returncode == 0 and '--json' in args:
                json.loads(r.stdout)
            if args[-1] == '--leaks' and r.returncode == 0 and json.loads(run('info', '--json', path).stdout)['complete'] is False:
                check(b'leaked' not in r.stdout, f'damage {i}: says leaked')
    check(seen == {0, 3}, f'damage: {seen}')

with tempfile.TemporaryDirectory() as tmp:
    good = make(f'{tmp}/good.hlt', BASE + 'extra 2560 0 0 mark\nfree 3840 0 0 11\nend 0 3 6400\n')
    many = BASE + ''.join(f'alloc {2560 + 64 * i} 0 {i % 100} {i % 6} 0\n' + ('chunk\n' if i % 1000 == 999 else '')
                          for i in range(20000)) + 'end 0 0 2000000\n'
    big = make(f'{tmp}/big.hlt', many)
    usage(tmp, good)
    unreadable(tmp)
    output(tmp, good, big)
    info(good)
    tree(good)
    dump(good)
    incomplete_traces(tmp)
    strict_reasons(tmp)
    real_names(tmp)
    hostile(tmp)
    deep(tmp)
    recursion(tmp)
    many_snapshots(tmp)
    sparse(tmp, good)
    damaged(tmp, big)
print(f'{len(failures)} failures')
sys.exit(bool(failures))
