#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pprof_test - export --format pprof, read by Go's pprof: the values that it prints are those of report."""
import collections, re, subprocess, sys, tempfile

from viewers import PPROF, make_traces, pprof, pprof_raw, record_several, report, run, run_ok, stacks, total
import tap

# Allocated and in-use values are two queries of report.
QUESTIONS = {
    'default': ([], ['--allocated'], ['--peak']), 'leaks': (['--leaks'], ['--allocated'], ['--leaks']),
    'at': (['--at', '40%'], ['--allocated'], ['--at', '40%']),
    'allocated': (['--allocated'], ['--allocated'], ['--at=@end']),
    'range': (['--range', '20%..60%'], ['--range', '20%..60%'], ['--growth', '20%..60%']),
    'growth': (['--growth', '20%..60%'], ['--range', '20%..60%'], ['--growth', '20%..60%']),
    'temporary': (['--temporary'], ['--temporary'], None),
    'filter': (['--filter', 'size:>=64'], ['--allocated', '--filter', 'size:>=64'], ['--peak', '--filter', 'size:>=64']),
    'function': (['-i', 'main'], ['--allocated', '-i', 'main'], ['--peak', '-i', 'main']),
}


def sums(samples, kind, key):
    found = collections.Counter()
    for path, values, tags in samples:
        n = values[2 * kind], values[2 * kind + 1]
        if n[0]:
            k = key(path, tags)
            found[k, 0] += n[1]
            found[k, 1] += n[0]
    return dict(found)


def wanted_stacks(args, trace):
    found = collections.Counter()
    for path, v in stacks(report(*args, trace)).items():
        path = path if path == ('[no stack]',) else path[:-1]
        path = tuple('?' if re.match('0x[0-9a-f]+$', f) else f for f in path)
        found[path, 0] += v[0]
        found[path, 1] += v[1]
    return dict(found)


def check_profile(name, trace):
    out = f'{folder}/{name}.pb.gz'
    for what, (asked, alloc, inuse) in QUESTIONS.items():
        run_ok('export', '-f', 'pprof', '-o', out, *asked, trace)
        types, samples, mappings = pprof_raw(out, folder)
        main = '[dflt]'
        tap.case([t.replace(main, '') for t in types] == ['alloc_objects/count', 'alloc_space/bytes', 'inuse_objects/count', 'inuse_space/bytes'],
                 f'{name}, {what}: types', types)
        tap.case(('inuse_space/bytes[dflt]' in types) == (what not in ('allocated', 'range', 'temporary')), f'{name}, {what}: the default type', types)
        for kind, args in enumerate((alloc, inuse)):
            found = [sum(v[2 * kind + 1] for _, v, _ in samples), sum(v[2 * kind] for _, v, _ in samples)]
            wanted = list(total(*args, trace)) if args else [0, 0]
            tap.case(found == wanted, f'{name}, {what}: sum {kind}', f'{found} {wanted}')
            if not args:
                continue
            found, wanted = sums(samples, kind, lambda path, tags: path), wanted_stacks(args, trace)
            tap.case(found == wanted, f'{name}, {what}: stacks {kind}', str(sorted(set(found.items()) ^ set(wanted.items()), key=str)[:6]))
            found = sums(samples, kind, lambda path, tags: tags.get('thread', ''))
            wanted = {}
            for row in report(*args, '--group', 'thread', trace)['rows']:
                if row['blocks']:
                    wanted[row['name'], 0], wanted[row['name'], 1] = row['bytes'], row['blocks']
            tap.case(found == wanted, f'{name}, {what}: threads {kind}', f'{found} {wanted}')
    return mappings


def top(trace):
    """The -top view shows the share of each function."""
    run_ok('export', '-f', 'pprof', '--leaks', '-o', f'{folder}/top.pb.gz', trace)
    text = pprof(folder, '-top', '-sample_index=inuse_space', '-unit=B', f'{folder}/top.pb.gz')
    wanted = total('--leaks', trace)[0]
    tap.case(f'of {wanted}B total' in text, '-top: the total', f'{wanted}\n{text}')
    flat = {m[2]: int(m[1]) for m in re.finditer(r'^\s*(\d+)B?\s+\S+%\s+\S+%\s+\d+B?\s+\S+%\s+(.*?)$', text, re.M)}
    by_name = collections.Counter()
    for path, v in stacks(report('--leaks', trace)).items():
        by_name[path[-2] if len(path) > 1 else path[-1]] += v[0]
    tap.case({k.replace(' (inline)', ''): v for k, v in flat.items() if v} == {k: v for k, v in by_name.items() if v}, '-top: each function',
             f'{flat} {by_name}')


def several_processes():
    """The process is the outermost frame and a label; what is below it is the profile of the process alone."""
    trace, rows = record_several(folder)
    def read(*args):
        run_ok('export', '-q', '-f', 'pprof', '-o', f'{folder}/several.pb.gz', *args)
        return pprof_raw(f'{folder}/several.pb.gz', folder)[1:]
    samples, mappings = read('--all', trace)
    tap.case({path[0] for path, _, _ in samples} == {tags.get('process') for _, _, tags in samples} == {r['label'] for r in rows}, '--all: processes')
    for r in rows:
        alone, modules = read(r['trace'])
        together = [(path[1:], values, {k: v for k, v in tags.items() if k != 'process'}) for path, values, tags in samples if path[0] == r['label']]
        tap.case(together == [tuple(s) for s in alone] and alone, f'--all: {r["label"]} is as alone', f'{together[:2]} {alone[:2]}')
        tap.case({l.split()[2] for l in modules.splitlines() if '/' in l} <= {l.split()[2] for l in mappings.splitlines() if '/' in l}, f'--all: its modules', mappings)
    ids = [l.split(':')[0].strip() for l in mappings.splitlines() if '/' in l]
    tap.case(len(set(ids)) == len(ids) > len(rows), '--all: each module of each process has its number', ids)
    wanted = total('--all', trace)[0]
    run_ok('export', '-q', '-f', 'pprof', '--all', '-o', f'{folder}/several.pb.gz', trace)
    tap.case(f'of {wanted}B total' in pprof(folder, '-top', '-sample_index=inuse_space', '-unit=B', f'{folder}/several.pb.gz'), '--all: the sum', wanted)


def build_ids(trace, mappings, program):
    ids = dict(re.findall(r'^\s*\d+: .* (\S+) ([0-9a-f]{40})', '\n'.join(l for l in mappings.splitlines()), re.M))
    notes = subprocess.run(['readelf', '-n', program], capture_output=True, text=True).stdout
    wanted = re.search(r'Build ID: ([0-9a-f]+)', notes)
    first = next((l for l in mappings.splitlines() if l.strip().startswith('1:')), '')
    tap.case(program in first, 'the program is the first mapping', mappings)
    tap.case(not wanted or wanted[1] in first, 'its build-id', mappings)


if not PPROF:
    print('1..0 # SKIP pprof is not installed (golang-go)')
    sys.exit(0)
with tempfile.TemporaryDirectory() as folder:
    traces = make_traces(folder)
    for name, trace in traces.items():
        mappings = check_profile(name, trace)
        if name == 'shop':
            from viewers import programs
            build_ids(trace, mappings, programs['shop'])
    top(traces['sample'])
    several_processes()
    r = run('export', '-f', 'pprof', '--filter', 'size:>1T', '-o', f'{folder}/none.pb.gz', traces['sample'])
    types, samples, _ = pprof_raw(f'{folder}/none.pb.gz', folder)
    tap.case(samples == [] and len(types) == 4, 'nothing: a valid file', types)
    subprocess.run(['gzip', '-t', f'{folder}/none.pb.gz'], check=True)
tap.finish()
