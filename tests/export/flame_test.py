#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""flame_test - export to pictures: `svg` in chromium, `speedscope` by its schema and sums, `dot` by
Graphviz, `gprof2dot` by the schema of memtrail's files."""
import collections, colorsys, json, os, pathlib, re, shutil, subprocess, tempfile, xml.etree.ElementTree

from viewers import export, grouped, make_traces, node, npm, npm_folder, programs, record_several, report, run_ok, stacks, total
import tap

CHROMIUM = shutil.which('chromium')
QUESTIONS = ([], ['--leaks'], ['--allocated'], ['--temporary'], ['--growth', '20%..70%'], ['--at', '50%'], ['--range', '..40%'],
             ['--allocated', '--filter', 'size:>=48'])
# The schema of the files that memtrail writes.
GPROF2DOT = {
    'type': 'object', 'required': ['version', 'costs', 'functions', 'events'], 'additionalProperties': False,
    'properties': {
        'version': {'const': 0},
        'costs': {'type': 'array', 'minItems': 1, 'maxItems': 1, 'items': {
            'type': 'object', 'required': ['description', 'unit'], 'properties': {'description': {'type': 'string'}, 'unit': {'type': 'string'}}}},
        'functions': {'type': 'array', 'items': {
            'type': 'object', 'required': ['name'], 'additionalProperties': False, 'properties': {'name': {'type': 'string'}, 'module': {'type': 'string'}}}},
        'events': {'type': 'array', 'items': {
            'type': 'object', 'required': ['callchain', 'cost'], 'properties': {
                'callchain': {'type': 'array', 'minItems': 1, 'items': {'type': 'integer', 'minimum': 0}},
                'cost': {'type': 'array', 'minItems': 1, 'maxItems': 1, 'items': {'type': 'integer', 'exclusiveMinimum': 0}}}}},
    }}


def queries_of(name):
    """All quantities for one program; for the others those that differ most."""
    return QUESTIONS if name == 'sample' else QUESTIONS[:3]


def costs(args, trace, which):
    return {tuple(k): v[which] for k, v in stacks(report(*args, trace)).items() if v[which]}


def function_name(name):
    return re.sub(r'^(0x[0-9a-f]+) \[.*\]$', r'\1', name)


def validate(schema, path, name):
    if not npm():
        return tap.skipped(name, npm.why)
    errors = node('validate.js', schema, path)
    tap.case(errors == {'errors': []}, name, errors)


def speedscope(name, trace):
    for args in queries_of(name):
        d = json.loads(export('speedscope', *args, trace))
        for which, profile in enumerate(d['profiles']):
            found = collections.Counter()
            for sample, weight in zip(profile['samples'], profile['weights']):
                found[tuple(function_name(d['shared']['frames'][i]['name']) for i in sample)] += weight
            tap.case(found == costs(args, trace, which) and len(profile['samples']) == len(profile['weights']) and
                     profile['endValue'] == total(*args, trace)[which], f'speedscope, {name} {args}: {profile["unit"]}')
    run_ok('export', '-f', 'speedscope', '-o', f'{folder}/x.speedscope.json', trace)
    validate(f'{npm_folder}/node_modules/speedscope/dist/release/file-format-schema.json', f'{folder}/x.speedscope.json', f'speedscope, {name}: schema')


def gprof2dot(name, trace):
    pathlib.Path(f'{folder}/gprof2dot.schema').write_text(json.dumps(GPROF2DOT))
    for args in queries_of(name):
        d = json.loads(export('gprof2dot', *args, trace))
        found = collections.Counter()
        for e in d['events']:
            found[tuple(d['functions'][i]['name'] for i in reversed(e['callchain']))] += e['cost'][0]
        tap.case(found == costs(args, trace, 0), f'gprof2dot, {name} {args}')
    run_ok('export', '-f', 'gprof2dot', '-o', f'{folder}/gprof2dot.json', trace)
    validate(f'{folder}/gprof2dot.schema', f'{folder}/gprof2dot.json', f'gprof2dot, {name}: schema')


def dot(name, trace):
    """Graphviz reads the file, and its totals are those of the tree, with each function counted once per stack."""
    for args, which in ([], 0), (['--leaks'], 0), (['--growth', '20%..70%'], 0), (['--allocated'], 1):
        out = f'{folder}/x.dot'
        run_ok('export', '-f', 'dot', '-o', out, '--cost', ('bytes', 'blocks')[which], *args, trace)
        r = subprocess.run(['dot', '-Tjson', out], capture_output=True, text=True)
        tap.case(r.returncode == 0, f'dot, {name} {args}: Graphviz', r.stderr)
        drawn = json.loads(r.stdout)
        inclusive, own, calls = collections.Counter(), collections.Counter(), collections.Counter()
        for path, cost in costs(args, trace, which).items():
            for f in set(path):
                inclusive[f] += cost
            own[path[-1]] += cost
            for edge in set(zip(path, path[1:])):
                calls[edge] += cost
        label = {o['_gvid']: o['label'] for o in drawn.get('objects', [])}
        names = {i: next((n for n in text.split('\\n') if n in inclusive), None) for i, text in label.items()}
        if len(set(names.values())) < len(names):
            continue  # of two modules: distinct in the graph, but not here
        wrong = [(names[o['_gvid']], o['total'], o['self']) for o in drawn.get('objects', [])
                 if (int(o['total']), int(o['self'])) != (inclusive[names[o['_gvid']]], own[names[o['_gvid']]])]
        tap.case(not wrong, f'dot, {name} {args}: functions', wrong)
        wrong = [e for e in drawn.get('edges', []) if int(e['cost']) != calls[names[e['tail']], names[e['head']]]]
        tap.case(not wrong, f'dot, {name} {args}: calls', wrong[:2])
        whole = total(*args, trace)[which]
        missing = {f for f, n in inclusive.items() if n >= whole / 200 and n} - set(names.values())
        tap.case(not missing, f'dot, {name} {args}: nothing large is missing', missing)


def check_layout(frames, whole):
    """Each frame is directly below one that is at least as wide, and no two frames overlap."""
    for f in frames:
        if f['depth'] and not any(p['depth'] == f['depth'] - 1 and p['top'] == f['top'] - 17 and p['left'] <= f['left'] + .01 and
                                  f['left'] + f['width'] <= p['left'] + p['width'] + .01 for p in frames):
            return f'{f} lies on nothing'
    rows = collections.defaultdict(list)
    for f in frames:
        rows[f['depth']].append(f)
    for row in rows.values():
        row.sort(key=lambda f: f['left'])
        for a, b in zip(row, row[1:]):
            if a['left'] + a['width'] > b['left'] + .01:
                return f'{a} lies over {b}'
    return ''


def svg(name, trace, args, which, into, pattern):
    out = f'{folder}/{name}.svg'
    run_ok('export', '-f', 'svg', '--full-stacks', '-o', out, '--cost', ('bytes', 'blocks')[which], *args, trace)
    os.environ['CHROMIUM'] = CHROMIUM
    seen = node('svg.js', out, into, pattern)
    what = f'svg, {name} {args} {which}'
    if 'error' in seen:
        return tap.case(False, what, seen['error'])
    wanted, first, width = costs(args, trace, which), seen['first'], seen['width']
    whole = sum(wanted.values())
    tap.case(seen['total'] == whole == total(*args, trace)[which] and not seen['errors'] and seen['asked'] == 1, f'{what}: total, nothing else is loaded',
             f'{seen["total"]} {whole} {seen["errors"]}')
    if not whole:
        return None  # nothing grew in this run
    tap.case(all(abs(f['width'] - f['w'] * width / whole) < .01 for f in first) and check_layout(first, whole) == '', f'{what}: widths add up', check_layout(first, whole))
    wide = [f['name'] for f in seen['all'] if f['w'] * width / whole >= 1]
    tap.case([f['name'] for f in first] == wide, f'{what}: all frames of a pixel are drawn, and no others', f'{len(first)} {len(wide)}')
    # The cost of each path, computed from the positions alone.
    inclusive = collections.Counter()
    for path, cost in wanted.items():
        for i in range(1, len(path) + 1):
            inclusive[i, path[i - 1]] += cost
    found = collections.Counter()
    for f in seen['all']:
        if f['depth']:
            found[f['depth'], function_name(f['name'])] += f['w']
    wrong = {k: (v, found[k]) for k, v in inclusive.items() if v != found[k] and v - found[k] > whole / 1000}
    tap.case(not wrong and not +(found - inclusive), f'{what}: each name in each row', f'{list(wrong.items())[:4]}')
    if into:
        place = next(f for f in first if f['name'] == into)
        zoomed = seen['zoomed']
        inside = [f for f in zoomed if f['depth'] >= place['depth']]
        tap.case(abs(next(f for f in zoomed if f['name'] == into)['width'] - width) < .01 and
                 all(abs(f['width'] - f['w'] * width / place['w']) < .01 for f in inside) and
                 len(inside) == sum(place['x'] <= f['x'] and f['x'] + f['w'] <= place['x'] + place['w'] and f['depth'] >= place['depth'] and
                                    f['w'] * width / place['w'] >= 1 for f in seen['all']) and
                 seen['resettable'] and check_layout(zoomed, whole) == '', f'{what}: zoom', f'{zoomed[:3]}')
        same = all(a['name'] == b['name'] and abs(a['left'] - b['left']) < .01 and abs(a['width'] - b['width']) < .01 for a, b in zip(seen['back'], first))
        tap.case(len(seen['back']) == len(first) and same, f'{what}: and back')
    hits = {f['name'] for f in seen['searched'] if f['hit']}
    tap.case(hits == {f['name'] for f in first if f['depth'] and re.search(pattern, f['name'], re.I)}, f'{what}: search finds', hits)
    right = sum(c for path, c in wanted.items() if any(re.search(pattern, f, re.I) for f in path))
    tap.case(abs(seen['found']['cost'] - right) <= whole / 500 and seen['left'] == 0, f'{what}: how much of it', f'{seen["found"]} {right}')


def svg_frames(*args):
    """(row, name, position, cost) of the frames of a picture, which is well-formed."""
    text = export('svg', *args)
    xml.etree.ElementTree.fromstring(text)
    return [(int(d), n, int(x), int(w)) for x, w, d, n in re.findall(r'data-x="(\d+)" data-w="(\d+)" data-d="(\d+)" data-n="([^"]*)"', text.decode())]


def nothing(trace):
    """A picture of nothing has the frame "all", which its script needs."""
    for args in [], ['--all']:
        found = svg_frames('--filter', 'size:>1T', *args, trace)
        tap.case(found == [(0, 'all', 0, 0)], f'svg of nothing {args}', found)


def several_processes():
    """Each process is a frame with the picture of its own below it; in speedscope each has two profiles."""
    trace, rows = record_several(folder)
    for args in [], ['--allocated'], ['--leaks', '--full-stacks']:
        drawn, whole = svg_frames(*args, '--all', trace), 0
        processes = {n: (x, w) for d, n, x, w in drawn if d == 1}
        asked = [a for a in args if a != '--full-stacks']
        tap.case({n: w for n, (x, w) in processes.items()} == {r['label']: total(*asked, r['trace'])[0] for r in rows if total(*asked, r['trace'])[0]},
                 f'svg --all {args}: a frame of each process', processes)
        for r in rows:
            if r['label'] not in processes:
                continue
            at, cost = processes[r['label']]
            whole += cost
            inside = {f for f in drawn if f[0] > 1 and at <= f[2] < at + cost}
            alone = {(d + 1, n, x + at, w) for d, n, x, w in svg_frames(*args, r['trace']) if d}
            tap.case(inside <= alone and all(w < total(*asked, '--all', trace)[0] / 20000 for _, _, _, w in alone - inside),
                     f'svg --all {args}: {r["label"]} has the frames of its own picture', f'{list(inside ^ alone)[:3]}')
        tap.case(drawn[0] == (0, 'all', 0, whole), f'svg --all {args}: the sum', drawn[0])
    for args in [], ['--allocated']:
        d = json.loads(export('speedscope', *args, '--all', trace))
        names = [p['name'] for p in d['profiles']]
        tap.case(len(names) == 2 * len(rows) and all(any(n.startswith(r['label'] + ': ') for n in names) for r in rows), f'speedscope --all {args}: profiles', names)
        for r in rows:
            own = json.loads(export('speedscope', *args, r['trace']))
            mine = [p for p in d['profiles'] if p['name'].startswith(r['label'] + ': ')]
            read = lambda doc, p: [([doc['shared']['frames'][i] for i in s], w) for s, w in zip(p['samples'], p['weights'])]
            tap.case([read(d, p) for p in mine] == [read(own, p) for p in own['profiles']] and any(read(d, p) for p in mine),
                     f'speedscope --all {args}: {r["label"]} is as alone')
    run_ok('export', '-f', 'speedscope', '--all', '-o', f'{folder}/all.speedscope.json', trace)
    validate(f'{npm_folder}/node_modules/speedscope/dist/release/file-format-schema.json', f'{folder}/all.speedscope.json', 'speedscope --all: schema')
    if not CHROMIUM or not npm():
        return tap.skipped('svg --all', npm.why if CHROMIUM else 'chromium is not installed')
    run_ok('export', '-f', 'svg', '--all', '-o', f'{folder}/all.svg', trace)
    os.environ['CHROMIUM'] = CHROMIUM
    seen = node('svg.js', f'{folder}/all.svg', rows[0]['label'], 'single')
    whole = total('--all', trace)[0]
    tap.case('error' not in seen and not seen['errors'] and seen['total'] == whole and check_layout(seen['first'], whole) == '' and
             '4 processes: ' in seen['title'], 'svg --all: chromium', seen.get('error') or seen['title'])
    tap.case(abs(next(f for f in seen['zoomed'] if f['name'] == rows[0]['label'])['width'] - seen['width']) < .01, 'svg --all: zoom into a process')


def svg_by(group, trace):
    """The groups are directly above "all", with the widths that report gives; a click shows one group alone."""
    wanted = {k: v[0] for k, v in grouped(group, ['--allocated'], trace).items() if v[0]}
    out, largest = f'{folder}/grouped.svg', max(wanted, key=wanted.get)
    run_ok('export', '-f', 'svg', '-o', out, '--allocated', '-g', group, trace)
    os.environ['CHROMIUM'] = CHROMIUM
    seen = node('svg.js', out, largest, 'run_phase')
    if 'error' in seen:
        return tap.case(False, f'svg by {group}', seen['error'])
    whole = sum(wanted.values())
    found = {f['name']: (f['w'], round(f['width'], 1)) for f in seen['first'] if f['depth'] == 1}
    tap.case(found == {k: (n, round(n * seen['width'] / whole, 1)) for k, n in wanted.items() if n * seen['width'] >= whole} and seen['errors'] == [] and
             check_layout(seen['first'], whole) == '' and seen['title'].split(', ')[1] == f'by {group}', f'svg by {group}: groups', f'{found} {wanted} {seen["title"]}')
    below = [f for f in seen['zoomed'] if f['depth'] > 0]
    tap.case({f['name'] for f in below if f['depth'] == 1} == {largest} and abs(next(f for f in below if f['depth'] == 1)['width'] - seen['width']) < .01, f'svg by {group}: one alone')


# Frames of these modules, of which only the first is the program.
MODULES = {'/opt/shop/bin/shop': 'the program', '/opt/shop/lib/libledger.so.3': 'libraries', '/usr/lib/x86_64-linux-gnu/libcrypto.so.3': 'libraries',
           '/opt/shop/lib/plugin.so (deleted)': 'libraries', '/opt/shop/lib/_json.cpython-311-x86_64-linux-gnu.so': 'libraries',
           '/lib/x86_64-linux-gnu/libc.so.6': 'runtime libraries', '/usr/lib/x86_64-linux-gnu/libstdc++.so.6': 'runtime libraries',
           '/opt/shop/bin/tool.sold': 'the program'}
DEEP = 400


def make_look(folder):
    """A trace with a frame of each module, and a branch of DEEP frames that is far narrower than a pixel."""
    lines = [f'module {path.replace(" ", "%20")} -' for path in MODULES]
    lines += [f'node - {i} {4096 + 16 * i:x}' for i in range(len(MODULES))]
    lines += [f'node {len(MODULES) + i - 1 if i else 0} 0 {8192 + 16 * i:x}' for i in range(DEEP)]
    lines += ['thread 1', *(f'alloc {i + 1} 0 1000000 {i} 1' for i in range(len(MODULES))), f'alloc 50 0 900 {len(MODULES) + DEEP - 1} 1', 'end 0 0 1000']
    subprocess.run([programs['mktrace'], f'{folder}/look.hlt'], input='\n'.join(lines).encode() + b'\n', check=True)
    return f'{folder}/look.hlt'


def brightness(color):
    return sum(map(int, re.findall(r'\d+', color)[:3])) / 765


def kind_of(look, fill):
    """The legend's entry with the hue of a colour; functions of one kind differ a little."""
    def hue(color):
        return colorsys.rgb_to_hls(*(int(c) / 255 for c in re.findall(r'\d+', color)[:3]))[0]
    return min(look['legend'], key=lambda k: 1 if k == 'allocation function' else abs(hue(look['legend'][k]) - hue(fill)))


def svg_look(name, trace, *options):
    """In each window: the picture begins at the top and has the window's width; texts fit; colours are those of the legend."""
    out = f'{folder}/{name}-look.svg'
    run_ok('export', '-f', 'svg', '-o', out, *options, trace)
    os.environ['CHROMIUM'] = CHROMIUM
    got = node('svg_look.js', out)
    if 'error' in got:
        return tap.case(False, f'svg, look of {name}', got['error'])
    tap.case(got['errors'] == [] and got['asked'] == 2, f'svg, look of {name}: nothing else is loaded', f'{got["errors"]} {got["asked"]}')
    static = xml.etree.ElementTree.parse(out).getroot()
    box = '{http://www.w3.org/2000/svg}'
    shown = [g for g in static.iter(box + 'g') if g.get('class', '').startswith('f ') and g.get('display') != 'none']
    bottom = max(int(g.find(box + 'rect').get('y')) for g in shown) + 17
    tap.case(static.get('width') == '1200' and static.get('viewBox') == f'0 0 1200 {static.get("height")}' and bottom + 10 == int(static.get('height')) and
             all(float(g.find(box + 'rect').get('width')) >= 1 for g in shown), f'svg, look of {name}: without a script', static.attrib)
    for look in got['looks']:
        what, seen = f'svg, look of {name}, {look["window"]} {look["colorScheme"]}', look['seen']
        root = seen[0]
        tap.case(look['scrolled'] == 0 and root['depth'] == 0 and 0 < root['top'] < 100 and
                 all(f['top'] == root['top'] + 17 * f['depth'] for f in seen), f'{what}: the root is at the top', root)
        lowest = max(f['top'] for f in seen) + 17
        tap.case(0 <= look['height'] - lowest <= 20, f'{what}: no taller than its frames', f'{look["height"]} {lowest}')
        tap.case(look['window'] - 20 < look['width'] <= look['window'] and not look['wide'] and abs(root['right'] - look['width']) < 1 and
                 look['title'] <= look['width'], f'{what}: as wide as the window', f'{look["width"]} {look["title"]} {root}')
        tap.case(all(f['fits'] for f in seen), f'{what}: texts fit', [f['text'] for f in seen if not f['fits']])
        dark = look['colorScheme'] == 'dark'
        tap.case((brightness(look['card']) < .3) == dark and (brightness(look['ink']) > .7) == dark and
                 all((brightness(f['fill']) < brightness(f['ink'])) == dark for f in seen), f'{what}: light or dark', f'{look["card"]} {look["ink"]}')
        kinds = {m: kind_of(look, f['fill']) for f in seen for m in MODULES if f['tip'].endswith('\n' + m)}
        tap.case((name != 'modules' or kinds == MODULES) and len(set(look['legend'].values())) == len(look['legend']) == 3 + len(options), f'{what}: colours of the legend', f'{kinds} {look["legend"]}')
        if not dark:
            fills = {g.get('data-n'): g.find(box + 'rect').get('fill') for g in shown}
            wrong = [f for f in seen if f['name'] in fills and max(abs(int(a) - b) for a, b in zip(re.findall(r'\d+', f['fill']), bytes.fromhex(fills[f['name']][1:]))) > 1]
            tap.case(not wrong, f'{what}: the same without a style sheet', wrong[:2])
    return got['looks']


def page_kinds(trace):
    """The page divides frames in the same way, and its legend names the same kinds."""
    page = export('html', '--full-stacks', trace).decode()
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])
    names = ['the program', 'libraries', None, None, None, 'runtime libraries']
    kinds = {data['strings'][f[4]]: names[f[5]] for f in data['frames'] if f[4] >= 0}
    legend = re.findall(r'<span class="key [a-z]+">([^<]*)</span>', page[page.index('id="flame-graph"'):])
    tap.case(kinds == MODULES and legend[:3] == ['the program', 'libraries', 'runtime libraries'], 'html: kinds of frames', f'{kinds} {legend}')


def same_colors_as_page():
    """svg_style.css repeats the colours of the page."""
    source = pathlib.Path(__file__).resolve().parents[2] / 'src/views/export'
    page, picture = ((source / f).read_text() for f in ('page/page.css', 'svg_style.css'))
    values = re.findall(r'(--[a-z-]+): ([^;]+);', picture)
    wrong = [v for v in values if f'{v[0]}: {v[1]};' not in page]
    hues = re.findall(r'calc\(\d+ \+ var\(--v\) \* \d+\)', picture)
    tap.case(len(values) > 20 and not wrong and len(hues) == 3 and all(h in page for h in hues), 'svg: colours of the page', f'{wrong} {hues}')


with tempfile.TemporaryDirectory() as folder:
    same_colors_as_page()
    page_kinds(make_look(folder))
    traces = make_traces(folder)
    for name, trace in traces.items():
        speedscope(name, trace)
        gprof2dot(name, trace)
        if shutil.which('dot'):
            dot(name, trace)
    if not shutil.which('dot'):
        tap.skipped('dot', 'graphviz is not installed')
    several_processes()
    nothing(traces['sample'])
    if CHROMIUM and npm():
        for args in QUESTIONS[1:5]:
            svg('sample', traces['sample'], args, 0, '', 'test_')
        svg('sample', traces['sample'], ['--allocated'], 1, 'test_order', 'calloc|test_malloc')
        if 'shop' in traces:
            svg('shop', traces['shop'], ['--allocated'], 0, 'shelf<double, 3000>::fill()', 'vector')
        svg('threads', traces['threads'], [], 0, 'start_thread', 'site_0[12]')
        svg('made', traces['made'], ['--leaks'], 1, '', '0x10')
        run_ok('record', '-q', '-o', f'{folder}/roles.hlt', '--', programs['roles'])
        narrow = svg_look('modules', make_look(folder), '--full-stacks')
        tap.case(all(k['frames'] > DEEP and len(k['seen']) < 100 for k in narrow or []), 'svg: a branch narrower than a pixel is not drawn')
        if 'shop' in traces:
            svg_look('shop', traces['shop'])
        for group in 'thread', 'tag', 'size':
            svg_by(group, f'{folder}/roles.hlt')
    else:
        tap.skipped('svg', npm.why if CHROMIUM else 'chromium is not installed')
tap.finish()
