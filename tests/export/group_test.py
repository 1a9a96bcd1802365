#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""group_test - export --group: the outermost frame of every stack is its group, and each viewer
shows the values of `report --group` for it."""
import collections, json, os, pathlib, re, shutil, subprocess, tempfile

from viewers import FORMATS, HERE, PPROF, export, grouped, pprof, pprof_raw, programs, report, run, run_ok, stacks, total
import tap

GROUPS = 'function site file module thread call size life snapshot tag'.split()
EVENTS = [g for g in GROUPS if g not in ('call', 'life')]  # groups that each single event determines
QUESTIONS = (['--peak'], ['--leaks'], ['--allocated'], ['--growth', '20%..70%'], ['--range', '..60%'], ['--allocated', '--filter', 'size:>=48'],
             ['--leaks', '-i', 'run_phase'])
TREES = ['collapsed', 'pprof', 'massif', 'dhat', 'speedscope', 'svg', 'html', 'dot', 'gprof2dot', 'firefox']


def stacks_match(found, args, trace):
    """The stacks below all groups together equal the stacks of an export without groups."""
    without = collections.Counter()
    for path, n in found.items():
        without[path[1:]] += n
    wanted = {tuple(k): v[0] for k, v in stacks(report(*args, trace)).items() if v[0]}
    return without == wanted


def by_outermost_frame(found):
    sums = collections.Counter()
    for path, n in found.items():
        sums[path[0]] += n
    return +sums


def collapsed(text):
    found = collections.Counter()
    for line in text.decode().splitlines():
        path, _, cost = line.rpartition(' ')
        found[tuple(path.split(';'))] += int(cost)
    return found


def speedscope(text):
    d, found = json.loads(text), collections.Counter()
    for sample, weight in zip(d['profiles'][0]['samples'], d['profiles'][0]['weights']):
        found[tuple(d['shared']['frames'][i]['name'] for i in sample)] += weight
    return found


def gprof2dot(text):
    d, found = json.loads(text), collections.Counter()
    for e in d['events']:
        found[tuple(d['functions'][i]['name'] for i in reversed(e['callchain']))] += e['cost'][0]
    return found


def firefox(text):
    """Reads the profile's tables directly; timeline_test reads one with profiler-cli."""
    thread, found = json.loads(text)['threads'][0], collections.Counter()
    names = [thread['stringArray'][i] for i in thread['funcTable']['name']]
    paths = []
    for prefix, frame in zip(thread['stackTable']['prefix'], thread['stackTable']['frame']):
        paths.append((paths[prefix] if prefix is not None else ()) + (names[frame],))
    for stack, weight in zip(thread['nativeAllocations']['stack'], thread['nativeAllocations']['weight']):
        found[paths[stack]] += weight
    return found


def by_tree(trace):
    for form, read in {'collapsed': collapsed, 'speedscope': speedscope, 'gprof2dot': gprof2dot, 'firefox': firefox}.items():
        for group in GROUPS:
            for args in QUESTIONS if form == 'collapsed' else QUESTIONS[:1]:
                found, wanted = read(export(form, *args, '-g', group, trace)), grouped(group, args, trace)
                # groups of zero bytes have no width
                wanted = {k: v[0] for k, v in wanted.items() if v[0]}
                tap.case(by_outermost_frame(found) == wanted and stacks_match(found, args, trace) and wanted, f'{form} {args} by {group}', f'{by_outermost_frame(found)} {wanted}')
    for group in GROUPS:
        found = by_outermost_frame(collapsed(export('collapsed', '--allocated', '--cost', 'blocks', '-g', group, trace)))
        tap.case(found == {k: v[1] for k, v in grouped(group, ['--allocated'], trace).items()}, f'collapsed, blocks by {group}', found)


def by_dot(trace):
    for group in 'thread', 'tag', 'size':
        out = f'{folder}/x.dot'
        run_ok('export', '-f', 'dot', '--allocated', '-g', group, '-o', out, trace)
        r = subprocess.run(['dot', '-Tjson', out], capture_output=True, text=True)
        drawn = json.loads(r.stdout)
        called = {e['head'] for e in drawn['edges']}
        found = {o['label'].split('\\n')[0]: int(o['total']) for o in drawn['objects'] if o['_gvid'] not in called}
        least = total('--allocated', trace)[0] / 200
        wanted = {k: v[0] for k, v in grouped(group, ['--allocated'], trace).items() if v[0] >= least}
        tap.case(r.returncode == 0 and found == wanted and len(wanted) > 1, f'dot by {group}: nobody calls a group', f'{found} {wanted}')


def by_pprof(trace):
    out = f'{folder}/x.pb.gz'
    for group in GROUPS:
        run_ok('export', '-f', 'pprof', '--leaks', '-g', group, '-o', out, trace)
        _, samples, _ = pprof_raw(out, folder)
        for kind, args in enumerate((['--allocated'], ['--leaks'])):
            found = collections.defaultdict(lambda: (0, 0))
            for path, v, _ in samples:
                if v[2 * kind]:
                    found[path[0]] = found[path[0]][0] + v[2 * kind + 1], found[path[0]][1] + v[2 * kind]
            tap.case(found == grouped(group, args, trace), f'pprof {args} by {group}', f'{dict(found)} {grouped(group, args, trace)}')
        labels = {k: {t.get(k) for _, _, t in samples} for k in ('thread', group)}
        tap.case(len(labels['thread']) > 1 and (group == 'tag' or None not in labels[group]), f'pprof by {group}: labels', labels)
    run_ok('export', '-f', 'pprof', '--leaks', '-g', 'thread', '-o', out, trace)
    text = pprof(folder, '-top', '-cum', '-sample_index=inuse_space', '-unit=B', out)
    cum = {m[2]: int(m[1]) for m in re.finditer(r'^\s*\d+B?\s+\S+%\s+\S+%\s+(\d+)B?\s+\S+%\s+(thread .*?)$', text, re.M)}
    tap.case(cum == {k: v[0] for k, v in grouped('thread', ['--leaks'], trace).items()} and cum, 'pprof -top: threads', text)


def by_massif(trace):
    for group in GROUPS:
        run_ok('export', '-f', 'massif', '-g', group, '-o', f'{folder}/x.massif', trace)
        r = subprocess.run(['ms_print', '--threshold=0', f'{folder}/x.massif'], capture_output=True, text=True)
        peak = re.search(r'(\d+) \(peak\)', r.stdout)
        tree = r.stdout[re.search(rf'^\s*{peak[1]}\s', r.stdout, re.M).end():]
        tree = tree[:tree.index('--------')]
        found = {m[2]: int(m[1].replace(',', '')) for m in re.finditer(r'^->\d+\.\d+% \(([\d,]+)B\) 0x[0-9A-F]+: (.*) \(in .*\)$', tree, re.M)}
        wanted = {k: v[0] for k, v in grouped(group, ['--peak'], trace).items() if v[0] >= total('--peak', trace)[0] / 100}
        tap.case(found == wanted and wanted, f'massif by {group}', f'{found} {wanted}\n{tree[:2000]}')


def by_dhat(trace):
    viewer = '/usr/libexec/valgrind/dh_view.js'
    if not pathlib.Path(viewer).exists() or not shutil.which('node'):
        return tap.skipped('dhat', 'dh_view.js (valgrind) or node is not installed')
    for group in EVENTS:
        run_ok('export', '-f', 'dhat', '-g', group, '-o', f'{folder}/x.dhat', trace)
        r = subprocess.run(['node', str(HERE / 'dhat.js'), viewer, f'{folder}/x.dhat'], capture_output=True, text=True)
        for key, option in ('tb', '--allocated'), ('gb', '--peak'), ('eb', '--at=@end'):
            found = collections.Counter()
            for leaf in json.loads(r.stdout)['leaves']:
                found[re.match(r'0x0: (.*) \(in \?\?\?\)$', leaf['frames'][1])[1]] += leaf[key]
            wanted = {k: v[0] for k, v in grouped(group, [option], trace).items() if v[0]}
            tap.case(+found == wanted and wanted, f'dhat {option} by {group}', f'{found} {wanted}')


def pools(trace):
    for form, read in {'collapsed': collapsed, 'gprof2dot': gprof2dot}.items():
        args = ['--allocated', '--pool', '*']
        found, wanted = by_outermost_frame(read(export(form, *args, '-g', 'pool', trace))), grouped('pool', args, trace)
        tap.case(found == {k: v[0] for k, v in wanted.items()} and len(found) == 2, f'{form}: pools', f'{found} {wanted}')
    r = run('export', '-f', 'svg', '-g', 'pool', trace)
    tap.case(r.returncode == 2 and b"add --pool='*'" in r.stderr, 'by pool: which pools?', r.stderr)


def refused(trace):
    """A refusal is one message that lists the formats that can."""
    for form in FORMATS:
        for group in ['stack', *GROUPS]:
            can = form == 'csv' or (form in TREES and group != 'stack' and (form != 'dhat' or group in EVENTS))
            if can:
                continue
            r = run('export', '-f', form, '-o', f'{folder}/refused', '-g', group, trace)
            said = r.stderr.decode().splitlines()
            able = set(re.search(r'formats that can: (.*)$', said[0])[1].split(', '))
            right = {'csv'} | (set() if group == 'stack' else set(TREES) - (set() if group in EVENTS else {'dhat'}))
            tap.case(r.returncode == 2 and f'{form} cannot be grouped by {group};' in said[0] and able == right and len(said) == 2 and
                     not os.path.exists(f'{folder}/refused'), f'{form} by {group} is refused', r.stderr)


def sums_alone():
    """A recording without events has no threads or tags, but it has functions."""
    trace = f'{folder}/count.hlt'
    run_ok('record', '-q', '--mode=count', '-o', trace, '--', programs['roles'])
    for form in 'collapsed', 'pprof', 'html', 'massif':
        r = run('export', '-f', form, '-o', f'{folder}/refused', '-g', 'thread', trace)
        tap.case(r.returncode == 3 and b'this needs every event' in r.stderr and not os.path.exists(f'{folder}/refused'),
                 f'sums alone: {form} by thread is refused', r.stderr)
        r = run('export', '-f', form, '-o', f'{folder}/count', '-g', 'function', trace)
        tap.case(r.returncode == 0, f'sums alone: {form} by function', r.stderr)
    found = by_outermost_frame(collapsed(export('collapsed', '-g', 'function', trace)))
    tap.case(found == {k: v[0] for k, v in grouped('function', [], trace).items()} and len(found) > 1, 'sums alone: functions', found)


def samples():
    trace = f'{folder}/sampled.hlt'
    run_ok('record', '-q', '--mode=sample=1K', '-o', trace, '--', programs['roles'])
    for group in GROUPS:
        found = by_outermost_frame(collapsed(export('collapsed', '--allocated', '-g', group, trace)))
        wanted = {k: v[0] for k, v in grouped(group, ['--allocated'], trace).items() if v[0]}
        tap.case(found == wanted and wanted, f'samples by {group}', f'{found} {wanted}')


def deep():
    """Stacks that differ only at their inner ends, in many groups: the file is not larger than the tree."""
    trace = f'{folder}/deep.hlt'
    subprocess.run([programs['gen'], '-n', '20000', '--nodes', '3000', '-o', trace], check=True)
    for group in 'thread', 'site', 'size':
        found = by_outermost_frame(collapsed(export('collapsed', '--allocated', '-g', group, trace)))
        wanted = collections.Counter()
        for k, v in grouped(group, ['--allocated'], trace).items():
            wanted[k.replace(';', ':')] += v[0]
        tap.case(found == +wanted, f'a made-up run by {group}')


with tempfile.TemporaryDirectory() as folder:
    trace = f'{folder}/roles.hlt'
    run_ok('record', '-q', '-o', trace, '--', programs['roles'])
    by_tree(trace)
    for check_format, program in (by_dot, shutil.which('dot')), (by_pprof, PPROF), (by_massif, shutil.which('ms_print')):
        if program:
            check_format(trace)
        else:
            tap.skipped(check_format.__name__, 'its reader is not installed')
    by_dhat(trace)
    pools(trace)
    refused(trace)
    sums_alone()
    samples()
    deep()
    none = export('collapsed', '--filter', 'size:>1T', '-g', 'thread', trace)
    tap.case(none == b'', 'of nothing: nothing', none)
tap.finish()
