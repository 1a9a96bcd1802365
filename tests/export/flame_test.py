#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""flame_test - export to pictures: `svg` in chromium, `speedscope` by its schema and sums, `dot` by
Graphviz, `gprof2dot` by the schema of memtrail's files."""
import collections, json, os, pathlib, re, shutil, subprocess, tempfile

from viewers import export, grouped, make_traces, node, npm, npm_folder, programs, report, run_ok, stacks, total
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
    """Each frame is inside a frame of the row below, and no two frames overlap."""
    for f in frames:
        if f['depth'] and not any(p['depth'] == f['depth'] - 1 and p['left'] <= f['left'] + .01 and
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
    run_ok('export', '-f', 'svg', '-o', out, '--cost', ('bytes', 'blocks')[which], *args, trace)
    os.environ['CHROMIUM'] = CHROMIUM
    seen = node('svg.js', out, into, pattern)
    what = f'svg, {name} {args} {which}'
    if 'error' in seen:
        return tap.case(False, what, seen['error'])
    wanted, first = costs(args, trace, which), seen['first']
    whole = sum(wanted.values())
    tap.case(seen['total'] == whole == total(*args, trace)[which] and not seen['errors'] and seen['asked'] == 1, f'{what}: total, nothing else is loaded',
             f'{seen["total"]} {whole} {seen["errors"]}')
    if not whole:
        return None  # nothing grew in this run
    tap.case(all(abs(f['width'] - f['w'] * 1200 / whole) < .01 for f in first) and check_layout(first, whole) == '', f'{what}: widths add up', check_layout(first, whole))
    # The cost of each path, computed from the positions alone.
    inclusive = collections.Counter()
    for path, cost in wanted.items():
        for i in range(1, len(path) + 1):
            inclusive[i, path[i - 1]] += cost
    found = collections.Counter()
    for f in first:
        if f['depth']:
            found[f['depth'], function_name(f['name'])] += f['w']
    wrong = {k: (v, found[k]) for k, v in inclusive.items() if v != found[k] and v - found[k] > whole / 1000}
    tap.case(not wrong and not +(found - inclusive), f'{what}: each name in each row', f'{list(wrong.items())[:4]}')
    if into:
        place = next(f for f in first if f['name'] == into)
        zoomed = seen['zoomed']
        inside = [f for f in zoomed if f['depth'] >= place['depth']]
        tap.case(abs(next(f for f in zoomed if f['name'] == into)['width'] - 1200) < .01 and
                 all(abs(f['width'] - f['w'] * 1200 / place['w']) < .01 for f in inside) and
                 len(inside) == sum(place['x'] <= f['x'] and f['x'] + f['w'] <= place['x'] + place['w'] and f['depth'] >= place['depth'] for f in first) and
                 seen['resettable'] and check_layout(zoomed, whole) == '', f'{what}: zoom', f'{zoomed[:3]}')
        same = all(a['name'] == b['name'] and abs(a['left'] - b['left']) < .01 and abs(a['width'] - b['width']) < .01 for a, b in zip(seen['back'], first))
        tap.case(len(seen['back']) == len(first) and same, f'{what}: and back')
    hits = {f['name'] for f in seen['searched'] if f['hit']}
    tap.case(hits == {f['name'] for f in first if f['depth'] and re.search(pattern, f['name'], re.I)}, f'{what}: search finds', hits)
    right = sum(c for path, c in wanted.items() if any(re.search(pattern, f, re.I) for f in path))
    tap.case(abs(seen['found']['cost'] - right) <= whole / 500 and seen['left'] == 0, f'{what}: how much of it', f'{seen["found"]} {right}')


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
    tap.case(found == {k: (n, round(n * 1200 / whole, 1)) for k, n in wanted.items() if n >= whole // 20000} and seen['errors'] == [] and
             check_layout(seen['first'], whole) == '' and seen['title'].split(', ')[1] == f'by {group}', f'svg by {group}: groups', f'{found} {wanted} {seen["title"]}')
    below = [f for f in seen['zoomed'] if f['depth'] > 0]
    tap.case({f['name'] for f in below if f['depth'] == 1} == {largest} and abs(next(f for f in below if f['depth'] == 1)['width'] - 1200) < .01, f'svg by {group}: one alone')


with tempfile.TemporaryDirectory() as folder:
    traces = make_traces(folder)
    for name, trace in traces.items():
        speedscope(name, trace)
        gprof2dot(name, trace)
        if shutil.which('dot'):
            dot(name, trace)
    if not shutil.which('dot'):
        tap.skipped('dot', 'graphviz is not installed')
    if CHROMIUM and npm():
        for args in QUESTIONS[1:5]:
            svg('sample', traces['sample'], args, 0, '', 'test_')
        svg('sample', traces['sample'], ['--allocated'], 1, 'test_order', 'calloc|test_malloc')
        if 'shop' in traces:
            svg('shop', traces['shop'], ['--allocated'], 0, 'shelf<double, 3000>::fill()', 'vector')
        svg('threads', traces['threads'], [], 0, 'start_thread', 'site_0[12]')
        svg('made', traces['made'], ['--leaks'], 1, '', '0x10')
        run_ok('record', '-q', '-o', f'{folder}/roles.hlt', '--', programs['roles'])
        for group in 'thread', 'tag', 'size':
            svg_by(group, f'{folder}/roles.hlt')
    else:
        tap.skipped('svg', npm.why if CHROMIUM else 'chromium is not installed')
tap.finish()
