#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""report_test - every view of report as JSON against golden files, sums over all groups, and bad
input.

	report_test.py HEAPLAPSE MKTRACE [--update]     --update rewrites the golden files: review the change
"""
import itertools, json, os, pathlib, re, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
import views

heaplapse, mktrace = map(os.path.abspath, sys.argv[1:3])
update = '--update' in sys.argv
GOLDEN = pathlib.Path(__file__).resolve().parent / 'golden'
failures = []

# Views whose JSON is tested in other ways: by timeline(), and by stacks_test.py.
WITHOUT_GOLDEN = ['--timeline', '--freed-by', '--mmaps']

# Functions: 0 malloc, 1 calloc, 2 realloc, 9 operator new, 11 free. Node 3 is in libc: its site is node 2.
# ordinal:                0: leaked in thread 0          1: temporary, next event       2: freed by thread 1
PARENT = '''module /opt/app/bin/app -
module /lib/libfoo.so -
module /lib/x86_64-linux-gnu/libc.so.6 -
node - 0 1000
node 0 0 1010
node 0 1 2010
node 2 2 3010
node - 2 4000
thread 100
thread 101
alloc 64000 0 1000 1 0 10000
alloc 128000 0 24 2 0 10400
free 192000 0 1 11
alloc 256000 0 500 3 1 10500
extra 320000 1 0 loaded
alloc 384000 1 64 2 9 10800
extra 448000 0 0 login
free 512000 1 2 11
alloc 576000 1 4096 1 0 11000
chunk
alloc 640000 0 0 0 0 20000
free 704000 0 3 16
extra 768000 1 0 done
alloc 832000 0 70000 4 0 400000
free 6400000 0 5 11
free 12800000 0 6 11
end 0 0 64000000
'''
CHILD = '''module /opt/app/bin/app -
node - 0 1000
thread 200
alloc 640 0 300 0 0
end 0 0 6400
'''

# Many blocks are left at the end, with stacks and calls that suppressions can distinguish; ordinals
# 2 and 3 have the same stack.
LEAKY = PARENT[:PARENT.index('alloc')] + '''alloc 64000 0 1000 1 0
alloc 128000 0 24 2 0
alloc 192000 0 500 3 1
alloc 256000 0 7 3 9
extra 320000 1 0 loaded
alloc 384000 1 64 - 0
chunk
alloc 448000 1 4096 4 1
free 512000 0 0 11
end 0 0 640000
'''

def check(ok, what):
    if not ok:
        failures.append(what)
        print('FAILED:', what)

def run(*args, columns=80):
    env = dict(os.environ, LC_ALL='C.UTF-8', COLUMNS=str(columns))
    return subprocess.run([heaplapse, 'report', *args], capture_output=True, env=env, timeout=60)

def ask(*args):
    r = run('--json', *args)
    check(r.returncode == 0, f'{args}: {r.returncode} {r.stderr}')
    return json.loads(r.stdout or b'{}')

def golden(name, *args):
    found = ask(*args)
    if '--overview' in args:
        check(found.pop('columns') == ask('--timeline', *args[1:])['columns'], f'{name}: columns')
    path = GOLDEN / f'{name}.json'
    if update:
        path.write_text(json.dumps(found, indent=1) + '\n')
    wanted = json.loads(path.read_text()) if path.exists() else None
    check(found == wanted, f'{name}: {json.dumps(found)}')

# Samples of the mappings: the heap grows, a file with an odd name is unmapped, memory is swapped out.
SAMPLES = '''map 1000 2 r-xp 8,0,0,0,0,0 /opt/app/bin/app
map 10000 16 rw-p 0,0,0,24,24,0 [heap]
map 7f0000000000 100 rw-p 0,0,0,200,200,12 -
map 7f0000100000 30 r--s 100,4,0,0,0,0 /tmp/odd%20%0aname%1b(deleted)
map 7ffff0000000 33 rw-p 0,0,0,16,16,0 [stack]
maps 640000 5000
map 1000 2 r-xp 8,0,0,0,0,0 /opt/app/bin/app
map 10000 64 rw-p 0,0,0,240,240,0 [heap]
map 7f0000000000 100 rw-p 0,0,0,300,300,12 -
map 7f0000100000 30 r--s 100,4,0,0,0,0 /tmp/odd%20%0aname%1b(deleted)
map 7f0000200000 100 rw-p 0,0,0,4,4,0 -
map 7ffff0000000 33 rw-p 0,0,0,20,20,0 [stack]
maps 12800000 6000
map 1000 2 r-xp 8,0,0,0,0,0 /opt/app/bin/app
map 10000 64 rw-p 0,0,0,240,240,0 [heap]
map 7f0000000000 100 rw-p 0,0,0,8,8,400 -
map 7ffff0000000 33 rw-p 0,0,0,20,20,0 [stack]
maps 32000000 7000
'''
PARENT = PARENT.replace('end', SAMPLES + 'end')

VIEWS = {
    'overview': ['--overview'],
    'peak': ['--peak'],
    'leaks': ['--leaks'],
    'allocated': ['--allocated', '--range', '@mark:loaded..@mark:done'],
    'temporary': ['--temporary'],
    'temporary-duration': ['--temporary=300us'],
    'growth': ['--growth', '@mark:loaded..700us'],
    'at': ['--at', '@mark:login'],
    'sites': ['--sites', '--peak'],
    'sizes': ['--sizes'],
    'lifetimes': ['--lifetimes'],
    'threads': ['--threads'],
    'fragmentation': ['--fragmentation', '--at', '@mark:done'],
    'address-space': ['--address-space', '--at', '@mark:done'],
    'resident': ['--resident'],
    'resident-at': ['--resident', '--at', '@mark:done', '-n', '2'],
    'blocks': ['--blocks'],
    'blocks-size': ['--blocks', '--sort', 'size', '--reverse', '-n', '3', '--offset', '1', '--filter', 'thread:0'],
    'blocks-stack': ['--blocks', '--group', 'stack', '--filter', 'size:<1K'],
    'snapshots': ['--snapshots'],
    'snapshot-deltas': ['--snapshot-deltas'],
    'cumulative-delta': ['--cumulative-delta'],
    'group-stack': ['--group', 'stack'],
    'group-function': ['--group', 'function', '--allocated'],
    'group-site': ['--group', 'site', '--allocated'],
    'group-file': ['--group', 'file'],
    'group-module': ['--group', 'module', '--allocated'],
    'group-thread': ['--group', 'thread', '--allocated'],
    'group-call': ['--group', 'call', '--allocated'],
    'group-snapshot': ['--group', 'snapshot', '--allocated'],
    'filter': ['--allocated', '--filter', 'size:>=64 -module:libc.so.6 thread:0,1'],
}
QUANTITIES = (['--peak'], ['--leaks', '--no-default-suppressions'], ['--allocated'], ['--temporary'], ['--temporary=1ms'],
              ['--growth', '0..50%'], ['--at', '650us'], ['--allocated', '--range', '300us..'])
GROUPS = 'stack function site file module thread call size life snapshot'.split()

def sums(trace):
    """Every group of every quantity, with and without a filter, adds up to the total of the tree."""
    quantities = list(QUANTITIES)
    for name, patterns in {'stack': ['0x1010$', 'nothing'], 'call': ['malloc'], 'both': ['libfoo', 'calloc', '^operator new$']}.items():
        pathlib.Path(f'{name}.supp').write_text(''.join(f'leak:{p}\n' for p in patterns))
        quantities.append(['--leaks', '--suppressions', f'{name}.supp'])
    for quantity, expr in itertools.product(quantities, (None, 'size:>30', 'life:<1ms', '-call:malloc')):
        args = quantity + (['--filter', expr] if expr else [])
        tree = ask(*args, trace)
        total = tree['total_bytes'], tree['total_blocks']
        outer = [n for n in tree['nodes'] if n['parent'] is None]
        check((sum(n['bytes'] for n in outer), sum(n['blocks'] for n in outer)) == total, f'{args}: the tree')
        for group in GROUPS:
            answer = ask(*args, '--group', group, trace)
            rows = answer['rows']
            check(answer.get('suppressed') == tree.get('suppressed'), f'{args} by {group}: left out {answer.get("suppressed")}')
            check((sum(r['bytes'] for r in rows), sum(r['blocks'] for r in rows)) == total, f'{args} by {group}')

def filters(trace):
    def total(expr, *args):
        return ask('--allocated', '--filter', expr, *args, trace)['total_bytes']
    check(total('') == 75684, 'all')
    check(total('fn:0x1010') == 5096 and total('0x1010') == 5096 and total('-0x1010') == 75684 - 5096, 'function')
    check(total('fn:/^0x[12]01/') == 5684 and total('fn:0x?010,0x4*') == 75684, 'regex, glob')
    check(total('module:libfoo.so') == 588 and total('module:libf*') == 588 and total('module:/lib/*') == 70588, 'module')
    check(total('size:24') == 24 and total('size:64..1000') == 1564 and total('size:<64') == 24, 'size')
    check(total('call:calloc') == 500 and total('call:calloc,new') == 564 and total('call:new,size:24') == 88, 'or')
    rows = {r['name']: r['bytes'] for r in ask('--allocated', '--group', 'call', trace)['rows']}
    check({name: total(f'call:"{name}"') for name in rows} == rows and 'operator new' in rows, f'the names that -g call has: {rows}')
    check(total('call:operator') == 64 and total('call:/^o.* new/') == 64 and total('call:c*') == 500 and total('call:/^(m|c)/') == 75620, 'call')
    check(total('life:<100us') == 24 and total('alive:end') == 5096 and total('-alive:end') == 70588, 'life, alive')
    check(total('alive:@mark:loaded') == 1500 and total('alive:260us') == 1500, 'alive at a mark')
    check(total('time:..300us') == 1524 and total('time:@mark:done..') == 70000, 'time')
    check(total('addr:0x10000') == 1000 and total('addr:0x103e7') == 1000 and total('addr:0x103e8') == 0, 'addr')
    check(total('addr:0x10400..0x10800') == 588, 'addr range')
    check(total('fn:malloc') == 75120 and total('-fn:malloc') == 564 and total('calloc,operator') == 564, 'the called function')
    check(total('fn:/^malloc$|foo bar/') == 75120 and total('fn:"operator new"') == 64, 'spaces')
    check(total('0x1010,-0x1010') == 75684 and total('0x4000,-0x1000') == 70000, 'not, behind a comma')
    check(total('time:@mark:"done"..') == 70000, 'a mark in quotes')
    for traces in ('child.hlt', trace), (trace, 'child.hlt'):
        check(ask('--allocated', '--filter', 'fn:0x1000', *traces)['total_bytes'] == 5984, f'one filter for {traces}')
    check(total('call:calloc,new', '--filter', 'thread:1') == 64 and total('thread:1', '--filter', '') == 4160, 'two must both hold')
    check(ask('--allocated', '-i', '0x1010', '-i', '0x4000', trace)['total_bytes'] == 75096, 'include')
    check(ask('--allocated', '-x', '0x1010', '--exclude-module', 'libfoo*', trace)['total_bytes'] == 70000, 'exclude')
    check(ask('--allocated', '--include-module', 'libfoo*', '-x', '/3010$/', trace)['total_bytes'] == 88, 'both')

def positions_in_time():
    """The peak and marks are positions between two events, in filters as in ranges: the events
    before and after a position add up to all events."""
    subprocess.run([mktrace, 'ticks.hlt'], check=True, input=b'thread 1\nalloc 64 0 100 - 0\nalloc 64 0 1000 - 0\nfree 64 0 1 11\n'
                   b'alloc 64 0 20 - 0\nextra 64 1 0 here\nalloc 64 0 3 - 0\nfree 64 0 0 11\nchunk\nalloc 64 0 4 - 0\nend 0 0 640\n')
    for place, before in ('@peak', 1100), ('@mark:here', 1120):
        for range, total in (f'..{place}', before), (f'{place}..', 1127 - before):
            for args in ['--range', range], ['--filter', f'time:{range}']:
                found = ask('--allocated', *args, 'ticks.hlt')['total_bytes']
                check(found == total, f'{args}: {found} and not {total}')
        for sign, total in ('<', before), ('<=', before), ('>', 1127 - before), ('>=', 1127 - before):
            found = ask('--allocated', '--filter', f'time:{sign}{place}', 'ticks.hlt')['total_bytes']
            check(found == total, f'{sign}{place}: {found} and not {total}')
        lines = [subprocess.run([heaplapse, 'dump', '--filter', f'time:{range}', 'ticks.hlt'], capture_output=True, text=True).stdout.splitlines()
                 for range in (f'..{place}', f'{place}..')]
        events = [[l for l in part if l.split()[0] in ('alloc', 'free')] for part in lines]
        check(list(map(len, events)) == ([2, 5] if place == '@peak' else [4, 3]), f'dump {place}: {lines}')
    check(all(any('here' in l for l in part) for part in lines), f'a mark is on both sides of itself: {lines}')
    check(ask('--allocated', '--filter', 'alive:@mark:here life:>1s', 'ticks.hlt')['total_bytes'] == 20, 'alive at a mark')

def page_usage(trace):
    """Page usage counts every block on a page, also those that a filter excludes."""
    own = {'live_bytes', 'live_blocks', 'holders', 'filter', 'unmatched'}
    for moment, expr in itertools.product(('@mark:done', '@mark:login'), ('size:24', 'fn:0x2010', 'size:1000', 'life:<1h', 'alive:end', 'call:new')):
        at = '--at', moment
        whole, some, live = ask('--fragmentation', *at, trace), ask('--fragmentation', *at, '--filter', expr, trace), ask(*at, '--filter', expr, trace)
        check({k: v for k, v in some.items() if k not in own} == {k: v for k, v in whole.items() if k not in own}, f'{at} {expr}: {some}')
        check((some['live_bytes'], some['live_blocks']) == (live['total_bytes'], live['total_blocks']), f'{at} {expr}: {some}')
        check(whole['live_bytes'] == whole['all_live_bytes'] and all(h in whole['holders'] for h in some['holders']), f'{at} {expr}: {some}')

def exact_pages():
    """Only requested bytes count: malloc(0) holds a page with zero bytes, and a region begins at
    its first block."""
    subprocess.run([mktrace, 'zero.hlt'], check=True, input=b'module /bin/app -\nnode - 0 1000\nnode - 0 2000\nthread 1\n'
                   b'alloc 64 0 0 0 0 100200\nalloc 64 0 24 0 0 100220\nalloc 64 0 0 1 0 103ff0\nalloc 64 0 100 0 0 900800\nend 0 0 640\n')
    f = ask('--leaks', '--fragmentation', 'zero.hlt')
    mapped = 0x103ff0 - 0x100200 + 100
    check((f['live_bytes'], f['sparse_bytes'], f['pages'], f['sparse_pages']) == (124, 124, 3, 3), f'malloc(0): {f}')
    check((f['regions'], f['mapped_bytes_at_least'], f['largest_gap_bytes']) == (2, mapped, 0x103ff0 - 0x100238), f'{mapped}: {f}')
    held = {h['function']: (h['pages'], h['bytes'], h['blocks']) for h in f['holders']}
    check(held == {'0x1000': (2, 124, 3), '0x2000': (1, 0, 1)}, f'malloc(0): {held}')
    leaked, pages = (run('--leaks', *view, 'zero.hlt').stdout.decode() for view in ([], ['--fragmentation']))
    check(leaked.startswith('leaked (live at the end), '), leaked)
    check(pages.startswith("the heap's pages, live at the end of the recording, at "), f'suppressed blocks hold pages, too: {pages}')

def bad_input(trace, empty, folder):
    def refused(status, words, *args):
        r = run(*args)
        check(r.returncode == status and words.encode() in r.stderr, f'{args}: {r.returncode} {r.stderr}')
        check(b'rows' not in r.stdout and b'nodes' not in r.stdout, f'{args}: {r.stdout[:100]}')
        return r
    r = refused(2, 'missing closing parenthesis', '--filter', 'size:>1K fn:/a(/', trace)
    check(r.stderr.decode().splitlines()[-1] == '  ' + ' ' * len('size:>1K fn:/a(') + '^', str(r.stderr))
    refused(2, 'expected a name or part of one', '--filter', 'tag:', trace)
    refused(2, 'there is no pool of this name', '--pool', 'arena', trace)
    refused(2, 'there is no mark "logout"', '--filter', 'time:@mark:logout..', trace)
    refused(2, 'after the end of the recording', '--filter', 'time:1h..', trace)
    refused(2, 'after the end of the recording', '--filter', 'time:>1h', trace)
    refused(2, 'after its end', '--filter', 'time:20us..10us', trace)
    refused(2, 'unterminated', '--filter', 'fn:/leaf|foo bar', trace)
    refused(2, 'unterminated', '-x', '/leaf', trace)
    refused(2, 'there is no mark "logout"', '--at', '@mark:logout', trace)
    refused(2, 'one of stack, function', '--group', 'colour', trace)
    refused(2, 'bytes, blocks', '--group', 'site', '--sort', 'colour', trace)
    refused(2, 'a range of times', '--growth', '1s', trace)
    refused(2, 'after the end of the recording', '--growth', '1h..2h', trace)
    refused(2, 'after its end', '--growth', '20us..10us', trace)
    refused(2, '--range applies to', '--range', '1us..', '--leaks', trace)
    for one, other in (('--leaks', '--peak'), ('--at=50%', '--leaks'), ('--at=50%', '--at=70%'), ('--temporary', '--temporary=1ms'),
                       ('--allocated', '--temporary'), ('--growth=0..1us', '--range=0..2us'), ('--group=process', '--sites'),
                       ('--threads', '--group=process')):
        refused(2, f'{one} and {other} exclude each other', one, other, trace)
    refused(2, '--range=..1us and --range=..2us exclude each other', '--allocated', '--range', '..1us', '--range', '..2us', trace)
    refused(2, '--json takes one view, but --sizes and --threads were given', '--json', '--sizes', '--threads', trace)
    refused(2, 'a duration', '--temporary=50%', trace)
    refused(2, 'character', '-i', '/a(/', trace)
    refused(3, 'nowhere', '--suppressions', f'{folder}/nowhere', '--leaks', trace)
    pathlib.Path(f'{folder}/bad.supp').write_text('# fine\nleak:x\nrace:y\n')
    for args in [], ['--allocated'], ['--at', '50%'], ['--sites']:
        refused(2, '--suppressions applies only to --leaks', '--suppressions', f'{folder}/bad.supp', *args, trace)
    for args, named in (['--allocated'], '--allocated'), (['--temporary'], '--temporary'), (['--growth', '0..50%'], '--growth'), \
            (['--range', '0..50%'], '--range'), (['--sites', '--allocated'], '--allocated'):
        refused(2, f'--fragmentation needs a moment, not {named}:', '--fragmentation', *args, trace)
    for args, named in (['--at', '5%'], '--at'), (['--range', '10%..20%'], '--range'), (['--growth', '10%..20%'], '--growth'):
        for view in ['--timeline'], ['--threads'], ['--sites', '--timeline']:
            r = run(*view, *args, trace)
            ignored = 0 if view[-1] == '--timeline' and named != '--at' else 1
            check(r.returncode == 0 and r.stderr.decode().count(f'{view[-1]} shows the whole run: {named} does not apply;') == ignored, f'{view} {args}: {r.stderr}')
    for args in ['--timeline', '--leaks'], ['--sites', '--at', '50%']:
        check(b'whole run' not in run(*args, trace).stderr, f'{args}: nothing is ignored')
    for by in 'blocks', 'average', 'name':
        refused(2, f'--sort={by} does not apply to --freed-by', '--freed-by', '--sort', by, trace)
    for view in '--timeline', '--fragmentation':
        refused(2, f'--sort=bytes does not apply to {view}', view, '--sort=bytes', trace)
    refused(2, 'fn:', '--filter', 'size:24', '--filter', 'fn:', trace)
    refused(2, 'op= applies only to dump', '--filter', 'size:24', '--filter', 'op=free', trace)
    refused(3, 'line 3', '--suppressions', f'{folder}/bad.supp', '--leaks', trace)
    for view in [], ['--group', 'process'], ['--fragmentation']:
        r = run('--at', '1h', *view, trace)
        check(r.returncode == 0 and b'is after the end of the recording; showing the end' in r.stderr, f'{view} of a time after the end: {r.stderr}')
    for args in itertools.chain(VIEWS.values(), QUANTITIES, [['--timeline']]):
        if any('@mark' in a or a == '300us..' for a in args) or '--resident' in args:
            continue
        r = run(*args, empty)
        check(r.returncode == 0 and b'the trace has no allocations' in r.stderr, f'{args} of nothing: {r.returncode} {r.stderr}')
        json.loads(run('--json', *args, empty).stdout)

def processes(trace):
    """One process with a problem: the others are shown, and the problem is reported and counted."""
    quantity = ['--allocated', '--group', 'process']
    for files in itertools.permutations(('nowhere.hlt', trace, 'child.hlt')):
        r = run(*quantity, *files)
        check(r.returncode == 3 and r.stderr.count(b'nowhere.hlt') == 1, f'{files}: {r.returncode} {r.stderr}')
        check(b'2 of 3 processes, each as above: 74.2 KiB in 8 blocks' in r.stdout, f'{files}: {r.stdout}')
        r = json.loads(run('--json', *quantity, *files).stdout)
        bad = [p for p in r['processes'] if 'error' in p]
        check((r['total_bytes'], r['processes_read'], len(r['processes'])) == (75984, 2, 3), str(r))
        check(len(bad) == 1 and bad[0]['trace'] == 'nowhere.hlt' and 'nowhere.hlt' in bad[0]['error'], str(bad))
    r = run('--peak', trace, 'nowhere.hlt')
    check(r.returncode == 3 and b'1 of 2 processes' in r.stdout and b'[app]' in r.stdout, f'a tree and no file: {r}')
    r = run('nowhere.hlt', 'nothing.hlt')
    check(r.returncode == 3 and b'0 of 2 processes could be read' in r.stdout, f'no file at all: {r}')

    # The child ends after 6.4 us and has no marks.
    times = (['--growth', '100us..700us'], 4160), (['--at', '@mark:login'], 1564), (['--range', '@mark:login..'], 74096), \
        (['--at', '450us'], 1564), \
        (['--allocated', '--filter', 'time:@mark:done..'], 70000)
    for (args, total), files in itertools.product(times, ((trace, 'child.hlt'), ('child.hlt', trace))):
        for view in [], ['--group', 'process'], ['--sites'], *([['--fragmentation']] if args[0] == '--at' else []):
            r = run(*args, *view, *files)
            check(r.returncode == 0 and b'child.hlt: ' in r.stderr and b'it counts as 0' in r.stderr, f'{args} {view}: {r}')
            check(b'all 2 processes' in r.stdout, f'{args} {view} {files}: {r.stdout}')
            r = ask(*args, *view, *files)
            child = r['processes'][files.index('child.hlt')]
            check(r['total_bytes'] == total and child['total_bytes'] == 0 and child['error'], f'{args} {view} {files}: {r}')
        r = run('--strict', *args, *files)
        check(r.returncode == 4 and b'child.hlt: incomplete' in r.stderr, f'{args} --strict: {r}')
    for args in ['--growth', '1h..2h'], ['--at', '@mark:logout'], ['--range', '20us..10us'], ['--at', '1h'], ['--fragmentation', '--at', '1h']:
        r = run('--json', *args, trace, 'child.hlt')
        check(r.returncode == 2 and not r.stdout and b'no process matches: ' in r.stderr, f'{args}, which none has: {r}')

    # Meaningless totals are not present.
    for view in '--snapshots', '--snapshot-deltas', '--cumulative-delta', '--timeline':
        check('total_bytes' not in ask(view, trace, 'child.hlt'), f'a total of {view}')
        check(b'each as above' not in run(view, trace, 'child.hlt').stdout, f'a total of {view} in text')
    r = run('--allocated', '--group', 'process', trace, './' + trace)
    check(b'all 1 process, each as above: 73.9 KiB' in r.stdout and b'is the same file as parent.hlt' in r.stderr, f'one file twice: {r}')
    os.link('child.hlt', 'link.hlt')
    check(len(ask('--allocated', 'child.hlt', trace, 'link.hlt')['processes']) == 2, 'two names of one file')
    os.unlink('link.hlt')

def one_snapshot():
    """A change needs two snapshots."""
    subprocess.run([mktrace, 'one.hlt'], check=True, input=(CHILD[:CHILD.index('end')] + 'extra 700 1 0 only\nend 0 0 6400\n').encode())
    r = run('--json', '--cumulative-delta', 'one.hlt')
    check(r.returncode == 0 and json.loads(r.stdout)['snapshots'] == [] and b'deltas need at least two snapshots' in r.stderr, f'one snapshot: {r}')

def suppressions(trace, folder):
    pathlib.Path(f'{folder}/app.supp').write_text('# ours\nleak:^0x1010$\n\nleak:nothing*such\n')
    r = ask('--leaks', '--suppressions', f'{folder}/app.supp', trace)
    check(r['total_bytes'] == 0 and r['suppressed'] == [{'pattern': '^0x1010$', 'bytes': 5096, 'blocks': 2}], str(r))
    pathlib.Path(f'{folder}/other.supp').write_text('leak:nothing*such\n')
    for files in itertools.permutations(('app.supp', 'other.supp')):
        r = ask('--leaks', *(a for f in files for a in ('--suppressions', f'{folder}/{f}')), trace)
        check(r['total_bytes'] == 0, f'{files}: {r["total_bytes"]}')
    for pattern, fits in {'x10': True, '^x10': False, 'bin/app$': True, '0x*10$': True, '^/opt*app$': True, '$': True,
                          '^0x1010': True, '1010^': False, 'bin/ap$': False, '0*9': False}.items():
        pathlib.Path(f'{folder}/app.supp').write_text(f'leak:{pattern}\n')
        r = ask('--leaks', '--suppressions', f'{folder}/app.supp', trace)
        check((r['total_bytes'] == 0) == fits, f'suppression {pattern}: {r["total_bytes"]}')
    r = run('--leaks', '--suppressions', f'{folder}/app.supp', trace)
    check(b'suppressed' not in r.stdout, 'nothing suppressed, nothing said')

def suppressed_processes():
    """Suppressed blocks are reported for each process, and notes on names that are not shown are not."""
    trace = make_real('kept.hlt', '_start __libc_start_main :app getpwuid', ':app')
    r = run('--leaks', '--bytes', '--group', 'process', trace, 'leaky.hlt').stdout.decode()
    lines = r.splitlines()
    check(lines[0].split() == ['bytes', 'blocks', 'share', 'resident', 'process'], f'the header: {r}')
    check(lines[1].endswith('leaked (live at the end)') and 'names:' not in r, f'no empty line, no names: {r}')
    head = lines.index('suppressed (--no-default-suppressions shows what is built in):')
    check(re.fullmatch(r"  .* \(pid 42\): 1 B in 1 block: libc's data of users, groups and hosts", lines[head + 1]) and
          lines[head - 1:head] == lines[head + 2:head + 3] == [''] and lines[-1].startswith('all 2 processes'), f'suppressed: {r}')
    r = run('--leaks', '--no-default-suppressions', '--group', 'process', trace, 'leaky.hlt').stdout.decode()
    check('suppressed' not in r and len(r.splitlines()) == 4, r)
    pathlib.Path('malloc.supp').write_text('leak:malloc\n')
    leaks = '--leaks', '--suppressions', 'malloc.supp'
    for p in ask(*leaks, '--group', 'process', trace, 'leaky.hlt')['processes']:
        alone = ask(*leaks, '--group', 'size', p['trace'])
        check(p['suppressed'] == alone['suppressed'] != [], f'{p}, alone {alone}')
    for view in ['--sizes'], ['--group', 'thread'], ['--threads'], ['--timeline']:
        check('names:' not in run('--leaks', *view, trace).stdout.decode(), f'names of {view}')
    check('names:' in run('--leaks', '--sizes', '--filter', 'fn:nothing', trace).stdout.decode(), 'a filter by names that are missing')
    check('names:' in run('--leaks', '--sizes', '--sites', trace).stdout.decode(), 'one of two views with names')

def text(trace):
    """The text of each view: it is not empty, and all lines are aligned."""
    for args in list(VIEWS.values()) + [['--timeline'], ['--top-down'], ['--group', 'site', '-n', '1', '--sort', 'blocks']]:
        r = run(*args, trace)
        check(r.returncode == 0 and r.stdout and not r.stderr, f'{args}: {r.returncode} {r.stderr}')
        check(not any(c < 32 and c != 10 for c in r.stdout), f'{args}: control characters')
    for args in ['--group', 'process'], ['--group', 'site'], ['--timeline'], []:
        r = run(*args, trace, 'child.hlt')
        check(r.returncode == 0 and r.stdout.count(b'(pid 42)') == 2, f'{args} of two: {r.returncode} {r.stdout}')
    peak = run('--peak', trace).stdout.decode()
    lines = [l[33:] for l in peak.splitlines()[2:] if l.strip()]
    # the sites first, their callers below them
    check(lines[:2] == ['├─ 0x4000  [libc.so.6]', '└─ 0x1010  [app]'] and '   0x1000  [app]' in lines, peak)
    plot = run('--timeline', trace).stdout.decode()
    check('1 snapshot loaded' in plot and '2 mark login' in plot and '^ highest' in plot, plot)

def wording(trace):
    """A single branch has no "each"; values that were not measured come with the reason."""
    one = run('--allocated', '--min', '90', '--top-down', trace).stdout.decode()
    check(', 1 branch below 90%; --min 0 shows all' in one, one)
    one = run('--allocated', '-n', '1', '--top-down', trace).stdout.decode()
    check(', 1 branch beyond -n 1 or below 0.5%; -n 0 --min 0 shows all' in one, one)
    one = run('--allocated', '--group', 'site', '--sort', 'blocks', '-n', '3', trace).stdout.decode()
    check(re.search(r'\nhidden: .* in \d blocks? \(\d+\.\d% of the blocks\), ', one), one)
    many = run('--allocated', '--group', 'site', '--min', '50', trace).stdout.decode()
    check(' rows below 50% each; --min 0 shows all' in many, many)
    pages = run('--fragmentation', trace).stdout.decode()
    check('-  not sampled in a run this short' in pages, pages)
    subprocess.run([mktrace, 'second.hlt'], check=True, input=b'thread 1\nalloc 64 0 10 - 0\nend 0 0 1000000000\n')
    pages = run('--fragmentation', 'second.hlt').stdout.decode()
    check('not sampled before this moment' in pages, pages)

def several(trace):
    """Several views in one command equal the views one by one, each with its own quantity."""
    alone = lambda *args: run(*args, trace).stdout.decode()
    for views in (['--sizes', '--threads'], ['--sizes', '--sites', '--lifetimes'], ['--group=site', '--group=call', '--sizes'], ['--timeline', '--sites'],
                  ['--snapshots', '--fragmentation']):
        for quantity in [], ['--leaks']:
            # The notes on names are printed once, at the end.
            wanted = '\n'.join(alone(*quantity, v).partition('\nnames:')[0] for v in views)
            found = alone(*quantity, *views)
            check(found.partition('\nnames:')[0] == wanted and wanted.count('\n\n') >= len(views) - 1, f'{quantity} {views}: {found}')
    check(alone('--sites', '--sites') == alone('--sites') and alone('--leaks', '--leaks') == alone('--leaks'), 'the same twice is once')
    check(ask('--sizes', '--allocated', trace) == ask('--sizes', trace), 'a view and a quantity')
    r = run('--sites', '--sizes', trace, 'child.hlt')
    check(r.returncode == 0 and r.stdout.count(b'(pid 42)') == 2 and b'all 2 processes' not in r.stdout, f'two of two: {r.stdout}')

def debug_package_notes():
    """The location of -dbgsym packages is printed once, after the modules that have one; if no
    module has one, it is not printed."""
    files = [os.path.realpath(f) for f in ('/bin/dash', '/bin/cat', '/bin/tar')]
    text = ''.join(f'module {f} *\nnode - {i} 5000\n' for i, f in enumerate(files))
    text += 'thread 1\n' + ''.join(f'alloc 64 0 100 {i} 0\n' for i in range(len(files))) + 'end 0 0 640\n'
    subprocess.run([mktrace, 'packages.hlt'], input=text.encode(), check=True)
    lines = run('--peak', 'packages.hlt').stdout.decode().splitlines()
    advised = [i for i, l in enumerate(lines) if '-dbgsym)' in l]
    said = [i for i, l in enumerate(lines) if "are in Debian's debug archive; see: heaplapse help report" in l]
    check(len(said) == bool(advised) and (not said or said[0] > advised[-1]), f'the archive: {lines}')
    check(advised or not os.path.exists('/var/lib/dpkg/info/dash.list'), f'packages: {lines}')
    help_text = subprocess.run([heaplapse, 'help', 'report'], capture_output=True, text=True, check=True).stdout
    check('  deb http://deb.debian.org/debian-debug bookworm-debug main\n' in help_text, f'the line is where the note says: {help_text}')
    overview = run('packages.hlt').stdout.decode().splitlines()
    advised = any('-dbgsym)' in l for l in overview)
    check(advised == any("debug archive; see: heaplapse help report" in l for l in overview), f'the overview has it, too: {overview}')
    check(b'archive' not in run('--peak', 'parent.hlt').stdout, 'without packages nothing is said of them')

def tree_order(trace):
    """A tree by blocks: the order, the shares and the omitted rows go by blocks; names and averages
    do not sort a tree."""
    lines = lambda *args: [l for l in run(*args, trace).stdout.decode().splitlines() if '%' in l]
    first = lambda *args: [l.split()[0] + l[33:] for l in lines(*args) if l[33:35] in ('├─', '└─')]
    tree = '--allocated', '--top-down'
    check(first(*tree) == ['92.5%├─ 0x4000  [libc.so.6]', '7.5%└─ 0x1000  [app]'], str(first(*tree)))
    by_blocks = first(*tree, '--sort', 'blocks')
    check(by_blocks == ['85.7%├─ 0x1000  [app]', '14.3%└─ 0x4000  [libc.so.6]'], str(by_blocks))
    inverted = first('--allocated', '--sort', 'blocks')
    check(inverted[0].startswith('42.9%├─ 0x2010') and sum(float(l.split('%')[0]) for l in inverted) > 99.8, str(inverted))
    top = [n['function'] for n in ask(*tree, '--sort', 'blocks', trace)['nodes'] if n['parent'] is None]
    check(top == ['0x1000', '0x4000'], f'JSON by blocks: {top}')
    kept = lines('--allocated', '--group', 'site', '--sort', 'blocks', '--min', '14')
    check(len(kept) >= 4 and '0 B' in ''.join(kept), 'a table by blocks keeps rows of few bytes: ' + str(kept))
    for by in 'name', 'average':
        r = run('--sort', by, trace)
        check(r.returncode == 2 and b'a tree is sorted by bytes or blocks' in r.stderr, f'--sort {by}: {r.stderr}')
    # A number that is wider than its column widens the column in all rows.
    subprocess.run([mktrace, 'wide.hlt'], check=True, input=b'module /bin/app -\nnode - 0 1000\nnode 0 0 1010\nthread 1\n'
                   b'alloc 64 0 123456789012 0 0\nalloc 64 0 5 1 0\nend 0 0 640\n')
    exact = [l for l in run('--bytes', '--min', '0', 'wide.hlt').stdout.decode().splitlines() if '%' in l]
    check(len(exact) == 2 and ' 123,456,789,012 B ' in exact[0] and len({l.find(' B ') for l in exact}) == 1, f'--bytes in line: {exact}')

def limited_lists(trace):
    """-n cuts every list to its largest rows and says how many more there are; --min does so except for scales."""
    subprocess.run([mktrace, 'threads.hlt'], check=True, input=('module /bin/app -\nnode - 0 1000\n' + ''.join(
        f'thread {i}\n' for i in range(1, 9)) + ''.join(f'alloc {64 * i + 64} {i} {10 ** (i % 4)} 0 0\n' for i in range(8)) +
        ''.join(f'free {64 * i + 640} {(i + 1) % 8} {i} 11\n' for i in range(8)) + 'end 0 0 6400\n').encode())
    def lines(*args):
        return run(*args).stdout.decode().splitlines()
    rows = [l.split()[0] for l in lines('--threads', '-n', '3', 'threads.hlt') if l[:6].strip().isdigit()]
    check(rows == ['0', '3', '4'], f'the threads that allocated or freed most: {rows}')
    text = '\n'.join(lines('--threads', '-n', '3', 'threads.hlt'))
    check('and 5 threads more; -n 0 shows all' in text and 'and 5 pairs more' in text and text.count('allocated, thread') == 3, text)
    check(len([l for l in lines('--threads', 'threads.hlt') if l[:6].strip().isdigit()]) == 8, 'all threads unless asked')
    text = '\n'.join(lines('--threads', '--min', '20', 'threads.hlt'))
    check('and 4 threads more; --min 0 shows all' in text and text.count('allocated, thread') == 2, text)
    subprocess.run([mktrace, 'tree.hlt'], check=True, input=('module /bin/app -\nnode - 0 1000\nthread 1\n' + ''.join(
        f'node 0 0 {2000 + i}\n' for i in range(4)) + ''.join(f'node 1 0 {3000 + i}\n' for i in range(4)) +
        ''.join(f'alloc 64 0 {100 + 10 * (8 - i)} {i + 1} 0\n' for i in range(8)) + 'end 0 0 6400\n').encode())
    two = lines('--top-down', '-n', '2', 'tree.hlt')
    names = [l[33:].strip(' ├└─│').split()[0] for l in two if '[app]' in l]
    check(names == ['0x1000', '0x2000', '0x3000', '0x3001', '0x2001'], f'-n at every level: {two}')
    check(any(l.startswith('hidden: 540 B in 4 blocks') and ', 4 branches beyond -n 2' in l for l in two), f'-n counts the rest: {two}')
    table = lambda *args: [l for l in lines(*args) if '%' in l and not l.startswith('hidden')]
    by_thread = table('--allocated', '-g', 'thread', '--min', '5', 'threads.hlt')
    check(len(by_thread) == 2, f'-g thread --min: {by_thread}')
    subprocess.run([mktrace, 'many.hlt'], check=True, input=('module /bin/app -\nnode - 0 1000\n' + ''.join(
        f'thread {i}\n' for i in range(1, 301)) + ''.join(f'alloc {64 * i + 64} {i} {100 + (i == 7)} 0 0\n' for i in range(300)) +
        'end 0 0 6400\n').encode())
    many = table('--allocated', '-g', 'thread', 'many.hlt')
    check(len(many) == 10 and any('101 B' in line for line in many), f'-g thread, all rows below the default: {many}')
    text = '\n'.join(lines('--allocated', '-g', 'thread', 'many.hlt'))
    check(', 290 rows below 0.5% each; --min 0 shows all' in text, text)
    check(not table('--allocated', '-g', 'thread', '--min', '0.5', 'many.hlt'), 'a minimum that was given holds')
    check(len(table('--allocated', '-g', 'thread', '-n', '3', 'many.hlt')) == 3, '-n holds')
    sizes = table('--sizes', '--min', '40', trace)
    check(len(sizes) == len(table('--sizes', trace)), f'a scale is whole: {sizes}')
    two = lines('--sizes', '-n', '2', trace)
    check([l[33:] for l in two if '%' in l][:2] == ['4.0 KiB - < 8.0 KiB', '64.0 KiB - < 128.0 KiB'], f'in the order of the scale: {two}')
    check(two[-1].endswith('rows beyond -n 2; -n 0 shows all'), two[-1])
    two = lines('--allocated', '-g', 'process', '-n', '1', 'child.hlt', trace)
    check(len(two) == 4 and '73.9 KiB' in two[1] and '99.6%' in two[1] and two[2] == '  and 1 process more; -n 0 shows all', str(two))
    check('74.2 KiB' in two[3], f'the total is of all: {two}')
    check(len(lines('--allocated', '-g', 'process', '--min', '1', 'child.hlt', trace)) == 4, '-g process --min')
    two = lines('--allocated', '-g', 'process', 'child.hlt', trace)
    check(len(two) == 4 and '73.9 KiB' in two[1] and '0.4%' in two[2], f'the largest is first: {two}')

def function_offsets(path, *flags):
    """The offsets of the functions of a file: {name: offset}."""
    lines = subprocess.run(['nm', *flags, path], capture_output=True, text=True, check=True).stdout.splitlines()
    return {l.split()[-1].partition('@')[0]: int(l.split()[0], 16) + 8 for l in lines if l.split()[-2] in 'TtWi'}

def make_real(name, *stacks):
    """A trace of leaked blocks, the k-th of 10 ** k bytes. A stack is a list of functions from the
    outermost on: of libc, synthetic ones such as :libfoo.so, or _start."""
    with open('/proc/self/maps') as maps:
        libc = next(l.split()[-1] for l in maps if '/libc.so.6' in l)
    in_libc, in_program = function_offsets(libc, '-D'), function_offsets(mktrace)
    lines, nodes = f'module {libc} *\nmodule {mktrace} *\n', 0
    modules, allocs = [], ''
    for k, stack in enumerate(stacks):
        parent = '-'
        for f in stack.split():
            if f.startswith(':') and f not in modules:
                modules.append(f)
                lines += f'module /nowhere/{f[1:]} -\n'
            place = (2 + modules.index(f), 0x1000) if f[0] == ':' else (1, in_program[f]) if f == '_start' else (0, in_libc[f])
            lines += f'node {parent} {place[0]} {place[1]:x}\n'
            parent, nodes = nodes, nodes + 1
        allocs += f'alloc 64 0 {10 ** k} {parent} 0\n'
    subprocess.run([mktrace, name], input=(lines + 'thread 1\n' + allocs + 'end 0 0 640\n').encode(), check=True)
    return name

def frames_before_main():
    """Frames before main are in JSON and with --full-stacks, otherwise not, unless a stack has no others."""
    trace = make_real('starts.hlt', '_start __libc_start_main :app', 'clone :app', ':stripped __libc_start_main :other', 'clone clone')
    leaks = '--leaks', '--min', '0', '--no-default-suppressions'
    for view in [], ['--top-down'], ['--group', 'stack']:
        short, full = (run(*leaks, *view, *more, trace).stdout.decode() for more in ([], ['--full-stacks']))
        check('_start' not in short and 'libc_start_main' not in short and '[stripped]' not in short, f'{view}: {short}')
        check('_start' in full and 'libc_start_main' in full and ('[stripped]' in full or view[:1] == ['--group']), f'{view} --full-stacks: {full}')
        check(len(re.findall(r'\b_*clone\b(?!\.S)', short)) == 2 and short.splitlines()[0] == full.splitlines()[0], f'{view}: nothing but clone: {short}')
        rows = [float(l.split('%')[0]) for l in short.splitlines() if '%' in l and (view[:1] == ['--group'] or l[33:34] in '├└')]
        check(len(rows) > 0 and 99.7 < sum(rows) < 100.3, f'{view}: the sum: {short}')
    tree = ask(*leaks, trace)
    check(tree == ask(*leaks, '--full-stacks', trace) and '_start' in {n['function'] for n in tree['nodes']}, f'JSON: {tree}')

def libc_suppressions():
    """Memory that libc keeps for itself is not a leak. Memory that it returns to the program is,
    and so is memory that a callback of the program allocates."""
    kept = ('getpwuid', 'getgrgid __nss_database_get', 'gethostbyname', 'setlocale strdup', 'newlocale strdup', 'bindtextdomain',
            'iconv_open __gconv_open strdup', 'localtime', 'puts _IO_file_doallocate', 'dlopen strdup')
    leaked = 'fopen', 'getaddrinfo', 'newlocale', 'iconv_open __gconv_open', 'strdup', 'setlocale :app'
    wide = lambda stacks: [f'_start __libc_start_main :app {s}' for s in stacks]
    for stacks, all_kept in (kept, True), (leaked, False):
        trace = make_real('known.hlt', *wide(stacks))
        for k, stack in enumerate(stacks):
            only = '--filter', f'size:{10 ** k}'
            out = run('--leaks', *only, trace).stdout.decode()
            check((': 0 B in 0 blocks' in out) == all_kept == ('suppressed' in out), f'{stack}: {out}')
            out = run('--leaks', '--no-default-suppressions', *only, trace).stdout.decode()
            check(' in 1 block\n' in out and 'suppressed' not in out, f'{stack}: {out}')
    trace = make_real('known.hlt', *wide(kept), ':app')
    whole = ask('--leaks', trace)
    check((whole['total_blocks'], whole['suppressed_blocks'], sum(s['blocks'] for s in whole['suppressed'])) == (1, len(kept), len(kept)) and
          whole['suppressed_bytes'] == sum(s['bytes'] for s in whole['suppressed']), f'JSON leaves out the same, and says so: {whole}')
    whole = ask('--leaks', '--no-default-suppressions', trace)
    check(whole['total_blocks'] == len(kept) + 1 and whole['suppressed'] == [] and whole['suppressed_blocks'] == 0, f'JSON leaves nothing out: {whole}')
    both = run('--leaks', '--sites', '--group', 'stack', trace).stdout.decode()
    check(both.count("  111 B in 3 blocks: libc's data of users") == 2, both)

def timeline(trace):
    t = ask('--timeline', trace)
    check(t['peak_bytes'] == 75096 and max(c['max_live_bytes'] for c in t['columns']) == t['peak_bytes'], 'the peak is in the plot')
    check(t['columns'][-1]['end_live_bytes'] == 5096 and len(t['columns']) == 200, str(t['columns'][-1]))
    check([m['name'] for m in t['marks']] == ['loaded', 'login', 'done'], str(t['marks']))
    # An event at the very end of a column belongs to it, as with --at.
    subprocess.run([mktrace, 'columns.hlt'], check=True, input=('thread 1\n' + ''.join(
        f'alloc {64 * i} 0 {i + 1} - 0\n' for i in range(0, 201, 10)) + 'end 0 0 12800\n').encode())
    for filter in [], ['--filter', 'size:>=0']:
        columns = ask('--timeline', *filter, 'columns.hlt')['columns']
        for percent in 5, 25, 50, 75, 100:
            at = ask('--at', f'{percent}%', 'columns.hlt')['total_bytes']
            end = columns[2 * percent - 1]['end_live_bytes']
            check(end == at, f'{filter} at {percent}%: {end}, --at says {at}')
    some = ask('--timeline', '--filter', 'size:>=0', trace)
    check([c['end_live_bytes'] for c in some['columns']] == [c['end_live_bytes'] for c in t['columns']], 'filtered by what fits all')

def curves(trace):
    """The rows of a timeline by a group are those of the group's table at each moment, and add up to the timeline."""
    wanted = [c['end_live_bytes'] for c in ask('--timeline', trace)['columns']]
    for group in 'stack', 'site', 'function', 'module', 'file', 'thread', 'size', 'call', 'snapshot', 'tag', 'life':
        t = ask('--timeline', '--group', group, '-n', '0', trace)
        check(t['group'] == group and t['total_live_bytes'] == wanted and len(t['moments_ns']) == 200, f'{group}: the total')
        check(t['others']['rows'] == 0 and not any(t['others']['live_bytes']), f'{group}: the others with -n 0')
        check([m['name'] for m in t['marks']] == ['loaded', 'login', 'done'], f'{group}: {t["marks"]}')
        for k in 0, 1, 7, 40, 199:
            at = ask('--group', group, '--at', f'{t["moments_ns"][k]}ns', trace)
            rows = {r['name']: r['bytes'] for r in at['rows'] if r['bytes']}
            found = {r['name']: r['live_bytes'][k] for r in t['rows'] if r['live_bytes'][k]}
            # JSON of a table has names of stacks that begin at the outermost frame; those of text are folded.
            check(sorted(found.values()) == sorted(rows.values()) if group == 'stack' else found == rows, f'{group} at {k}: {found} {rows}')
        few = ask('--timeline', '--group', group, '-n', '1', trace)
        check(len(few['rows']) == 1 and few['others']['rows'] == len(t['rows']) - 1, f'{group}: one row')
        check(few['rows'][0]['max_live_bytes'] == max(r['max_live_bytes'] for r in t['rows']), f'{group}: the highest row')
        check([a + b for a, b in zip(few['rows'][0]['live_bytes'], few['others']['live_bytes'])] == wanted, f'{group}: the sum with the others')
    part = ask('--timeline', '--group', 'site', '--range', '1%..2%', trace)
    check(part['total_live_bytes'] == [c['end_live_bytes'] for c in ask('--timeline', '--range', '1%..2%', trace)['columns']], 'a range')
    for expr in 'fn:0x1010', 'size:>=48', 'thread:1':
        some = ask('--timeline', '--group', 'site', '--filter', expr, trace)
        check(some['total_live_bytes'] == [c['end_live_bytes'] for c in ask('--timeline', '--filter', expr, trace)['columns']], f'with {expr}')
    for unicode, bars in ('C.UTF-8', '█'), ('C', '#'):
        r = subprocess.run([heaplapse, 'report', '--timeline', '-g', 'site', '-n', '1', trace], capture_output=True,
                           env=dict(os.environ, LC_ALL=unicode, COLUMNS='80'), timeout=60)
        lines = r.stdout.decode().splitlines()
        check(r.returncode == 0 and lines[0] == 'live bytes by site over 64.0 ms, at 200 moments' and all(len(line) <= 80 for line in lines), lines)
        check(bars in lines[3] and lines[3].endswith('  all') and any('2 others; -n 0 shows all' in line for line in lines), lines)
    for args, words in ((['-g', 'process'], b'exclude each other'), (['-g', 'pool'], b'has no pools'), (['-g', 'site', '--pool', 'x'], b'--pool applies to')):
        r = run('--timeline', *args, trace)
        check(r.returncode == 2 and words in r.stderr and not r.stdout, f'--timeline {args}: {r}')


def timeline_axis():
    """The times of start, middle and end are below the plot, for every width and duration."""
    for end, first, middle, last in ((64000000, '0 ns', '32.0 ms', '64.0 ms'), (7200 * 10 ** 9, '0 ns', '3600.000 s', '7200.000 s')):
        subprocess.run([mktrace, 'long.hlt'], check=True, input=f'thread 1\nalloc 64 0 10 - 0\nend 0 0 {end}\n'.encode())
        for columns in 40, 41, 68, 69, 80, 120, 173, 200:
            out = run('--timeline', 'long.hlt', columns=columns).stdout.decode()
            lines = out.splitlines()
            at = next(i for i, l in enumerate(lines) if '└' in l)
            ticks = [i for i, c in enumerate(lines[at]) if c == '┬']
            times = lines[at + 2]
            check(max(map(len, lines[1:])) < columns and ticks[0] == 12 and ticks[-1] == len(lines[at]) - 1, f'{columns}: {out}')
            check(times[12:].startswith(first) and times.endswith('  ' + last) and len(times) == len(lines[at]), f'{columns}: {out}')
            place = times.find(middle)
            check(place <= ticks[len(ticks) // 2] < place + len(middle) or columns < 50 and end > 10 ** 9, f'{columns}: {out}')

def explain(trace):
    """The output of --explain: the words for each method, and the reason."""
    def plan(*args):
        text = run('--explain', *args).stdout.decode()
        if '--sizes' not in args:  # JSON takes one view
            return text, json.loads(run('--explain', '--json', *args).stdout)['plan']
        return text, text.splitlines()

    described = {
        ('--overview',): '--overview: reads keyframes, summaries and the headers of all chunks',
        ('--peak',): 'reads the last keyframe, which has the sums at the peak',
        ('--at', '300us'): 'events of chunk 0',
        ('--leaks',): 'live at the end',
        ('--allocated', '--range', '100us..700us'): 'for the begin of the range',
        ('-g', 'thread'): 'reads the summaries of chunks 0 to 1',
        ('--leaks', '--filter', 'size:>=48'): 'because the filter is about single blocks',
        ('--snapshot-deltas',): 'reads the events between snapshots',
        ('--peak', '--filter', 'size:>=48'): 'to find the peak of the matching blocks',
        ('--temporary',): 'because the lifetimes of single blocks are in no sum',
        ('--growth', '0..50%'): 'events), because',
        ('-g', 'module', '--at', '50%'): 'live, by module: reads',
        ('--sites',): 'lifetimes and trends of the sites read every event',
        ('--threads',): '--threads: reads every event',
        ('--timeline',): 'the headers of all chunks',
        ('--timeline', '-g', 'site'): '--timeline, by site: reads keyframes',
        ('--timeline', '-g', 'size'): '--timeline, by size: reads the summaries of all chunks',
        ('--timeline', '-g', 'call'): '--timeline, by call: reads every event',
        ('--timeline', '-g', 'site', '--filter', 'size:>=48'): '--timeline, by site: reads every event',
        ('--fragmentation',): '--fragmentation, live at the peak: reads the events up to',
        ('--snapshots',): 'the sums at each snapshot',
        ('--freed-by',): '--freed-by, allocated: is refused: this trace has no stacks of frees',
        ('--mmaps',): '--mmaps: is refused: this trace has no mappings',
    }
    for view in views.options():
        described.setdefault((view,), ': reads ')
    for args, words in described.items():
        text, data = plan(*args, trace)
        check(words in text and words in data[0], f'--explain {args}: {text}')
        check('B in' not in text, f'--explain {args} has no answer: {text}')
    # A file of heaptrack has no threads and no addresses: one view is incomplete, the other refused.
    subprocess.run([heaplapse, 'export', '-q', '-f', 'heaptrack', '-o', 'plain.ht', trace], check=True)
    subprocess.run([heaplapse, 'import', '-q', '-f', '-o', 'imported.hlt', 'plain.ht'], check=True)
    for view, words, status in (('--threads', 'reads every event', 0), ('--fragmentation', 'is refused: this needs data', 3)):
        r = run(view, 'imported.hlt')
        text, data = plan(view, 'imported.hlt')
        check(words in text and words in data[0] and r.returncode == status, f'--explain {view} of an import: {text} {r}')
        check(b'imported from heaptrack ' in r.stderr and r.stderr.count(b' not have: ') == 1, f'{view} of an import: {r.stderr}')
    check('checksums of the whole file' in plan('--leaks', trace)[0], '--explain --leaks names the verification')
    check('checksums of the whole file' in plan('--overview', trace)[0], '--explain --overview, too')
    check(run('--explain', trace).stdout == run('--explain', '--overview', trace).stdout, '--explain of the default')
    text, data = plan('--threads', '--sizes', trace)
    check(len(data) == 3 and 'share one pass' in data[2], f'--explain of two views: {data}')
    r = run('--explain', '--leaks', '--at', '1s', trace)
    check(r.returncode == 2, '--explain checks the request')


def damaged(folder):
    """Truncations and bit flips of a file: every view prints a result or one error message, never
    crashes, and the parts add up to the total."""
    lines = PARENT[:PARENT.index('alloc')]
    for i in range(3000):
        lines += f'alloc {64 * (i + 1)} {i % 2} {i % 300} {i % 5} {i % 2}\n'
        lines += f'free {64 * (i + 1)} {i % 2} {i - 40} 11\n' if i % 3 == 0 and i >= 40 else ''
        lines += f'extra {64 * (i + 1)} {i % 2} 0 m{i}\n' if i % 500 == 499 else ''
        lines += 'chunk\n' if i % 400 == 399 else ''
    subprocess.run([mktrace, 'whole.hlt'], input=(lines + 'end 0 0 1000000\n').encode(), check=True)
    whole = pathlib.Path('whole.hlt').read_bytes()
    asked = [*([view] for view in views.options()), ['--growth', '20%..70%'], ['--timeline', '--range', '20%..70%'],
             ['--snapshots', '-g', 'site'], ['--timeline', '-g', 'site'], ['--timeline', '-g', 'size'], ['--timeline', '-g', 'call'], ['--temporary', '--group', 'site'],
             ['--at', '60%', '--filter', 'life:<1us']]
    for i in range(40):
        data = bytearray(whole[:len(whole) * (i + 1) // 20] if i < 20 else whole)
        if i >= 20:
            data[len(whole) * (i - 20) // 20 + 7] ^= 0xff
        pathlib.Path('damaged.hlt').write_bytes(data)
        for view in asked[i % len(asked)], asked[(i + 5) % len(asked)]:
            r = run('--json', *view, 'damaged.hlt')
            check(r.returncode in (0, 2, 3), f'damage {i} {view}: {r.returncode} {r.stderr}')
            answer = json.loads(r.stdout) if r.returncode == 0 else {}
            if 'moments_ns' in answer:
                sums = [sum(v) for v in zip(*([x or 0 for x in r['live_bytes']] for r in [answer['others'], *answer['rows']]))]
                check(sums == [x or 0 for x in answer['total_live_bytes']], f'damage {i} {view}: the sum')
            elif 'rows' in answer:
                check(sum(row['bytes'] for row in answer['rows']) == answer['total_bytes'], f'damage {i} {view}: the sum')

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for name, lines in (('parent.hlt', PARENT), ('child.hlt', CHILD), ('leaky.hlt', LEAKY), ('empty.hlt', 'end 0 0 6400\n')):
        subprocess.run([mktrace, name], input=lines.encode(), check=True)
    for name, args in VIEWS.items():
        golden(name, *args, 'parent.hlt')
    for view in views.options():
        check(view in WITHOUT_GOLDEN or any(view in args for args in VIEWS.values()), f'VIEWS has no line with {view}')
    golden('processes', '--leaks', 'parent.hlt', 'child.hlt')
    golden('group-process', '--allocated', '--group', 'process', 'parent.hlt', 'child.hlt')
    if not update:
        sums('parent.hlt')
        sums('leaky.hlt')
        filters('parent.hlt')
        page_usage('parent.hlt')
        exact_pages()
        positions_in_time()
        bad_input('parent.hlt', 'empty.hlt', folder)
        processes('parent.hlt')
        one_snapshot()
        suppressions('parent.hlt', folder)
        suppressed_processes()
        text('parent.hlt')
        tree_order('parent.hlt')
        several('parent.hlt')
        debug_package_notes()
        frames_before_main()
        libc_suppressions()
        timeline('parent.hlt')
        curves('parent.hlt')
        limited_lists('parent.hlt')
        timeline_axis()
        wording('parent.hlt')
        explain('parent.hlt')
        damaged(folder)
print(f'{len(failures)} failures')
sys.exit(bool(failures))
