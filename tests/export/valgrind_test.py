#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""valgrind_test - export to Valgrind's tools: `massif` read by ms_print, `dhat` by Valgrind's own
dh_view.js under node."""
import collections, json, pathlib, re, shutil, subprocess, tempfile

from viewers import HERE, export, make_traces, record_sqlite3, report, run_ok, stacks, total
import tap

VIEWER = '/usr/libexec/valgrind/dh_view.js'


def number(text):
    return int(text.replace(',', ''))


def massif(name, trace, args=()):
    out = f'{folder}/{name}.massif'
    run_ok('export', '-f', 'massif', '-o', out, *args, trace)
    r = subprocess.run(['ms_print', '--threshold=0', out], capture_output=True, text=True)
    tap.case(r.returncode == 0, f'massif, {name}: ms_print', r.stderr)
    peak = re.search(r'(\d+) \(peak\)', r.stdout)
    rows = {int(m[1]): number(m[3]) for m in re.finditer(r'^\s*(\d+)\s+([\d,]+)\s+([\d,]+)\s+[\d,]+\s+0\s+0$', r.stdout, re.M)}
    tap.case(peak and rows[int(peak[1])] == total('--peak', *args, trace)[0], f'massif, {name} {args}: the peak', r.stdout[:2000])
    tap.case(rows[max(rows)] == total('--at=@end', *args, trace)[0], f'massif, {name} {args}: the end')
    end = report('--timeline', trace)['duration_ns']
    moments = [v for k, v in sorted(rows.items()) if not peak or k != int(peak[1])]
    wrong = [(i, v) for i, v in list(enumerate(moments))[::12] if v != total('--at', f'{end * i // 72}ns', *args, trace)[0]]
    tap.case(len(moments) == 73 and not wrong, f'massif, {name} {args}: moments', wrong)
    # the tree of the peak, by allocating function, as massif shows it
    tree = r.stdout.split(f'{peak[1]:>3} ', 1)[0] if not peak else r.stdout[re.search(rf'^\s*{peak[1]}\s', r.stdout, re.M).end():]
    tree = tree[:tree.index('--------')]
    found = collections.Counter()
    for m in re.finditer(r'^->\d+\.\d+% \(([\d,]+)B\) 0x[0-9A-F]+: (.*) \((?:in )?.*\)$', tree, re.M):
        found[m[2]] += number(m[1])
    rest = sum(number(m[1]) for m in re.finditer(r'^->\d+\.\d+% \(([\d,]+)B\) in \d+\+? places?', tree, re.M))
    wanted = collections.Counter()
    for path, v in stacks(report('--peak', *args, trace)).items():
        wanted[path[-2] if len(path) > 1 else path[-1]] += v[0]
    tap.case(sum(found.values()) + rest == sum(wanted.values()) and all(v <= wanted[k] for k, v in found.items()) and
             (rest or found == {k: v for k, v in wanted.items() if v}), f'massif, {name} {args}: the tree of the peak', f'{found} {rest} {wanted}\n{tree}')


def dhat(name, trace, args=()):
    out = f'{folder}/{name}.dhat'
    run_ok('export', '-f', 'dhat', '-o', out, *args, trace)
    r = subprocess.run(['node', str(HERE / 'dhat.js'), VIEWER, out], capture_output=True, text=True)
    tap.case(r.returncode == 0, f'dhat, {name}: dh_view.js', r.stderr)
    seen = json.loads(r.stdout)
    root = seen['root']
    wanted = {'tb': '--allocated', 'eb': '--at=@end'} | ({} if args else {'gb': '--peak'})
    for key, option in wanted.items():
        right = total(option, *args, trace)
        # node computes with doubles
        near = abs(root[key] - right[0]) <= (0 if right[0] < 2**53 else 64)
        tap.case(near and root[key + 'k'] == right[1], f'dhat, {name} {args}: {option}', f'{root} {right}')
    for key, option in wanted.items():
        found = collections.Counter()
        for leaf in seen['leaves']:
            path = tuple(re.match(r'0x[0-9a-f]+: (.*) \(.*\)$', f)[1] for f in reversed(leaf['frames'][1:]))
            found[path] += leaf[key]
        right = collections.Counter()
        for path, v in stacks(report(option, *args, trace)).items():
            right[path if path == ('[no stack]',) else path[:-1]] += v[0]
        tap.case(+found == +right, f'dhat, {name} {args}: {option} by stack', f'{sorted(set((+found).items()) ^ set((+right).items()))[:4]}')
    # lifetimes and the maximum of each stack, recomputed from all allocations
    d = json.loads(export('json', *args, trace))
    life, events = collections.Counter(), []
    for a in d['allocations']:
        freed = a['freed_ns'] if a['freed_ns'] is not None else d['end_ns']
        life[a['stack']] += freed - a['allocated_ns']
    raw = json.loads(pathlib.Path(out).read_text())
    tap.case(sorted(p['tl'] for p in raw['pps']) == sorted(v // 1000 for v in life.values()), f'dhat, {name} {args}: lifetimes')
    tap.case(all(p['gb'] <= p['mb'] <= p['tb'] and p['eb'] <= p['mb'] for p in raw['pps']), f'dhat, {name}: maxima')


def maximum_of_stacks(trace):
    """The maximum of each stack, computed from dump."""
    live, most = collections.Counter(), collections.Counter()
    for line in run_ok('dump', trace).decode().splitlines():
        f = line.split()
        if f[0] not in ('alloc', 'free'):
            continue
        node, size = f[7], int(f[5])
        live[node] += size if f[0] == 'alloc' else -size
        most[node] = max(most[node], live[node])
    raw = json.loads(export('dhat', trace))
    tap.case(sorted(p['mb'] for p in raw['pps']) == sorted(most.values()), 'dhat: the maximum of each stack')


with tempfile.TemporaryDirectory() as folder:
    traces = make_traces(folder)
    traces['sqlite3'] = record_sqlite3(folder)
    for name, trace in traces.items():
        for args in (), ('--filter', 'size:>=48'):
            if shutil.which('ms_print'):
                massif(name, trace, args)
            if pathlib.Path(VIEWER).exists() and shutil.which('node'):
                dhat(name, trace, args)
        maximum_of_stacks(trace)
    if not shutil.which('ms_print'):
        tap.skipped('massif', 'ms_print is not installed (valgrind)')
    if not pathlib.Path(VIEWER).exists() or not shutil.which('node'):
        tap.skipped('dhat', 'dh_view.js (valgrind) or node is not installed')
    run_ok('export', '-f', 'massif', '-o', f'{folder}/none', '--filter', 'size:>1T', traces['sample'])
    r = subprocess.run(['ms_print', f'{folder}/none'], capture_output=True, text=True)
    tap.case(r.returncode == 0 and 'Number of snapshots: 74' in r.stdout, 'massif of nothing', r.stderr)
    run_ok('export', '-f', 'dhat', '-o', f'{folder}/none', '--filter', 'size:>1T', traces['sample'])
    r = subprocess.run(['node', str(HERE / 'dhat.js'), VIEWER, f'{folder}/none'], capture_output=True, text=True)
    tap.case(r.returncode == 0 and json.loads(r.stdout)['root']['tb'] == 0, 'dhat of nothing', r.stderr)
    from viewers import run
    r = run('export', '-f', 'massif', '--leaks', traces['sample'])
    tap.case(r.returncode == 2 and b'massif shows the whole run: --leaks does not apply' in r.stderr, 'massif takes no quantity', r.stderr)
tap.finish()
