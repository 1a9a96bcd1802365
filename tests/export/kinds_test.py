#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kinds_test - export of special traces: samples, sums only, tags, thread names, pools. Every
format, compared with report."""
import collections, json, os, pathlib, re, shutil, subprocess, tempfile

from viewers import FORMATS, HERE, PPROF, READ, export, lines_of, massif_peak, node, npm, pprof_raw, programs, report, run, run_ok, stacks, total
import tap

SINGLE = ['json', 'csv', 'parquet', 'heaptrack', 'dhat', 'replay']
KEPT = ['json', 'csv', 'dhat']  # the formats of these that can store sums
SUMS = ['collapsed', 'pprof', 'speedscope', 'svg', 'html', 'dot', 'gprof2dot', 'firefox']
QUESTIONS = (['--peak'], ['--leaks'], ['--allocated'])


def sum_matches(form, name, args, trace):
    """The sum over a file of this format equals the result of the same query in report."""
    found, wanted = READ[form](export(form, *args, trace)), total(*args, trace)
    if form == 'dot':  # boxes that are too small are not drawn
        return tap.case(wanted[0] * 0.9 <= found <= wanted[0] and found > 0, f'{name}: dot {args}', f'{found} {wanted}')
    tap.case(found == (wanted if isinstance(found, tuple) else wanted[0]) and wanted[0] > 0, f'{name}: {form} {args}', f'{found} {wanted}')


def pprof(name, trace, alloc=('--allocated',), inuse=('--peak',), labels=(), args=()):
    """Both costs by stack; and each label compared with report by that group."""
    if not PPROF:
        return tap.skipped(f'{name}: pprof', 'it is not installed (golang-go)')
    out = f'{folder}/x.pb.gz'
    run_ok('export', '-f', 'pprof', '-o', out, *args, trace)
    _, samples, _ = pprof_raw(out, folder)
    for kind, asked in enumerate((alloc, inuse)):
        found = sum(v[2 * kind + 1] for _, v, _ in samples), sum(v[2 * kind] for _, v, _ in samples)
        tap.case(found == total(*asked, *args, trace) and found[0] > 0, f'{name}: pprof {asked}', f'{found} {total(*asked, *args, trace)}')
        by_stack, wanted = collections.Counter(), collections.Counter()
        for path, v, _ in samples:
            by_stack[path] += v[2 * kind + 1]
        for path, v in stacks(report(*asked, *args, trace)).items():
            wanted[tuple('?' if re.match('0x[0-9a-f]+$', f) else f for f in (path if path == ('[no stack]',) else path[:-1]))] += v[0]
        tap.case(+by_stack == +wanted, f'{name}: pprof {asked} by stack')
        for label, group in labels:
            by_label = collections.Counter()
            for _, v, tags in samples:
                by_label[tags.get(label, '[no tag]')] += v[2 * kind + 1]
            wanted = {r['name']: r['bytes'] for r in report(*asked, *args, '-g', group, trace)['rows'] if r['bytes']}
            tap.case(dict(+by_label) == wanted and len(wanted) > 1, f'{name}: pprof {asked} by {label}', f'{by_label} {wanted}')


def refused(form, name, words, *args, status=3):
    out = f'{folder}/refused'
    r = run('export', '-f', form, '-o', out, *args)
    said = r.stderr.decode().splitlines()
    tap.case(r.returncode == status and len(said) <= 3 and words in said[0] and not os.path.exists(out), f'{name}: {form} is refused',
             f'{r.returncode} {r.stderr}')
    r = run('export', '-f', form, *args)
    tap.case(r.returncode == status and r.stdout == b'', f'{name}: {form} is refused, and nothing was written to stdout', f'{r.returncode} {r.stdout[:200]}')


def samples():
    """Each sample counts with its weight."""
    trace = f'{folder}/sampled.hlt'
    run_ok('record', '-q', '-o', trace, '--mode=sample=1K', '--', programs['phases'], 2000)
    known = json.loads(run_ok('info', '--json', trace))['totals']
    d = json.loads(export('json', trace))
    weighted = [a for a in d['allocations'] if (a['blocks'], a['bytes']) != (1, a['size'])]
    tap.case(0 < d['samples'] == len(weighted) < d['total_blocks'] == known['allocations'] and
             sum(a['size'] for a in d['allocations']) < d['total_bytes'] == known['bytes_allocated'], 'samples: there are some', known)
    for form in READ:
        for args in QUESTIONS:
            sum_matches(form, 'samples', args, trace)
    tap.case(known['temporary'] is None, 'samples: which event was the next one nobody knows', known)
    refused('collapsed', 'samples', 'are not known: the recording has samples', '--temporary', trace)
    sum_matches('json', 'samples', ['--allocated', '--filter', 'size:>=64'], trace)
    sum_matches('collapsed', 'samples', ['--allocated', '--filter', 'size:>=64'], trace)
    pprof('samples', trace)
    for args in (), ('--filter', 'size:>=64'):
        d = json.loads(export('dhat', *args, trace))
        for keys, option in (('tb', 'tbk'), '--allocated'), (('eb', 'ebk'), '--leaks'):
            found = tuple(sum(p[k] for p in d['pps']) for k in keys)
            tap.case(found == total(option, *args, trace), f'samples: dhat {option} {args}', f'{found} {total(option, *args, trace)}')
    tap.case(sum(p['gb'] for p in json.loads(export('dhat', trace))['pps']) == total(trace)[0], 'samples: dhat, the peak')
    d = json.loads(export('json', trace))
    life = collections.Counter()
    for a in d['allocations']:
        life[a['stack']] += a['blocks'] * ((a['freed_ns'] if a['freed_ns'] is not None else d['end_ns']) - a['allocated_ns'])
    tap.case(sorted(p['tl'] for p in json.loads(export('dhat', trace))['pps']) == sorted(v // 1000 for v in life.values()), 'samples: dhat, lifetimes')
    tap.case(massif_peak(export('massif', trace)) == total(trace)[0], 'samples: massif, the peak')
    counters = [e['args']['bytes'] for e in json.loads(export('chrome', trace))['traceEvents'] if e['name'] == 'live heap']
    tap.case((max(counters), counters[-1]) == (total(trace)[0], total('--leaks', trace)[0]), 'samples: chrome')
    for group in 'site', 'thread', 'size':
        rows = {r[group]: (r['bytes'], r['blocks'], r['bytes_margin']) for r in lines_of(export('csv', '-g', group, trace))}
        wanted = {r['name']: tuple(str(r.get(k, 0)) for k in ('bytes', 'blocks', 'bytes_margin')) for r in report('-g', group, trace)['rows']}
        tap.case(rows == wanted and any(int(r[2]) for r in rows.values()), f'samples: csv by {group}, with margins', f'{rows} {wanted}')
    for form in 'heaptrack', 'replay':
        refused(form, 'samples', 'cannot represent sampled data', trace)


def dhat_root(path):
    viewer = '/usr/libexec/valgrind/dh_view.js'
    if not pathlib.Path(viewer).exists() or not shutil.which('node'):
        return None
    r = subprocess.run(['node', str(HERE / 'dhat.js'), viewer, path], capture_output=True, text=True)
    return json.loads(r.stdout)['root']


def by_function(rows):
    found = collections.Counter()
    for name, size in rows:
        found[name] += size
    return +found


def kept_json(name, trace):
    """"allocations" are the blocks that have events, "sums" the others."""
    d, info = json.loads(export('json', trace)), json.loads(run_ok('info', '--json', trace))['totals']
    held, left = sum(s['blocks'] for s in d['sums']), total('--leaks', trace)
    tap.case(held == info['withheld_blocks'] and len(d['allocations']) == info['allocations'] - held and
             (d['total_bytes'], d['total_blocks']) == total('--allocated', trace), f'{name}: json, what was kept and the rest', info)
    found = [sum(a[k] for a in d['allocations'] if a['freed_ns'] is None) + sum(s[k] - s['freed_' + k] for s in d['sums']) for k in ('bytes', 'blocks')]
    tap.case(tuple(found) == left, f'{name}: json, what was not freed', f'{found} {left}')
    for args in ['--allocated'], ['--leaks'], ['--allocated', '--filter', 'fn:site_churn']:
        x = json.loads(export('json', *args, trace))
        found = tuple(sum(a[k] for a in x['allocations'] + x.get('sums', [])) for k in ('bytes', 'blocks'))
        tap.case(found == (x['total_bytes'], x['total_blocks']) == total(*args, trace), f'{name}: json {args}, totals', f'{found} {x["total_bytes"]} {x["total_blocks"]}')
        known = {s['stack'] for s in x['stacks']}
        tap.case(all(s['blocks'] > 0 and s['stack'] in known for s in x.get('sums', [])), f'{name}: json {args}, sums have blocks and stacks', x)
    return d


def kept_csv(name, trace):
    for args in [], ['--leaks'], ['--filter', 'fn:site_churn']:
        rows = lines_of(export('csv', *args, trace))
        asked = args if args == ['--leaks'] else ['--allocated', *args]
        wanted = by_function((r['name'], r['bytes']) for r in report(*asked, '-g', 'function', trace)['rows'])
        tap.case(by_function((r['function'], int(r['bytes'])) for r in rows) == wanted and wanted, f'{name}: csv {args} by function', f'{rows[-3:]} {wanted}')
        sums = [r for r in rows if not r['id']]
        tap.case(all(not r['size'] and not r['address'] and int(r['freed_blocks']) <= int(r['blocks']) for r in sums) and
                 (sums or args == ['--leaks']), f'{name}: csv {args}, sums are marked', sums)


def kept_dhat(name, trace, d):
    out = f'{folder}/kept.dhat'
    run_ok('export', '-f', 'dhat', '-o', out, trace)
    dhat = json.loads(pathlib.Path(out).read_text())
    for key, option in ('tb', '--allocated'), ('gb', '--peak'), ('eb', '--leaks'):
        found = sum(p[key] for p in dhat['pps']), sum(p[key + 'k'] for p in dhat['pps'])
        tap.case(found == total(option, trace), f'{name}: dhat {option}', f'{found} {total(option, trace)}')
        root = dhat_root(out)
        if not root:
            tap.skipped(f'{name}: dhat {option} in its viewer', 'dh_view.js (valgrind) or node is not installed')
        else:
            tap.case((root[key], root[key + 'k']) == found, f'{name}: dhat {option} in its viewer', root)
    sums = [p for p in dhat['pps'] if 'in sums only' in dhat['ftbl'][p['fs'][0]]]
    tap.case(sorted(p['tbk'] for p in sums) == sorted(s['blocks'] for s in d['sums']) and all(p['tl'] == 0 for p in sums), f'{name}: dhat, sums are marked')
    left = json.loads(export('dhat', '--leaks', trace))['pps']
    for key in 'tb', 'eb', 'gb':
        tap.case((sum(p[key] for p in left), sum(p[key + 'k'] for p in left)) == total('--leaks', trace), f'{name}: dhat --leaks, {key}')


def kept_and_sums(name, trace):
    for form in 'json', 'csv':
        for args in QUESTIONS[1:] + (['--allocated', '--filter', 'fn:site_churn'], ['--leaks', '--filter', '-fn:site_churn']):
            sum_matches(form, name, args, trace)
    d = kept_json(name, trace)
    kept_csv(name, trace)
    kept_dhat(name, trace, d)
    validate(name, trace)


def sums_only():
    """The formats of sums export what report can answer; the others say why they cannot."""
    for mode in 'count', 'cull':
        trace = f'{folder}/{mode}.hlt'
        run_ok('record', '-q', '-o', trace, f'--mode={mode}', '--lifetime=50ms', '--', programs['phases'], 2000)
        for form in SUMS:
            for args in QUESTIONS if form != 'pprof' else ():
                sum_matches(form, mode, args, trace)
        pprof(mode, trace)
        tap.case(massif_peak(export('massif', trace)) == total(trace)[0], f'{mode}: massif, the peak')
        times = [int(n) for n in re.findall(r'^time=(\d+)', export('massif', trace).decode(), re.M)]
        end = int(re.findall(r'mem_heap_B=(\d+)', export('massif', trace).decode())[-1])
        tap.case(times == sorted(times) and end == total('--leaks', trace)[0], f'{mode}: massif, in order and to the end', f'{times} {end}')
        shown = run('export', '-f', 'massif', trace)
        tap.case(shown.returncode == 0 and shown.stderr == b'', f'{mode}: massif is as good as it can be, without a warning', shown.stderr)
        counters = [e['args']['bytes'] for e in json.loads(export('chrome', trace))['traceEvents'] if e['name'] == 'live heap']
        tap.case(max(counters) == total(trace)[0] and counters[-1] == total('--leaks', trace)[0], f'{mode}: chrome', counters[-3:])
        for form in SINGLE:
            if form not in KEPT:
                refused(form, mode, 'json, csv and dhat contain the recorded blocks', trace)
            refused(form, mode, 'pprof, svg and collapsed contain the sums', '--peak', trace)
            refused(form, mode, 'this needs every event', '--allocated', '--range', '..50%', trace)
            refused(form, mode, 'this needs every event', '--allocated', '--filter', 'size:>10', trace)
        refused('dhat', mode, 'this needs every event', '-g', 'thread', trace)
        page = export('html', '--filter', 'fn:site_churn', trace).decode()
        sites = re.search('<table class="static"><caption>live at the peak.*?</table>', page, re.S)
        tap.case(sites and 'not known: the peak of blocks that match a filter' in sites[0] and '>nothing<' not in sites[0], f'{mode}: html without scripts, sites that are not known', sites)
        for args in ['--temporary'], ['--allocated', '--filter', 'life:<1ms'], ['--leaks', '--filter', 'chain-length:2']:
            if mode == 'count' or '--leaks' not in args:
                refused('json', mode, 'record with --mode=trace to get every event; json, csv and dhat support --allocated', *args, trace)
        kept_and_sums(mode, trace)
        freed = f'{folder}/{mode}-frees.hlt'
        run_ok('record', '-q', '-o', freed, '--free-stacks', f'--mode={mode}', '--lifetime=50ms', '--', programs['phases'], 200)
        kept_json(f'{mode} with --free-stacks', freed)
        refused('collapsed', mode, 'this needs every event', '--temporary', trace)
        refused('pprof', mode, 'this needs every event', '--filter', 'size:>10', trace)
        refused('csv', mode, 'this needs every event', '-g', 'thread', trace)
        # the same message as report
        said = run('report', '--temporary', trace).stderr
        tap.case(run('export', '-f', 'svg', '--temporary', trace).stderr == said.replace(b'heaplapse report', b'heaplapse export'), f'{mode}: in the words of report', said)
    # blocks that are not in sums have events
    for form in 'json', 'csv':
        sum_matches(form, 'cull', ['--leaks'], f'{folder}/cull.hlt')


def roles():
    """By scope and by thread name, compared with the program's own counts."""
    truth = {}
    trace = f'{folder}/tagged.hlt'
    r = run('record', '-q', '-o', trace, '--', programs['tagged'], 'truth', 3, 300)
    for line in r.stdout.decode().splitlines():
        path, blocks, size, *_ = line.split('\t')
        truth[path] = int(size), int(blocks)
    d = json.loads(export('json', trace))
    paths = []
    for t in d['tags']:
        paths.append((paths[t['parent']] + '/' if t['parent'] is not None else '') + t['name'])
    for what, found in ('json', [(paths[a['tag']], a['size']) for a in d['allocations'] if a['tag'] is not None]), \
            ('csv', [(x['tag'], int(x['size'])) for x in lines_of(export('csv', trace)) if x['tag']]):
        sums = collections.defaultdict(lambda: (0, 0))
        for path, size in found:
            sums[path] = sums[path][0] + size, sums[path][1] + 1
        tap.case(dict(sums) == {k: v for k, v in truth.items() if v[1]} and len(sums) > 10, f'tags: {what} by the program\'s own account')
    rows = lines_of(export('csv', '-g', 'tag', '--allocated', trace))
    wanted = [(x['name'], str(x['bytes']), str(x['blocks'])) for x in report('-g', 'tag', '--allocated', trace)['rows']]
    tap.case([(x['tag'], x['bytes'], x['blocks']) for x in rows] == wanted, 'tags: csv -g tag', rows[:3])
    outer = next(p for p in truth if '/' not in p and truth[p][1])
    for form in READ:
        sum_matches(form, 'tags', ['--allocated', '--filter', f'tag:{outer}/*'], trace)
        sum_matches(form, 'threads', ['--allocated', '--filter', 'thread:1'], trace)
    pprof('tags', trace, labels=(('tag', 'tag'), ('thread', 'thread')))
    pprof('tags, filter', trace, args=('--filter', f'tag:{outer}*'), labels=(('tag', 'tag'),))
    validate('tags', trace)


def names():
    trace = f'{folder}/named.hlt'
    run('record', '-q', '-o', trace, '--', programs['named'])
    known = {t['thread']: t['name'] for t in json.loads(export('json', trace))['threads']}
    wanted = {t['thread']: t['name'] for t in report('--threads', trace)['threads']}
    tap.case(known == wanted and len(set(known.values())) > 2, 'names: json', f'{known} {wanted}')
    rows = lines_of(export('csv', trace))
    tap.case(all((x['thread_name'] or None) == known[int(x['thread'])] for x in rows) and len({x['thread_name'] for x in rows}) > 2, 'names: csv', rows[:2])
    name = next(n for n in known.values() if n and re.fullmatch(r'[a-z ]+', n))
    for form in READ:
        sum_matches(form, 'names', ['--allocated', '--filter', f'thread:"{name}"'], trace)
    if PPROF:
        run_ok('export', '-f', 'pprof', '-o', f'{folder}/x.pb.gz', trace)
        _, samples, _ = pprof_raw(f'{folder}/x.pb.gz', folder)
        tap.case(all(s[2].get('thread_name') is None or s[2]['thread_name'] in s[2]['thread'] for s in samples) and
                 {s[2].get('thread_name') for s in samples} - {None} == {n for n in known.values() if n} & {x['thread_name'] for x in rows},
                 'names: pprof', f'{[s[2] for s in samples][:5]} {known}')


def pools():
    """Blocks of the program's own pools, compared with its own counts; the heap's blocks are not among them."""
    trace = f'{folder}/pooled.hlt'
    r = run('record', '-q', '-o', trace, '--', programs['pooled'])
    truth = collections.defaultdict(lambda: [0] * 4)
    for line in r.stdout.decode().splitlines():
        pool, _, *numbers = line.split('\t')
        truth[pool] = [a + int(b) for a, b in zip(truth[pool], numbers)]
    for pool, (blocks, size, left, left_size) in truth.items():
        args = ['--pool', pool]
        d = json.loads(export('json', *args, trace))
        own = [a for a in d['allocations'] if d['pools'][a['pool']]['name'] == pool]
        rest = [a for a in own if a['freed_ns'] is None]
        tap.case((len(own), sum(a['size'] for a in own), len(rest), sum(a['size'] for a in rest)) == (blocks, size, left, left_size) and
                 len(own) == len(d['allocations']) == len({a['id'] for a in own}), f'pool {pool}: json by the program\'s own account', f'{len(own)} {truth[pool]}')
        for form in READ:
            if form in ('firefox', 'html'):
                continue
            for asked in ['--allocated'], ['--leaks'], ['--peak']:
                if total(*asked, *args, trace)[0]:
                    sum_matches(form, f'pool {pool}', [*asked, *args], trace)
        if total('--peak', *args, trace)[0]:
            pprof(f'pool {pool}', trace, args=args)
        pps = json.loads(export('dhat', *args, trace))['pps']
        tap.case([sum(p[k] for p in pps) for k in ('tbk', 'tb', 'ebk', 'eb')] == [blocks, size, left, left_size], f'pool {pool}: dhat', truth[pool])
        lines = export('heaptrack', *args, trace).decode().splitlines()
        tap.case((sum(x[:2] == '+ ' for x in lines), sum(x[:2] == '- ' for x in lines)) == (blocks, blocks - left), f'pool {pool}: heaptrack')
        end = int(re.findall(r'mem_heap_B=(\d+)', export('massif', *args, trace).decode())[-1])
        tap.case(end == left_size, f'pool {pool}: massif, the end', end)
    rows = lines_of(export('csv', '-g', 'pool', '--pool', '*', '--allocated', trace))
    tap.case({x['pool']: int(x['bytes']) for x in rows} == {k: v[1] for k, v in truth.items()}, 'pools: csv -g pool', rows)
    d = json.loads(export('json', '--pool', '*', '--filter', 'tag:a', trace))
    tap.case((d['total_bytes'], d['total_blocks']) == total('--allocated', '--pool', '*', '--filter', 'tag:a', trace) and d['total_blocks'] == 2000,
             'pools: with a filter', d['total_blocks'])
    heap = json.loads(export('json', trace))
    tap.case(all(a['pool'] is None for a in heap['allocations']), 'pools: the heap has none')
    for form in FORMATS:
        words = 'does not apply' if form in ('chrome', 'firefox', 'replay') else 'there is no pool of this name in the recording; it has arena'
        refused(form, 'no such pool', words, '--pool', 'nowhere', trace, status=2)
    refused('csv', 'pools', 'add --pool=', '-g', 'pool', trace, status=2)
    refused('csv', 'pools', 'cannot be combined with --group=snapshot', '--pool', '*', '-g', 'snapshot', trace, status=2)
    validate('pools', trace, '--pool', '*')


def tags_only():
    """A recording that has no allocations because of its mode is reported as such, with a pointer to `tags`."""
    # version 0 wrote such a trace; now there is none
    trace = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'tags-of-0.hlt')
    run('record', '-q', '--mode=tags', '--', programs['tagged'], 'truth', 3, 300, cwd=folder)
    for args in *(['export', '-f', form, '-o', '/dev/null'] for form in FORMATS), ['report'], ['tags']:
        r = run(*args, trace)
        tap.case(b'--mode=tags' in r.stderr and b'heaplapse tags FILE' in r.stderr and b'the program made none' not in r.stderr, f'tags alone: {args[:3]}', r.stderr)
    counted = next(f for f in os.listdir(folder) if f.startswith('heaplapse.tags.'))
    tap.case(b'tagged' in run_ok('tags', f'{folder}/{counted}'), 'tags alone: the file that is named has them')
    page = export('html', trace).decode()
    tap.case('show it with heaplapse tags FILE.</li>' in page and 'the program made none' not in page, 'tags alone: the page')


def snapshots():
    """The group is of requested snapshots; for others a message says where they are."""
    if 'single' not in programs:
        return tap.skipped('snapshots by churn', 'the program for it is not built')
    trace = f'{folder}/churn.hlt'
    run_ok('record', '-q', '--churn=50K', '-o', trace, '--', programs['single'], 5000, 1, 10)
    rows = lines_of(export('csv', '-g', 'snapshot', '--allocated', trace))
    tap.case([x['snapshot'] for x in rows] == ['no snapshot was requested; heaplapse log lists those of the recorder'], 'snapshots by churn', rows)


def validate(name, trace, *args):
    if not npm():
        return tap.skipped(f'{name}: ajv', npm.why)
    run_ok('export', '-f', 'json', '-o', f'{folder}/x.json', *args, trace)
    errors = node('validate.js', HERE.parent.parent / 'docs' / 'export-json.schema.json', f'{folder}/x.json')
    tap.case(errors == {'errors': []}, f'{name}: ajv', errors)


with tempfile.TemporaryDirectory() as folder:
    samples()
    sums_only()
    roles()
    names()
    pools()
    tags_only()
    snapshots()
tap.finish()
