#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""reading_test - what helps to read an answer: a timeline of a range, all marks on the axis, a table
for each snapshot, the filter below the heading, notes about filters that match nothing, and the notes
about names.

	reading_test.py HEAPLAPSE MKTRACE
"""
import itertools, json, os, pathlib, random, re, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tap import case, finish  # noqa: E402

HEAPLAPSE, MKTRACE = map(os.path.abspath, sys.argv[1:3])
COLUMNS = 200


def run(*args, columns=80):
    return subprocess.run([HEAPLAPSE, 'report', *args], capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, LC_ALL='C.UTF-8', COLUMNS=str(columns)))


def ask(*args):
    done = run('--json', *args)
    if done.returncode:
        case(False, f'{args}: status {done.returncode}', done.stderr)
    return json.loads(done.stdout or '{}')


def make(name, text):
    subprocess.run([MKTRACE, name], input=text.encode(), check=True)
    return name


# --- the timeline of a range ---

HEAD = 'module /opt/app -\nmodule /lib/libfoo.so -\nnode - 0 1000\nnode 0 0 1010\nnode 0 1 2010\nthread 1\nthread 2\n'
END = 1000000


def make_busy():
    """Blocks of random sizes and lives in chunks of different lengths: a column has many chunks, and
    a chunk many columns. Returns the events: (time, bytes added, size of the block, its stack)."""
    dice = random.Random(24)
    text, events, live, time, n = HEAD, [], [], 0, 0
    for step in range(1500):
        time += 64 * dice.choice((0, 0, 1, 1, 2, 30 if 500 < step < 540 else 1))
        if live and dice.random() < 0.45:
            ordinal, size, node = live.pop(dice.randrange(len(live)))
            text += f'free {time} {step % 2} {ordinal} 11\n'
            events.append((time, -size, size, node))
        else:
            size, node = dice.choice((1, 16, 100, 5000)), dice.randrange(3)
            text += f'alloc {time} {step % 2} {size} {node} 0\n'
            live.append((n, size, node))
            events.append((time, size, size, node))
            n += 1
        if step in (400, 401, 900):
            text += f'extra {time} 0 0 m{step}\n'
        if dice.random() < (0.2 if step < 300 else 0.005):
            text += 'chunk\n'
    make('busy.hlt', text + f'end 0 0 {END}\n')
    return events


def expected_columns(events, start, end, chosen):
    bins = [[0, 0] for _ in range(COLUMNS)]
    live, at, begun = 0, 0, False

    def move(to):
        nonlocal at, begun
        if not begun:
            begun = True
            bins[0][:] = [live, live]
        bins[at][1] = live
        while at < to:
            at += 1
            bins[at][:] = [live, live]

    for time, change, size, node in events:
        if not chosen(size, node):
            continue
        if time > end:
            break
        if time >= start:
            move(0 if time <= start else min(COLUMNS - 1, ((time - start) * COLUMNS - 1) // (end - start)))
        live += change
        if begun:
            bins[at][0] = max(bins[at][0], live)
    move(COLUMNS - 1)
    return bins


FILTERS = {'': lambda size, node: True, 'size:<=100': lambda size, node: size <= 100, 'fn:0x2010': lambda size, node: node == 2,
           'life:>=0s': lambda size, node: True}
RANGES = '0..', '..100%', '10us..30us', '0..1us', '33.3us..', '12%..12.5%', '@mark:m400..@mark:m900', '@mark:m400..@mark:m401', '..@mark:m400', \
    '@peak..', '..@peak', '50us..50us', '95%..@end', '900us..99h'


def ranges(events):
    whole = ask('--timeline', 'busy.hlt')
    case(whole['from_ns'] == 0 and whole['to_ns'] == END == whole['duration_ns'] and whole['peak_in_range'], 'timeline: the whole run', whole['to_ns'])
    for (expr, chosen), range_ in itertools.product(FILTERS.items(), RANGES):
        filter_ = ['--filter', expr] if expr else []
        found = ask('--timeline', '--range', range_, *filter_, 'busy.hlt')
        start, end = found['from_ns'], found['to_ns']
        expected = expected_columns(events, start, end, chosen)
        same = [[c['max_live_bytes'], c['end_live_bytes']] for c in found['columns']] == expected
        peak = ask('--timeline', *filter_, 'busy.hlt')
        same &= (found['peak_bytes'], found['peak_time_ns']) == (peak['peak_bytes'], peak['peak_time_ns'])
        same &= found['peak_in_range'] == (start <= found['peak_time_ns'] <= end)
        case(same and 0 <= start <= end <= END, f'timeline: {range_} {expr}', f'{start} {end} {found["columns"]} {expected}')
    for range_, start, end in ('10us..30us', 10000, 30000), ('12%..12.5%', 120000, 125000), ('0..1us', 0, 1000), ('900us..99h', 900000, END):
        found = ask('--timeline', '--range', range_, 'busy.hlt')
        case((found['from_ns'], found['to_ns']) == (start, end), f'timeline: the times of {range_}', found['from_ns'])
    case(ask('--timeline', '--growth', '10us..30us', 'busy.hlt') == ask('--timeline', '--range', '10us..30us', 'busy.hlt'), 'timeline: the range of --growth')
    for range_ in '@mark:m401..', '..@mark:m401':
        found = ask('--timeline', '--range', range_, 'busy.hlt')
        expected = [m for m in whole['marks'] if found['from_ns'] <= m['time_ns'] <= found['to_ns']]
        case(found['marks'] == expected and 0 < len(expected) < 3 or expected == whole['marks'] != [], f'timeline: marks of {range_}', found['marks'])
    both = run('--timeline', '--sites', '--range', '10us..30us', 'busy.hlt')
    alone = run('--timeline', '--range', '10us..30us', 'busy.hlt')
    case(both.stdout.startswith(alone.stdout.partition('\nnames')[0]) and 'allocated, from 10.0 us to 30.0 us' in both.stdout,
         'timeline: with another view of the range', both.stdout)


def range_text():
    for range_, words in {'10us..30us': 'after the range', '@peak..': 'in the range', '99%..': 'before the range'}.items():
        text = run('--timeline', '--range', range_, 'busy.hlt').stdout
        case(re.search(rf'\n +the peak, [\d.]+ KiB, is {words}, at ', text), f'timeline: the peak is {words}', text)
    lines = run('--timeline', '--range', '10us..30us', 'busy.hlt').stdout.splitlines()
    case(re.fullmatch('live bytes from 10.0 us to 30.0 us of 1.0 ms, at most .*', lines[0]), 'timeline: the heading has the range', lines[0])
    case(any(re.fullmatch(' +10.0 us .* 20.0 us .* 30.0 us', l) for l in lines), 'timeline: the axis has the times of the range', lines)
    whole = run('--timeline', 'busy.hlt').stdout
    case('the peak' not in whole and ' in the range' not in whole and whole.startswith('live bytes over 1.0 ms, at most'), 'timeline: without a range', whole)
    done = run('--timeline', '--range', '900us..99h', 'busy.hlt')
    case('356400.000 s is after the end of the recording; showing the end' in done.stderr, 'timeline: an end after the end', done.stderr)
    for range_, words in {'1h..2h': 'after the end of the recording', '20us..10us': 'after its end', '@mark:no..': 'there is no mark "no"'}.items():
        done = run('--timeline', '--range', range_, 'busy.hlt')
        case(done.returncode == 2 and words in done.stderr and not done.stdout, f'timeline: {range_}', done.stderr)
    done = run('--timeline', '--leaks', '--range', '10us..', 'busy.hlt')
    case(done.returncode == 2 and '--growth and --timeline' in done.stderr, 'timeline: not with --leaks', done.stderr)


# --- marks ---

def axis_labels(text):
    """The numbers between the axis and the times, with their columns."""
    lines = text.splitlines()
    axis = next(i for i, l in enumerate(lines) if '\u2514' in l)
    labels = []
    for line in lines[axis + 1:]:
        if re.search(r'\d n?u?m?s', line):
            return labels, len(lines[axis])
        labels += [(m.group(), m.start()) for m in re.finditer(r'\d+\+?|\^', line)]


def marks():
    times = 10000, 500000, 500001, 500002, 990000, 1000000
    make('marks.hlt', HEAD + 'alloc 64 0 100 0 0\n' + ''.join(f'extra {t} {i % 2} 0 name{i}\n' for i, t in enumerate(times)) + f'end 0 0 {END}\n')
    for columns in 40, 80, 200:
        text = run('--timeline', 'marks.hlt', columns=columns).stdout
        labels, width = axis_labels(text)
        plot = width - 12
        numbers = dict((label.rstrip('+'), at - 12) for label, at in labels)
        # Three rows have room for all marks here; the peak is one of the labels in the first column.
        case(set(numbers) == {'^', '1', '2', '3', '4', '5', '6'} and not any('+' in label for label, _ in labels), f'marks: all at {columns}', text)
        placed = all(numbers[str(i + 1)] == min(plot - 1, max(0, -(-t * plot // END) - 1)) for i, t in enumerate(times))
        case(placed, f'marks: at their columns at {columns}', text)
        case(all(f'{i + 1} {"snapshot" if i % 2 else "mark"} name{i}, at ' in text for i in range(6)), f'marks: the legend at {columns}', text)
    many = 300
    make('many.hlt', HEAD + 'alloc 64 0 100 0 0\n' + ''.join(f'extra {i * END // many} 0 0 {"long-" * 30}{i}\n' for i in range(many)) + f'end 0 0 {END}\n')
    for columns in 80, 200:
        text = run('--timeline', 'many.hlt', columns=columns).stdout
        labels, _ = axis_labels(text)
        numbers = [int(label.rstrip('+')) for label, _ in labels if label != '^']
        case('1' in [label.rstrip('+') for label, _ in labels] and len(set(numbers)) == len(numbers) > 15 and any('+' in l for l, _ in labels),
             f'marks: 300 at {columns} share the cells', text)
        case(f'and {many - 12} more marks; --json lists all' in text, f'marks: the legend of 300 at {columns}', text)
    text = run('--timeline', '--range', '@mark:name4..', 'marks.hlt').stdout
    labels, _ = axis_labels(text)
    case([l for l, _ in sorted(labels)] == ['5', '6', '^'] and '4 marks outside of the range' in text, 'marks: of a range keep their numbers', text)


# --- snapshots by group ---

SNAPSHOTS = HEAD + '\n'.join((
    'alloc 1000 0 100 1 0', 'alloc 2000 1 50 2 1', 'extra 3000 1 0 one', 'alloc 4000 0 1000 2 0', 'free 5000 0 0 11', 'extra 6000 1 0 two',
    'alloc 7000 1 7 1 2', 'extra 8000 1 0 three', 'end 0 0 10000', ''))
GROUPS = 'stack function site file module thread call size life snapshot'.split()


def snapshot_groups():
    make('snapshots.hlt', SNAPSHOTS)
    for view, group, filter_ in itertools.product(('--snapshots', '--snapshot-deltas', '--cumulative-delta'), GROUPS, ([], ['--filter', 'size:>=50'])):
        trees = ask(view, *filter_, 'snapshots.hlt')['snapshots']
        tables = ask(view, '--group', group, *filter_, 'snapshots.hlt')['snapshots']
        same = len(trees) == len(tables) == (1 if view == '--cumulative-delta' else 3)
        for tree, table in zip(trees, tables):
            own = {k: v for k, v in table.items() if k not in ('group', 'rows', 'rows_left_out')}
            same &= own == {k: v for k, v in tree.items() if k not in ('nodes', 'nodes_left_out')}
            same &= table['group'] == group and 'nodes' not in table
            same &= [sum(r[k] for r in table['rows']) for k in ('bytes', 'blocks')] == [table['total_bytes'], table['total_blocks']]
            if view == '--snapshots':
                at = ask('--at', f'@mark:{table["name"]}', '--group', group, *filter_, 'snapshots.hlt')
                same &= at['rows'] == table['rows']
        case(same, f'snapshots: {view} by {group} {filter_}', tables)
    text = run('--snapshots', '-g', 'function', 'snapshots.hlt').stdout.partition('\nnames')[0]
    case(len(re.findall(r'^snapshot \d .*: live, at', text, re.M)) == text.count('blocks  function') == 3 and 'peak' not in text and '\u2514' not in text,
         'snapshots: a table each, and no tree', text)
    text = run('--snapshot-deltas', '-g', 'thread', 'snapshots.hlt').stdout
    case(text.count(' live before, ') == text.count('blocks  thread') == 3, 'snapshots: deltas by thread', text)
    text = run('--snapshots', '-g', 'thread', '-g', 'call', 'snapshots.hlt').stdout
    case(text.count('blocks  thread') == text.count('blocks  call') == 3, 'snapshots: by two groups', text)
    done = run('--snapshots', '-g', 'process', 'snapshots.hlt')
    case(done.returncode == 2 and 'exclude each other' in done.stderr, 'snapshots: not by process', done.stderr)
    text = run('--explain', '--snapshots', '-g', 'thread', 'snapshots.hlt').stdout
    case(text.startswith('--snapshots, by thread: reads the sums at each snapshot') and text.count('\n') == 1, 'snapshots: --explain', text)


# --- the filter below the heading ---

def headings():
    choose = '--filter', 'size:>=7  time:1us..9us', '--filter', '', '-i', '0x1010', '-i', '0x2010', '-x', 'operator new', '--exclude-module', '/lib?x/'
    expected = 'size:>=7  time:1us..9us fn:0x1010,0x2010 -fn:"operator new" -module:/lib?x/'
    for view in [], ['--leaks'], ['--allocated', '--top-down'], ['--sites'], ['--sizes'], ['--lifetimes'], ['--threads'], ['--timeline'], ['--snapshots'], \
            ['--snapshot-deltas', '-g', 'site'], ['--fragmentation'], ['-g', 'process'], ['-g', 'thread']:
        text = run(*view, *choose, 'snapshots.hlt', columns=200).stdout
        lines = text.splitlines()
        at = lines.index(f'filter: {expected}') if f'filter: {expected}' in lines else -1
        case(at == (0 if 'process' in view else 1) and text.count('filter: ') == 1, f'headings: {view}', text)
        case(ask(*view, *choose, 'snapshots.hlt').get('filter', '-') == expected or 'process' in view, f'headings: {view} as JSON')
        plain = run(*view, '--filter', '', 'snapshots.hlt').stdout
        case('filter: ' not in plain, f'headings: {view} without a filter', plain)
    narrow = run(*choose, 'snapshots.hlt').stdout
    case('filter: ' in narrow and '\x1b' not in run('--filter', 'fn:\x1bx', 'snapshots.hlt').stdout, 'headings: no control characters', narrow)


# --- filters that match nothing ---

def unmatched():
    make('names.hlt', HEAD + 'extra 64 4 0 event%20loop\n' + '\n'.join((
        'alloc 1000 0 100 1 0', 'alloc 2000 1 50 2 1', 'alloc 4000 0 1000 2 0', 'end 0 0 10000', '')))
    notes = lambda *args: [l for l in run(*args, 'names.hlt').stderr.splitlines() if 'names.hlt' not in l]
    cases = {
        'fn:typo': ['nothing matches fn:typo'],
        'fn:maloc': ['nothing matches fn:maloc; did you mean fn:malloc or fn:calloc?'],
        '-fn:maloc': ['nothing matches fn:maloc; did you mean fn:malloc or fn:calloc?'],
        'fn:0x1010,reallok': ['nothing matches fn:reallok; did you mean fn:realloc?'],
        'fn:/reallok/': ['nothing matches fn:/reallok/'],
        'fn:MALLO*': ['nothing matches fn:MALLO*; did you mean fn:malloc?'],
        'module:libfo.so': ['nothing matches module:libfo.so; did you mean module:libfoo.so?'],
        'module:/x/ap': ['nothing matches module:/x/ap; did you mean module:app?'],
        'file:main.c': ['nothing matches file:main.c'],
        'tag:render': ['nothing matches tag:render'],
        'thread:worker': ['nothing matches thread:worker'],
        'thread:"event lop"': ['nothing matches thread:"event lop"; did you mean thread:"event loop"?'],
        'fn:typo size:>1': ['nothing matches fn:typo'],
        'fn:0x1010 size:50': ['each term of the filter matches blocks, but no block matches all of them'],
        'fn:0x1010 module:libfoo.so,libfoo': ['each term of the filter matches blocks, but no block matches all of them'],
        'fn:0x1010 size:1..2,3': ['no block matches size:1..2,3'],
        'thread:0 -size:>=1': ['no block matches -size:>=1'],
        'size:77': [],
        'fn:0x1010': [],
        'fn:0x1010 size:100 life:<1s': ['no block matches life:<1s'],
        '-fn:0x1010 size:>=50': [],
    }
    for expr, expected in cases.items():
        found = [l.removeprefix('heaplapse: ') for l in notes('--allocated', '--filter', expr)]
        case(found == expected, f'unmatched: {expr}', found)
    typo = 'nothing matches fn:maloc; did you mean fn:malloc or fn:calloc?'
    for words in (['export', '-f', 'collapsed'], ['export', '-f', 'json'], ['dump'], ['slice', '-f', '-o', 'part.hlt']):
        for expr, expected in ('fn:maloc', 1), ('fn:malloc', 0):
            done = subprocess.run([HEAPLAPSE, *words, '--filter', expr, 'names.hlt'], capture_output=True, text=True, timeout=60)
            case(done.returncode == 0 and done.stderr.count(typo) == expected, f'unmatched: {words} {expr}', done.stderr)
    for rule, expected in (['--alloc-fn', 'maloc'], [typo]), (['--fold', 'fn:maloc'], [typo]), (['--alloc-fn', 'malloc'], []), (
            ['--fold', 'module:app'], []), (['--alloc-fn', 'typo', '--fold', 'file:no.c'], ['nothing matches file:no.c', 'nothing matches fn:typo']):
        found = [l.removeprefix('heaplapse: ') for l in notes('--allocated', *rule)]
        case(found == expected, f'unmatched: {rule}', found)
    for view in ['--sites'], ['--timeline'], ['--threads'], ['--fragmentation'], ['-g', 'module'], ['-g', 'process']:
        done = run(*view, '--filter', 'fn:maloc', 'names.hlt')
        case(done.returncode == 0 and done.stderr.count('nothing matches fn:maloc; did you mean fn:malloc') == 1, f'unmatched: {view}', done.stderr)
    answer = ask('--leaks', '--filter', 'fn:maloc', 'names.hlt')
    case(answer['unmatched'] == [{'term': 'fn:maloc', 'similar': ['fn:malloc', 'fn:calloc']}], 'unmatched: JSON', answer)
    answer = ask('--leaks', '--filter', 'fn:0x1010 size:50', 'names.hlt')
    case(answer.get('terms_exclude_each_other') is True and 'unmatched' not in answer, 'unmatched: JSON of a combination', answer)
    answer = ask('--leaks', '--filter', 'fn:0x1010 size:2', 'names.hlt')
    case(answer.get('matches_no_block') == 'size:2', 'unmatched: JSON of a term', answer)
    answer = ask('--at', '0', '--filter', 'fn:0x1010 size:100', 'names.hlt')
    case('terms_exclude_each_other' not in answer and answer['total_blocks'] == 0, 'unmatched: blocks of another moment match', answer)


# --- notes about names ---

def names_shown(*args):
    text = run(*args).stdout.partition('\nnames:\n')[2]
    return [l.split(':')[0].strip() for l in text.splitlines() if l.startswith('  /')], text


def names():
    modules = [f'/nowhere/lib{c}.so' for c in 'abcdef']
    make('modules.hlt', ''.join(f'module {m} -\n' for m in modules) + 'node - 0 1000\n' + ''.join(f'node 0 {i} 10{i}0\n' for i in range(1, 6)) +
         'thread 1\n' + ''.join(f'alloc {64 * i} 0 {10 ** i} {i} 0\n' for i in range(1, 6)) + 'end 0 0 10000\n')
    a, b, c, d, e, f = modules
    cases = {('--sites', '-n', '1'): {f}, ('--sites', '-n', '2'): {f, e}, ('-g', 'function', '-n', '1'): {f}, ('-g', 'module', '-n', '2'): {f, e},
             ('-g', 'stack', '-n', '1'): {f, a}, ('--min', '50'): {f, a}, ('--sites', '--filter', 'fn:0x1010'): {b}, ('--peak', '--filter', 'module:libd.so'): {d, a},
             ('--sizes', '--filter', 'fn:0x1010'): set(), ('-g', 'thread'): set(), ('--timeline',): set(), ('--fragmentation',): set()}
    for args, expected in cases.items():
        found, text = names_shown(*args, 'modules.hlt')
        case(set(found) == expected and len(found) == len(expected), f'names: {args}', text or run(*args, 'modules.hlt').stdout)
    found, text = names_shown('--sites', '--min', '0', 'modules.hlt')
    case(len(found) == 3 and text.endswith('  and 2 more modules; --verbose lists all\n'), 'names: a few', text)
    found, text = names_shown('--sites', '-v', '-n', '1', 'modules.hlt')
    case(sorted(found) == modules and 'verbose' not in text, 'names: all', text)
    # A filter by a name that no frame has may have missed frames without names.
    found, text = names_shown('--sizes', '--filter', 'fn:main', 'modules.hlt')
    case(sorted(found) == modules, 'names: of a filter by a name that is not found', text)
    found, _ = names_shown('--sites', '-n', '1', 'modules.hlt', 'names.hlt')
    case(found == [f, '/lib/libfoo.so'], 'names: of two traces', found)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    ranges(make_busy())
    range_text()
    marks()
    snapshot_groups()
    headings()
    unmatched()
    names()
    os.chdir('/')
finish()
