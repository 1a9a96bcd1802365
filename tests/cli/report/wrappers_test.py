#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""wrappers_test - allocation wrappers, sites and folded stacks of programs whose truth is known.

	wrappers_test.py HEAPLAPSE WRAPPERS
"""
import collections
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
from tap import case, finish  # noqa: E402

HEAPLAPSE, PROGRAM = map(os.path.abspath, sys.argv[1:3])
CALLERS = [f'caller_{i}' for i in range(12)]
SIZES = [20 << i for i in range(12)]
WRAPPERS = {'mem_get', 'mem_zero', 'mem_really_get', 'mem_near', 'text_copy'}
NOT = {'mem_near_far', 'names_add', 'thing_new', 'node_make', 'walk', 'ping', 'pong', 'main', *CALLERS}


def run(*args):
    return subprocess.run([HEAPLAPSE, *args], capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, LC_ALL='C.UTF-8', COLUMNS='100'))


def run_ok(*args):
    done = run(*args)
    if done.returncode:
        case(False, f'{args}: status {done.returncode}', done.stderr)
    return done.stdout


def ask(*args):
    return json.loads(run_ok('report', '--json', *args))


def sites(*args):
    """Bytes by function and line of the site."""
    return {(r['function'], r['line']): r['bytes'] for r in ask('-g', 'site', '--allocated', *args, 'w.hlt')['rows']}


def by_function(*args):
    found = collections.Counter()
    for (function, _), size in sites(*args).items():
        found[function] += size
    return found


def check_wrappers():
    answer = ask('-g', 'site', '--allocated', 'w.hlt')
    found = set(answer['wrappers'])
    case(WRAPPERS == found and not NOT & found, 'the wrappers are found, and nothing else', answer['wrappers'])
    text = run_ok('report', '--sites', 'w.hlt')
    line = re.search(r'allocation wrappers seen through: (.*)\(--no-wrappers\)', ' '.join(text.split()))
    case(line and 'mem_get' in line[1], 'text says so', text)
    run_ok('export', '-f', 'html', '-o', 'w.html', 'w.hlt')
    for what, text in (('overview', run_ok('report', 'w.hlt')), ('page', pathlib.Path('w.html').read_text())):
        line = re.search(r'llocation wrappers seen through: (.*?)\(--no-wrappers\)', ' '.join(text.split()))
        case(line and 'mem_get' in line[1], f'{what}: so, too', text[:4000])
    none = run_ok('report', '--no-wrappers', 'w.hlt')
    case('wrappers seen' not in none, 'nothing without detection', none)
    for args in (['--leaks'], ['--peak'], ['--filter', 'size:<100'], ['--allocated', '--range', '0s..1us']):
        case(set(ask('-g', 'site', *args, 'w.hlt')['wrappers']) == found, f'{args}: the same wrappers')


def check_sites():
    got = by_function()
    total = sum(got.values())
    case(not WRAPPERS & set(got), 'no wrapper is a site', got)
    near = [n if i % 3 else 0 for i, n in enumerate(SIZES)]
    for i, (caller, size) in enumerate(zip(CALLERS, SIZES)):
        want = 2 * size + near[i] + 5 * i + 1
        case(got[caller] == want, f'{caller} has what it allocated through wrappers', (got[caller], want))
    case(got['thing_new'] == sum(SIZES) and got['names_add'] == 96 * 16, 'thing_new and names_add are sites', got)
    case(got['mem_near_far'] == sum(SIZES[::3]), 'mem_near_far has few callers', got)
    case(got['node_make'] == 12 * 48, 'node_make makes nodes', got)
    plain = by_function('--no-wrappers')
    case(sum(plain.values()) == total and 'mem_really_get' in plain and 'caller_1' not in plain, '--no-wrappers: the innermost frames of the program', plain)
    case(ask('-g', 'site', '--no-wrappers', 'w.hlt')['wrappers'] == [], '--no-wrappers: none is named')
    named = by_function('--no-wrappers', '--alloc-fn', 'mem_really_get')
    case('mem_really_get' not in named and 'mem_get' in named and sum(named.values()) == total, '--alloc-fn names one', named)
    named = by_function('--alloc-fn', 'thing_new', '--alloc-fn', 'names_*')
    case(not {'thing_new', 'names_add'} & set(named) and sum(named.values()) == total, '--alloc-fn adds to those that are found', named)
    case(ask('-g', 'site', '--alloc-fn', 'thing_new', 'w.hlt')['wrappers'][-1] == 'thing_new', '--alloc-fn: it is listed, too')
    folded = by_function('--fold', 'fn:/^caller_/')
    case(folded['main'] >= sum(2 * s for s in SIZES), '--fold makes frames library code', folded)


def paths(answer, keep):
    """Totals of the paths of frames that `keep` selects."""
    found, of = collections.Counter(), []
    for node in answer['nodes']:
        path = () if node['parent'] is None else of[node['parent']]
        if keep(node):
            path += ((node['function'], node['line']),)
            found[path] += node['bytes']
        of.append(path)
    return found


def check_json():
    tree = ask('--allocated', 'w.hlt')
    names = {n['function'] for n in tree['nodes']}
    case({'mem_get', 'mem_really_get', '_start', 'malloc', 'strdup'} <= names | {n.removeprefix('__GI_').strip('_') for n in names}, 'JSON trees have every frame', names)
    total = sum(n['site_bytes'] for n in tree['nodes'])
    case(total == tree['total_bytes'], 'the parts by site add up to the total', (total, tree['total_bytes']))
    got = collections.Counter()
    for n in tree['nodes']:
        got[n['function'], n['line']] += n['site_bytes']
    case(+got == collections.Counter(sites()), 'and are those of the sites')
    case(all(n['site_bytes'] <= n['bytes'] for n in tree['nodes']), 'no part is more than the whole')
    rows = ask('-g', 'stack', '--allocated', 'w.hlt')['rows']
    got = collections.Counter()
    for r in rows:
        got[r['site']['function'], r['site']['line']] += r['bytes']
    case(got == collections.Counter(sites()), 'stacks have their sites')
    case(any(r['name'].startswith('mem_really_get < mem_get < ') for r in rows), 'and all their frames', rows[0])
    doc = json.loads(run_ok('export', '-f', 'json', '-o', '-', 'w.hlt'))
    of = {s['stack']: doc['frames'][s['site']]['function'] for s in doc['stacks']}
    got = collections.Counter()
    for b in doc['allocations']:
        got[of[b['stack']]] += b['size']
    case(got == by_function(), 'export -f json: stacks have their sites', got)


def check_text():
    tree = run_ok('report', '--allocated', '--min', '0', 'w.hlt')
    case('mem_really_get' not in tree.split('allocation wrappers')[0] and 'malloc' not in tree.split('allocation wrappers')[0], 'the tree begins at the sites', tree)
    case(re.search(r'thing_new  wrappers\.c:\d+  via mem_get\n', tree), 'and names what they called', tree)
    case(re.search(r'caller_11  wrappers\.c:\d+\n', tree), 'unless a site called several', tree)
    full = run_ok('report', '--allocated', '--min', '0', '--full-stacks', 'w.hlt')
    case('└─ malloc' in full and 'mem_really_get' in full and '_start' in full and 'frames of' not in full, '--full-stacks: all frames', full)
    down = run_ok('report', '--allocated', '--min', '0', '--top-down', 'w.hlt')
    case('[2 frames of mem_get]' in down and '[3 frames of mem_zero]' in down or '[2 frames of mem_get]' in down, '--top-down ends with what a site called', down)
    stacks = run_ok('report', '-g', 'stack', '--allocated', '--min', '0', 'w.hlt')
    case(re.search(r'  caller_11 < main\n', stacks) and '_start' not in stacks, '-g stack begins at the sites', stacks)


def check_counts():
    """the text names 8 wrappers, and says how many JSON lists, also if the answer does not have all of them"""
    for args, words in (([], 'and 9 more, which --json lists (--no-wrappers)'),
                        (['--filter', '-fn:text_copy'], 'and 8 more; --json lists all 17 of the trace (--no-wrappers)')):
        args = ['-g', 'site', '--allocated', '--alloc-fn', 'caller_*', *args, 'w.hlt']
        listed, text = ask(*args)['wrappers'], ' '.join(run_ok('report', *args).split())
        case(len(listed) == 17 and words in text, f'{args}: {words}', (listed, text))


def check_colours():
    run_ok('export', '-q', '-f', 'svg', '--allocated', '-o', 'x', 'w.hlt')
    with open('x') as x:
        runs = set(re.findall(r'<g class="f (\w+)"[^>]* data-n="\[\d+ frames of (mem_get|mem_zero|text_copy)\]"', x.read()))
    case(runs and {kind for kind, _ in runs} == {'own'}, 'export -f svg: a run of a wrapper has the colour of the program', runs)


def check_refusals():
    for args, words in ((['--fold', 'size:4'], '--fold: a frame has only fn:, file: and module:'), (['--fold', 'call:malloc'], '--fold: a frame has only'),
                        (['--fold', 'fn:'], '--fold: '), (['--alloc-fn', '/(/'], '--alloc-fn: "/(/" at character 3'),
                        (['--alloc-fn', '0x12 libfoo'], 'expected an address'), (['--alloc-fn', '0x12345678123456789'], 'expected an address'),
                        (['--alloc-fn', '0x12 []'], 'expected an address')):
        done = run('report', *args, 'w.hlt')
        case(done.returncode == 2 and words in done.stderr, f'{args}: refused', done.stderr)


def check_exports():
    for fmt in 'collapsed', 'speedscope', 'massif':
        run_ok('export', '-q', '-f', fmt, '-o', 'x', 'w.hlt')
        run_ok('export', '-q', '-f', fmt, '--no-wrappers', '-o', 'y', 'w.hlt')
        with open('x', 'rb') as x, open('y', 'rb') as y:
            case(x.read() == y.read(), f'export -f {fmt}: wrappers do not matter')
    for args, named in ([], 'mem_get'), (['--no-wrappers'], ''), (['--no-wrappers', '--alloc-fn', 'mem_near'], 'mem_near'):
        said = run('export', '-f', 'csv', '-g', 'site', '-o', 'x', *args, 'w.hlt').stderr
        case(('allocation wrappers seen through: ' in said) == bool(named) and named in said
             and ('only those of --alloc-fn' in said) == ('--alloc-fn' in args), f'export -f csv -g site {args}: wrappers', said)
    run_ok('export', '-q', '-f', 'svg', '-o', 'x', 'w.hlt')
    picture = pathlib.Path('x').read_text()
    case(re.search('<desc>allocation wrappers seen through: .*mem_get.*</desc>', picture), 'export -f svg: wrappers', picture[:500])
    run_ok('export', '-q', '-f', 'pprof', '-o', 'x', 'w.hlt')
    strings = gzip.decompress(pathlib.Path('x').read_bytes())
    case(re.search(b'allocation wrappers: [^\n]*mem_get', strings), 'export -f pprof: wrappers')
    run_ok('export', '-q', '-f', 'pprof', '--no-wrappers', '-o', 'y', 'w.hlt')
    for profile in 'x', 'y':
        run_ok('import', '-q', '-f', '-o', f'{profile}.hlt', profile)
        run_ok('export', '-q', '-f', 'collapsed', '-o', f'{profile}.txt', f'{profile}.hlt')
    x, y = (pathlib.Path(name).read_text() for name in ('x.txt', 'y.txt'))
    case('mem_get' in x and x == y, 'export -f pprof: wrappers do not matter to its samples', x[:500])
    for fmt in 'svg', 'html':
        run_ok('export', '-q', '-f', fmt, '-o', 'x', 'w.hlt')
        run_ok('export', '-q', '-f', fmt, '--full-stacks', '-o', 'y', 'w.hlt')
        with open('x') as x, open('y') as y:
            folded, full = x.read(), y.read()
        case('frames of mem_get]' in folded and '__libc_start' not in folded, f'export -f {fmt}: folded', folded[:200])
        case('frames of mem_get]' not in full and '__libc_start' in full and 'mem_really_get' in full, f'export -f {fmt}: --full-stacks', full[:200])


def functions_of(program):
    """Start and end of each function of the program by its name."""
    out = subprocess.run(['nm', '-S', '--defined-only', program], capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in out.splitlines())
    return {row[3]: (int(row[0], 16), int(row[0], 16) + int(row[1], 16)) for row in rows if len(row) == 4 and row[2] in 'tT'}


def check_stripped():
    """Without symbols the unwind tables say which addresses are of one function."""
    subprocess.run(['objcopy', '--strip-all', '--remove-section=.note.gnu.build-id', PROGRAM, 'stripped'], check=True)
    run_ok('record', '-q', '-o', 's.hlt', '--', './stripped')
    bounds = functions_of(PROGRAM)
    starts = {f'0x{start:x}': name for name, (start, _) in bounds.items()}

    def wrappers(*args):
        return [starts.get(name.removesuffix(' [stripped]'), name) for name in ask('-g', 'site', '--allocated', *args, 's.hlt')['wrappers']]

    def functions(*args):
        return {starts.get(r['name'], r['name']): r['bytes'] for r in ask('-g', 'function', '--allocated', *args, 's.hlt')['rows']}

    found = wrappers()
    want = WRAPPERS - {'mem_near'}  # it is inlined
    case(sorted(found) == sorted(want), 'stripped: the same wrappers are found, by the starts of their functions', found)
    got, named = functions(), by_function()
    case(got == named, 'stripped: -g function has each function in one row, under its start', (got, named))
    plain = functions('--no-wrappers')
    case(wrappers('--no-wrappers') == [] and sum(plain.values()) == sum(got.values()) and 'mem_really_get' in plain and plain['caller_1'] < got['caller_1'],
         'stripped: --no-wrappers', plain)
    start, end = bounds['thing_new']
    for address in f'0x{start:x}', f'0x{end - 1:x}', f'0x{start:x} [stripped]', f'0x{start:x}[{os.path.abspath("stripped")}]':
        named = functions('--alloc-fn', address)
        case('thing_new' not in named and sum(named.values()) == sum(got.values()) and wrappers('--alloc-fn', address) == [*found, 'thing_new'],
             f'stripped: --alloc-fn {address}', (named, found))
    for address in f'0x{start - 1:x}', f'0x{end:x}', f'0x{start:x} [libc.so.6]', '0x0':
        case('thing_new' in functions('--alloc-fn', address), f'stripped: --alloc-fn {address} is another function', named)
    chain = functions('--no-wrappers', '--alloc-fn', f'0x{bounds["mem_really_get"][0]:x}', '--alloc-fn', f'0x{bounds["mem_get"][0]:x}')
    case('mem_zero' in chain and not {'mem_get', 'mem_really_get'} & set(chain), 'stripped: --alloc-fn sees through one behind the other', chain)
    pcs = {f['function'] for f in ask('-g', 'site', '--allocated', 's.hlt')['rows']}
    case(not pcs & set(starts) and all(p.startswith('0x') for p in pcs), 'stripped: a site stays an address', pcs)
    matching = ask('-g', 'function', '--allocated', '--filter', f'fn:0x{start:x}', 's.hlt')['total_bytes']
    want = ask('-g', 'function', '--allocated', '--filter', 'fn:thing_new', 'w.hlt')['total_bytes']
    case(matching == want > 0, 'stripped: fn: has the whole function', (matching, want))
    text = run_ok('report', '--allocated', 's.hlt')
    case(f'0x{bounds["mem_get"][0]:x} [stripped]' in text.split('seen through')[1], 'stripped: text names wrappers as --alloc-fn takes them', text)
    case(re.search(f'  via 0x{bounds["mem_get"][0]:x}\n', text), 'stripped: and what a site called', text)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    run_ok('record', '-q', '-o', 'w.hlt', '--', PROGRAM)
    check_wrappers()
    check_sites()
    check_json()
    check_text()
    check_counts()
    check_refusals()
    check_exports()
    check_colours()
    check_stripped()
    os.chdir('/')
finish()
