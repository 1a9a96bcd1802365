#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""html_test - export to HTML: the values that chromium shows are those of `report` and `info`; the
page loads nothing, and no name in a trace can execute in it."""
import collections, json, os, pathlib, re, shutil, subprocess, tempfile

from viewers import export, grouped, heaplapse, make_traces, node, npm, programs, report, run, run_ok, stacks, total
import tap

CHROMIUM = shutil.which('chromium')
OPTIONS = {'peak': ['--peak'], 'leaks': ['--leaks'], 'allocated': ['--allocated'], 'temporary': ['--temporary']}
MAX = 5_000_000
START = re.compile(r'^(_start|__libc_start_\w+|start_thread|_*(GI_+)?clone3?)$')
HOSTILE = '</script><script>window.pwned=1</script><img/src=x/onerror=window.pwned=2>"\'&lt;`${window.pwned=3}`'


def open_page(page, **what):
    os.environ['CHROMIUM'] = CHROMIUM
    seen = node('html.js', page, json.dumps(what))
    if 'error' in seen:
        raise SystemExit(f'{page} {what}: {seen["error"]}')
    return seen


def make(name, *args):
    out = f'{folder}/{name}.html'
    run_ok('export', '-f', 'html', '--full-stacks', '-o', out, *args)
    return out


def shown_name(name):
    """The name without the module of unnamed code; very long names are shortened, as in the page."""
    name = re.sub(r'^(0x[0-9a-f]+) \[.*\]$', r'\1', name)
    return name if len(name) <= 1500 else name[:1000]


def add_path(found, path, up, size, blocks):
    """Adds a path without the frames before main, most of which the page omits."""
    if up and START.match(path[-1]):
        return
    while not up and path and START.match(path[0]):
        path = path[1:]
    if path:
        found[path][0] += size
        found[path][1] += blocks


def inclusive(answer, up):
    """The bytes and blocks of all stacks that begin (or, upwards, end) with a path of names, by path."""
    found = collections.defaultdict(lambda: [0, 0])
    for path, (size, blocks) in stacks(answer).items():
        path = tuple(shown_name(name) for name in (path[::-1] if up else path))
        for i in range(1, len(path) + 1):
            add_path(found, path[:i], up, size, blocks)
    return dict(found)


def paths(rows, up=False):
    """The same from the rows of a page; and the children of each row."""
    found, at, sums = collections.defaultdict(lambda: [0, 0]), [], collections.defaultdict(list)
    for i, r in enumerate(rows):
        at[r['level'] - 1:] = [(i, shown_name(r['name']))]
        sums[at[-2][0] if len(at) > 1 else None].append(i)
        if not r['other']:
            add_path(found, tuple(name for _, name in at), up, r['cells'][1], r['cells'][2])
    return dict(found), sums


def tree(what, args, trace, seen):
    answer = report(*args, trace)
    whole = answer['total_bytes'], answer['total_blocks']
    root = next((f for f in seen['flame'] if f['name'] == 'all'), {'bytes': 0, 'blocks': 0})
    tap.case((root['bytes'], root['blocks']) == whole, f'{what}: the whole', f'{root} {whole}')
    for way in ('down', 'up'):
        if not whole[1]:
            tap.case('nothing to show' in seen[way][0]['cells'][0], f'{what}, {way}: says that there is nothing', seen[way])
            continue
        found, children = paths(seen[way], way == 'up')
        wanted = inclusive(answer, way == 'up')
        tap.case(seen['whole_' + way] and found == wanted, f'{what}, {way}: every path', f'{[(k, v, found.get(k)) for k, v in wanted.items() if v != found.get(k)][:3]}')
        sums = [(i, rows) for i, rows in children.items() if way == 'down' and i is not None and not seen[way][i]['other']]
        # The self value is the memory allocated by malloc and similar functions, which are rows
        # without a self value.
        wrong = [seen[way][i]['name'] for i, rows in sums if seen[way][i]['cells'][3] != '' and seen[way][i]['cells'][1] !=
                 seen[way][i]['cells'][3] + sum(seen[way][k]['cells'][1] for k in rows if seen[way][k]['cells'][3] != '' or seen[way][k]['other'])]
        tap.case(not wrong, f'{what}, {way}: self and children add up', wrong[:3])
        top = sum(seen[way][i]['cells'][1] for i in children[None]), sum(seen[way][i]['cells'][2] for i in children[None])
        tap.case(top == whole, f'{what}, {way}: the outermost rows add up', f'{top} {whole}')


def rows_and_boxes(rows, boxes):
    """Bytes by depth and name: of a fully open tree and of a flame graph."""
    wanted, found = collections.Counter(), collections.Counter()
    for r in rows:
        if not r['other'] and r['level']:
            wanted[r['level'], r['name']] += r['cells'][1]
    for f in boxes:
        if f['name'] not in ('all', 'other'):
            found[f['depth'], f['name']] += f['bytes']
    return wanted, found


def inverted_flame_graph(what, seen):
    """The inverted flame graph equals the inverted tree; boxes that are too narrow are not drawn."""
    wanted, found = rows_and_boxes(seen['up'], seen['flame_up'])
    root = next((f for f in seen['flame_up'] if f['name'] == 'all'), None)
    if not root:
        return tap.case(not seen['flame'], f'{what}: nothing in either flame graph', seen['flame_up'])
    tap.case(found and not +(found - wanted) and all(n - found[k] <= root['bytes'] / 100 for k, n in wanted.items()) and
             all(abs(f['part'] - f['bytes'] / root['bytes']) < .002 for f in seen['flame_up'] + seen['flame']) and 'their callers below' in seen['hint_up'],
             f'{what}: the flame graph bottom-up', f'{[f for f in seen["flame_up"] if abs(f["part"] - f["bytes"] / root["bytes"]) >= .002][:2]} {[(k, n, found[k]) for k, n in wanted.items() if n - found[k] > root["bytes"] / 100][:3]}')


def grouped_page(trace):
    """Groups are the outermost level of both trees, with the values of report, in every question."""
    for group in 'thread', 'tag', 'size', 'function':
        seen = open_page(make('grouped', '-g', group, trace), open=True)
        no_errors(f'by {group}', seen)
        tap.case(any(f'split by {group} first' in n for n in seen['notes']), f'by {group}: said', seen['notes'])
        for question, args in OPTIONS.items():
            view = seen['questions'][question]
            wanted = grouped(group, args, trace)
            for way in 'down', 'up':
                found = {r['name']: tuple(r['cells'][1:3]) for r in view[way] if r['level'] == 1 and not r['other']}
                tap.case(found == wanted and wanted, f'by {group}, {question} {way}', f'{found} {wanted}')
            boxes = {f['name']: f['bytes'] for f in view['flame'] if f['depth'] == 1}
            tap.case(boxes.items() <= {k: v[0] for k, v in wanted.items()}.items() and boxes, f'by {group}, {question}: the flame graph', f'{boxes} {wanted}')
            inverted_flame_graph(f'by {group}, {question}', view)


def pools(trace):
    """Blocks of pools are in trees and tables; the key figures remain those of the heap, and the page says so."""
    seen = open_page(make('pools', '--pool', '*', trace), open=True)
    no_errors('pools', seen)
    figures('pools', trace, seen)
    tap.case(any("own pools (*)" in n for n in seen['notes']), 'pools: said', seen['notes'])
    for number, (question, args) in enumerate(OPTIONS.items()):
        args = [*args, '--pool', '*']
        view = seen['questions'][question]
        tree(f'pools, {question}', args, trace, view)
        sites(f'pools, {question}', args, trace, view, number)
        lists(f'pools, {question}', args, trace, view)
    tap.case('known only for the heap' in view['sites-other'], 'pools: what is not known of them is said', view['sites-other'])


def sites(what, args, trace, seen, number):
    wanted = collections.defaultdict(lambda: [0, 0])
    for r in report(*args, '-g', 'site', trace)['rows']:
        wanted[shown_name(r['function'])][0] += r['bytes']
        wanted[shown_name(r['function'])][1] += r['blocks']
    blocks = seen['site_heads'].index('Blocks')
    found = collections.defaultdict(lambda: [0, 0])
    for r in seen['sites']:
        found[shown_name(r['name'])][0] += r['cells'][1 + number]
        found[shown_name(r['name'])][1] += r['cells'][blocks]
    found = {k: v for k, v in found.items() if v[1]}
    tap.case(found == dict(wanted), f'{what}: sites', f'{found} {dict(wanted)}')


def lists(what, args, trace, seen):
    for name, group in ('sizes', 'size'), ('lives', 'life'), ('threads', 'thread'):
        rows = report(*args, '-g', group, trace)['rows']
        if name == 'threads' and not seen[name]:
            continue  # there is only one
        wanted = sorted((r['name'], r['bytes'], r['blocks']) for r in rows)
        found = sorted((r['name'], *r['cells'][1:3]) for r in seen[name])
        tap.case(found == wanted, f'{what}: {name}', f'{found} {wanted}')


def figures(name, trace, seen):
    info = json.loads(run_ok('info', '--json', trace))
    totals = info['totals']
    found = {k: v['value'] for k, v in seen['figures'].items() if k != 'rss'}
    wanted = {'peak': totals['peak_bytes'], 'leaks': total('--leaks', trace)[0], 'allocations': totals['allocations'], 'short-lived': info['short_lived']['blocks']}
    if totals['dropped_events']:
        wanted['dropped'] = totals['dropped_events']
    tap.case(found == wanted, f'{name}: figures', f'{found} {wanted}')


def no_errors(name, seen):
    tap.case(seen['errors'] == [] and len(seen['requests']) == 1 and seen['refused'] == 'connect-src' and seen['elements'] == 1,
             f'{name}: nothing is loaded, nothing could be', f'{seen["errors"]} {seen["requests"]} {seen["refused"]} {seen["elements"]}')


def numbers(name, trace):
    """All values of all questions."""
    page = make(name, trace)
    seen = open_page(page, open=True)
    tap.case(seen['ids'] == list(OPTIONS) and seen['first'] == 'peak' and os.path.getsize(page) < MAX, f'{name}: questions', seen['ids'])
    figures(name, trace, seen)
    no_errors(name, seen)
    for number, (question, args) in enumerate(OPTIONS.items()):
        view, what = seen['questions'][question], f'{name} {question}'
        tap.case(view['checked'] == [question], f'{what}: chosen', view['checked'])
        tree(what, args, trace, view)
        inverted_flame_graph(what, view)
        sites(what, args, trace, view, number)
        lists(what, args, trace, view)


def requested_quantity(trace):
    """The quantity given on the command line is shown first."""
    for args, first, ids in (['--leaks'], 'leaks', 4), (['--growth', '20%..70%'], 'asked', 5), (['--at', '50%'], 'asked', 5), (['--at', '@end'], 'asked', 5), \
            (['--range', '..40%'], 'asked', 5), (['--temporary=1ms'], 'asked', 5), (['--allocated', '--filter', 'size:>=48'], 'allocated', 4):
        seen = open_page(make('asked', *args, trace), questions=[first], open=True)
        tap.case(seen['first'] == first and len(seen['ids']) == ids, f'{args}: shown first', f'{seen["first"]} {seen["ids"]}')
        tree(f'{args}', args, trace, seen['questions'][first])
    tap.case(any('size:>=48' in n for n in seen['notes']), 'the filter is said', seen['notes'])
    tap.case(open_page(make('blocks', '--cost', 'blocks', trace), questions=[])['unit'] == 'blocks', '--cost=blocks: opens with blocks')


def check_interaction(name, trace, args, pattern, zoom):
    """Search, zoom, sorting, keys, narrow screens."""
    seen = open_page(make('use', *args, trace), questions=[], pattern=pattern, zoom=zoom, sort=True, keys=True)
    answer = report(*args, trace)
    whole = answer['total_bytes'], answer['total_blocks']
    wide = [f for f in seen['before'] if f['name'] != 'other']
    tap.case(all(abs(f['part'] - f['bytes'] / whole[0]) < .002 for f in wide), f'{name}: widths are bytes')
    tap.case(all(abs(f['part'] - f['blocks'] / whole[1]) < .002 for f in seen['by_blocks']) and len(seen['by_blocks']) > 2, f'{name}: widths are blocks')
    # every stack with a match counts once
    path = {}
    hit = [0, 0]
    for i, n in enumerate(answer['nodes']):
        text = [n['function'], f'{os.path.basename(n["file"])}:{n["line"]}' if n.get('file') else os.path.basename(n.get('module') or ''), n.get('module') or '']
        path[i] = (n['parent'] is not None and path[n['parent']]) or (not START.match(n['function']) and any(re.search(pattern, t, re.I) for t in text))
        if path[i]:
            hit[0] += n['self_bytes']
            hit[1] += n['self_blocks']
    tap.case((int(seen['found']['bytes']), int(seen['found']['blocks'])) == tuple(hit) and hit[1], f'{name}: search', f'{seen["found"]} {hit}')
    names = {f['name'] for f in seen['found_flame'] if f['hit']}
    tap.case(names and all(re.search(pattern, n, re.I) for n in names), f'{name}: search in the flame graph', names)
    rows, children = seen['found_tree'], paths(seen['found_tree'])[1]
    top = [sum(rows[i]['cells'][k] for i in children[None]) for k in (1, 2)]
    tap.case(any(r['hit'] for r in rows) and tuple(top) == whole, f'{name}: search in the tree, with the rest as one', f'{top} {whole}')
    tap.case(all(r['hit'] or r['other'] for r in seen['found_sites']) and 's=' in seen['address'] and seen['left'] == 0, f'{name}: search is left', seen['left'])
    place = next(f for f in seen['before'] if f['name'] == zoom)
    now = next(f for f in seen['zoomed'] if f['name'] == zoom)
    below = [f for f in seen['zoomed'] if not f['up'] and f['name'] != 'other']
    tap.case(abs(now['part'] - 1) < .002 and place['part'] < .999 and all(abs(f['part'] - f['bytes'] / place['bytes']) < .002 for f in below), f'{name}: zoom')
    tap.case([(f['name'], f['bytes'], round(f['left'])) for f in seen['back']] == [(f['name'], f['bytes'], round(f['left'])) for f in seen['before']], f'{name}: zoom is left',
             f'{seen["back"][:3]} {seen["before"][:3]}')
    for step, (column, down) in zip(seen['sorted'], ((3, True), (3, False), (None, False), (2, True))):
        rows, children = step['rows'], paths(step['rows'])[1]
        order = {h['name']: h['sort'] for h in step['heads'] if h['sort'] not in (None, 'none')}
        tap.case(len(order) == 1 and set(order.values()) == {'descending' if down else 'ascending'}, f'{name}: sorted by {step["id"]} {down}: said', order)
        wrong = []
        for group in children.values():
            values = [rows[i]['name'].lower() if column is None else rows[i]['cells'][column] for i in group if not rows[i]['other'] and rows[i]['cells'][3] != '']
            wrong += [values] if values != sorted(values, reverse=down) else []
        tap.case(not wrong, f'{name}: sorted by {step["id"]} {down}', wrong[:2])
    tap.case(seen['next_question'] == {'focused': 'leaks', 'checked': 'leaks'} and seen['flame_zoomed'] and seen['flame_left'] and seen['tree'] == ['true', 'false', 'true'] and
             seen['tip'] and seen['plot'], f'{name}: keys', f'{seen["next_question"]} {seen["flame_zoomed"]} {seen["flame_left"]} {seen["tree"]} {seen["plot"]}')
    part = open_page(make('use', *args, trace), questions=[], bad='shelf(')
    tap.case('not a valid regular expression' in part['bad'] and part['good'] == '', f'{name}: a pattern that is none is said to be so', part['bad'])
    narrow = open_page(make('use', *args, trace), questions=['peak'], narrow=True)
    tap.case(narrow['overflow'] <= 0 and narrow['errors'] == [], f'{name}: fits a narrow screen', narrow['overflow'])


def plot(trace):
    """The timeline equals that of report."""
    seen = open_page(make('plot', trace), questions=[], data=True)['data']['timeline']
    wanted = report('--timeline', trace)
    tap.case(max(seen['live']) == wanted['peak_bytes'] and seen['end_ns'] == wanted['duration_ns'] and
             [max(seen['live'][3 * i:3 * i + 3]) for i in range(200)] == [c['max_live_bytes'] for c in wanted['columns']], 'the heap over time')


def without_script(name, trace):
    seen = open_page(make('plain', trace), script=False)
    shown = {'figures': True, 'timeline': True, 'sites': True, 'flame': False, 'tree': False, 'bar': False}
    rows = report('-g', 'site', trace)['rows']
    tap.case(seen['shown'] == shown and seen['heading'] == name and len(seen['figures']) >= 5 and seen['plots'] == 2, 'without JavaScript', f'{seen}')
    tap.case(len(seen['sites']) == min(len(rows), 21) and all(r['function'] in seen['sites'][i] for i, r in enumerate(rows[:5])), 'without JavaScript: sites', seen['sites'])


def hostile():
    """Names of programs, modules, functions, marks, threads and files that contain markup remain text."""
    name = ''.join(f'%{b:02x}' for b in HOSTILE.replace('/', '\u2215').encode())
    close = ''.join(f'%{b:02x}' for b in b'/</script><!--<script>\xff\xe2\x80\xae\xe2\x80\xa8')
    lines = [f'module /{name} -', f'module {close} -', 'thread 1', 'thread 2', 'node - 0 10', 'node 0 1 20', 'alloc 64 0 100 1 malloc', 'alloc 128 1 200 0 malloc',
             f'extra 192 mark 0 {HOSTILE}', 'rss 64 4096', 'rss 640 8192', 'end 0 0 640']
    r = subprocess.run([programs['mktrace'], f'{folder}/hostile.hlt'], input='\n'.join(lines).encode() + b'\n', capture_output=True)
    page = make('hostile', f'{folder}/hostile.hlt')
    seen = open_page(page, pattern='script', data=True)
    no_errors('hostile modules and marks', seen)
    names = {f['name'] for f in seen['found_flame'] if f['hit']}
    tap.case(r.returncode == 0 and seen.get('pwned') is None and any('<script>window.pwned=1' in n for n in names), 'hostile modules and marks are text', names)
    tap.case(any(HOSTILE in m[2] for m in seen['data']['timeline']['marks']), 'a hostile mark is text', seen['data']['timeline']['marks'])
    tap.case(pathlib.Path(page).read_text().count('<script') == 2 and '\u202e' not in pathlib.Path(page).read_text(), 'a page has two script elements')


def hostile_functions():
    """A symbol may have any name; so may the program, its arguments and a filter."""
    for program in 'gcc', 'objcopy':
        if not shutil.which(program):
            return tap.skipped('hostile functions', f'{program} is not installed')
    source, made = f'{folder}/evil.c', f'{folder}/<img src=x onerror=pwned=4>'
    pathlib.Path(source).write_text('#include <pthread.h>\n#include <stdlib.h>\nvoid *evil(void *p);\nint main(void) { pthread_t t; return !evil(0) || pthread_create(&t, 0, evil, 0) || pthread_join(t, 0); }\n')
    pathlib.Path(f'{folder}/evil2.c').write_text('#define _GNU_SOURCE\n#include <pthread.h>\n#include <stdlib.h>\nvoid *volatile kept;\nvoid *evil(void *p)\n{\n'
                                                  'pthread_setname_np(pthread_self(), "<b onclick=x>");\nkept = malloc(4321);\nreturn kept;\n}\n')
    for unit in ('evil', 'evil2'):
        subprocess.run(['gcc', '-O0', '-fno-omit-frame-pointer', '-c', '-o', f'{folder}/{unit}.o', f'{folder}/{unit}.c'], check=True)
        subprocess.run(['objcopy', '--redefine-sym', f'evil={HOSTILE}', f'{folder}/{unit}.o'], check=True)
    subprocess.run(['gcc', '-pthread', '-o', made, f'{folder}/evil.o', f'{folder}/evil2.o'], check=True)
    run_ok('record', '-q', '-o', f'{folder}/evil.hlt', '--', made, HOSTILE)
    page = make('evil', '--filter', f'-fn:"<script>nobody"', f'{folder}/evil.hlt')
    seen = open_page(page, pattern='pwned=1')
    no_errors('hostile functions', seen)
    names = {f['name'] for f in seen['found_flame'] if f['hit']}
    tap.case(seen.get('pwned') is None and names == {HOSTILE}, 'a hostile function is text', names)
    tap.case(seen['title'].startswith('<img src=x onerror=pwned=4>') and HOSTILE in seen['heading'].replace('\\', ''), 'a hostile program and command are text', seen['heading'])
    tap.case(any('<b onclick=x>' in r['name'] for r in seen['questions']['allocated']['threads']), 'a hostile thread is text', seen['questions']['allocated']['threads'])
    tap.case(any('<script>nobody' in n for n in seen['notes']), 'a hostile filter is text', seen['notes'])


def thread_names_fit():
    """Thread names of any length leave room for the numbers next to them."""
    run_ok('record', '-q', '-o', f'{folder}/named.hlt', '--', programs['named'])
    seen = open_page(make('named', f'{folder}/named.hlt'), width=1200)['questions']
    tap.case(len(seen['allocated']['threads']) > 2 and not any(any(q['cut']) for q in seen.values()), 'tables fit their cards', {k: q['cut'] for k, q in seen.items()})


def large():
    """A tree that fits only partly: omitted values are counted where they are omitted."""
    trace = f'{folder}/large.hlt'
    subprocess.run([programs['gen'], '-n', '400000', '--nodes', '100000', '--live', '60000', '-o', trace], check=True)
    page = make('large', trace)
    seen = open_page(page, questions=['peak', 'allocated'], data=True, open=True)
    for view in seen['questions'].values():
        closed = re.search(r'([\d,]+) rows? stayed closed', view['tree-other'])
        tap.case(bool(closed) != view['whole_up'], 'a large tree: that rows stay closed is said', f'{view["tree-other"]} {view["whole_up"]}')
    tap.case(10000 < os.path.getsize(page) <= MAX, f'a large tree: {os.path.getsize(page)} bytes')
    no_errors('a large tree', seen)
    for q in seen['data']['questions']:
        args = OPTIONS[q['id']]
        answer = report(*args, trace)
        tap.case((q['bytes'], q['blocks']) == (answer['total_bytes'], answer['total_blocks']), f'a large tree, {q["id"]}: the whole')
        sums_to_the_whole(q, 'down', answer)
        sums_to_the_whole(q, 'up', answer)
    view = seen['questions']['allocated']
    said = re.search(r'([\d,]+) frames of the tree are left out: .* in ([\d,]+) blocks', view['flame-other'])
    lists = next(q for q in seen['data']['questions'] if q['id'] == 'allocated')['down']
    tap.case(said and int(said[1].replace(',', '')) == sum(o[1] for o in lists['other']) > 0 and int(said[2].replace(',', '')) == sum(o[3] for o in lists['other']),
             'a large tree: how much is left out is said', view['flame-other'])
    number = list(OPTIONS).index('allocated') + 1
    tap.case(sum(r['cells'][number] for r in view['sites']) == total('--allocated', trace)[0] and view['sites'][-1]['other'], 'a large tree: sites and the others add up')


def sums_to_the_whole(q, way, answer):
    """No node is less than the sum of its children; and no frame is lost or counted twice."""
    lists, at, rest = q[way], [], {}
    for i, (depth, size, blocks) in enumerate(zip(lists['depth'], lists['bytes'], lists['blocks'])):
        at[depth - 1:] = [i]
        rest[i] = [size, blocks]
        parent = rest.setdefault(at[-2] if len(at) > 1 else -1, [q['bytes'], q['blocks']])
        parent[0] -= size
        parent[1] -= blocks
    for i, _, size, blocks in lists['other']:
        rest.setdefault(i, [q['bytes'], q['blocks']])
        rest[i][0] -= size
        rest[i][1] -= blocks
    wrong = [(i, r) for i, r in rest.items() if min(r) < 0]
    tap.case(not wrong and sum(r[0] for r in rest.values()) + sum(o[2] for o in lists['other']) == q['bytes'] and rest[-1] == [0, 0],
             f'a large tree, {q["id"]} {way}: a node is the sum of its own, its children and the others', wrong[:3])
    if way == 'down':
        tap.case(len(lists['depth']) + sum(o[1] for o in lists['other']) == len(answer['nodes']), f'a large tree, {q["id"]}: frames shown and left out are all',
                 f'{len(lists["depth"])} {sum(o[1] for o in lists["other"])} {len(answer["nodes"])}')


def long_names():
    """Names that need more space than there is: the page stays small."""
    lines, nasty = ['thread 1'], '<"&x' * 1250
    for i in range(1500):
        lines += [f'module /{i:05d}{nasty}{i:05d}.so -', f'node {i - 1 if i % 100 else "-"} {i} 10', f'alloc {64 * (i + 1)} 0 {10 + i} {i} malloc']
    subprocess.run([programs['mktrace'], f'{folder}/long.hlt'], input=('\n'.join(lines) + '\nend 0 0 1000000\n').encode(), check=True)
    page = make('long', f'{folder}/long.hlt')
    seen = open_page(page, questions=['peak'], data=True)
    tap.case(os.path.getsize(page) <= MAX, f'long names: {os.path.getsize(page)} bytes')
    for q in seen['data']['questions'][:1]:
        sums_to_the_whole(q, 'down', report('--peak', f'{folder}/long.hlt'))


def deep():
    """A deep recursion is cut in the page, and no value is lost."""
    lines = ['module /bin/deep -', 'thread 1', 'node - 0 1000'] + [f'node {i} 0 {4096 + 16 * (i % 2000):x}' for i in range(3000)]
    lines += [f'alloc {64 * (i + 1)} 0 100 {3000 - i} malloc' for i in range(100)] + ['end 0 0 1000000']
    subprocess.run([programs['mktrace'], f'{folder}/deep.hlt'], input=('\n'.join(lines) + '\n').encode(), check=True)
    seen = open_page(make('deep', f'{folder}/deep.hlt'), questions=['peak'], data=True)
    tap.case(seen['errors'] == [], 'a deep recursion', seen['errors'])
    sums_to_the_whole(seen['data']['questions'][0], 'down', report('--peak', f'{folder}/deep.hlt'))


def empty_results(trace):
    """A question without matching blocks, and an empty trace, are reported as such."""
    subprocess.run([programs['mktrace'], f'{folder}/empty.hlt'], input=b'thread 1\nend 0 0 640\n', check=True)
    for args, words in (['--filter', 'size:>1T', trace], 'No block matches'), ([f'{folder}/empty.hlt'], 'The trace has no allocations'):
        seen = open_page(make('nothing', *args), data=True)
        no_errors(f'nothing: {words}', seen)
        tap.case(any(words in n for n in seen['notes']) and all('nothing to show' in v['down'][0]['cells'][0] and 'nothing to show' in v['sizes_text']
                 for v in seen['questions'].values()), f'nothing: {words}', f'{seen["notes"]}')
        tap.case(all(q['bytes'] == 0 and q['down']['depth'] == [] for q in seen['data']['questions']), f'nothing: {words}: no numbers')
    seen = open_page(make('nothing', '--filter', 'size:>1T', trace), script=False)
    tap.case(seen['sites'] == ['nothing'] and seen['shown']['figures'], 'nothing, and without JavaScript', seen['sites'])


def recording_modes():
    """Recordings of samples or sums only: the page shows what exists and says what does not."""
    for mode, option in ('sample', '--mode=sample=512'), ('count', '--mode=count'):
        trace = f'{folder}/mode-{mode}.hlt'
        r = run('record', '-q', option, '-o', trace, '--', programs['single'], '5000', '1', '10')
        if r.returncode:
            tap.case(False, f'mode {mode}', r.stderr)
            continue
        seen = open_page(make(mode, trace), open=True, data=True)
        no_errors(f'mode {mode}', seen)
        for question in ('peak', 'leaks', 'allocated'):
            tree(f'mode {mode}, {question}', OPTIONS[question], trace, seen['questions'][question])
        peak = seen['data']['questions'][0]
        if mode == 'sample':
            tap.case(peak['margin'] == report(trace)['total_bytes_margin'] > 0 and '±' in seen['questions']['peak']['asked'] and any('estimates' in n for n in seen['notes']),
                     'samples: how good the estimates are', f'{peak["margin"]} {seen["notes"]}')
        else:
            view = seen['questions']['temporary']
            tap.case('not known' in view['asked'] and 'needs every event' in view['asked'] and 'needs every event' in view['sizes_text'] and
                     'needs every event' in view['down'][0]['cells'][0], 'sums: what is not known is said', view['asked'])
            tap.case(any('blocks (mode count)' in n for n in seen['notes']) and 'needs every event' in view['sites-other'], 'sums: said', f'{seen["notes"]} {view["sites-other"]}')


def damaged(trace):
    """A lost part is a gap, with a message."""
    whole = pathlib.Path(trace).read_bytes()
    pathlib.Path(f'{folder}/cut.hlt').write_bytes(whole[:len(whole) * 2 // 3])
    seen = open_page(make('cut', f'{folder}/cut.hlt'), questions=['leaks'])
    tap.case(any('end of the recording is missing' in n for n in seen['notes']) and seen['figures']['leaks']['label'] == 'Live at end' and 'leaked' not in seen['questions']['leaks']['asked'],
             'a truncated trace never says leaked', f'{seen["notes"]} {seen["figures"]}')


with tempfile.TemporaryDirectory() as folder:
    if not CHROMIUM or not npm():
        tap.skipped('html', npm.why if CHROMIUM else 'chromium is not installed')
        tap.finish()
    traces = make_traces(folder)
    # values that JavaScript can represent exactly
    subprocess.run([programs['gen'], '-n', '20000', '--nodes', '100', '-o', traces['made']], check=True)
    for name in ('sample', 'shop', 'threads', 'made'):
        if name in traces:
            numbers(name, traces[name])
    requested_quantity(traces['sample'])
    if 'shop' in traces:
        check_interaction('shop', traces['shop'], [], 'shelf', 'main')
    run_ok('record', '-q', '-o', f'{folder}/roles.hlt', '--', programs['roles'])
    grouped_page(f'{folder}/roles.hlt')
    pools(f'{folder}/roles.hlt')
    plot(traces['threads'] if 'threads' in traces else traces['sample'])
    without_script('sample', traces['sample'])
    hostile()
    hostile_functions()
    thread_names_fit()
    large()
    long_names()
    deep()
    empty_results(traces['sample'])
    if 'single' in programs:
        recording_modes()
    damaged(traces['made'])
tap.finish()
