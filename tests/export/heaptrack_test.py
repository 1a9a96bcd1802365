#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""heaptrack_test - export --format heaptrack, read by heaptrack_print: peak, leaked, temporary,
calls, also by stack; inlined calls, times, RSS."""
import collections, os, pathlib, re, shutil, subprocess, sys, tempfile

from viewers import make_traces, programs, report, run, run_ok, stacks, total
import tap

COSTS = ('allocations', 'temporary', 'leaked', 'peak')


def format_size(n):
    """A number as heaptrack prints it: in steps of 1000, truncated, not rounded."""
    for unit in ('B', 'K', 'M', 'G'):
        if n < 1000:
            return (f'{n:.0f}' if unit == 'B' else f'{n:.2f}') + unit
        n /= 1000
    return f'{n:.2f}T'


def flame(path, cost):
    out = f'{folder}/flame'
    r = subprocess.run(['heaptrack_print', '-f', path, '-F', out, '--flamegraph-cost-type', cost, '--disable-builtin-suppressions'],
                       capture_output=True, text=True)
    if r.returncode or 'failed to parse' in r.stderr:
        raise SystemExit(f'{r.returncode} {r.stderr[-1000:]}')
    found = collections.Counter()
    for line in pathlib.Path(out).read_text().splitlines():
        stack, _, n = line.rpartition(' ')
        # Its lines have inlined frames in the wrong order, and name unnamed code by its module.
        found[tuple(sorted(re.sub(r' \(\S+\)$', '', f) for f in stack.split(';') if f))] += int(n)
    return {k: v for k, v in found.items() if v}, r.stdout


def wanted(which, *args):
    """The values by stack, as heaptrack shows them: from main on."""
    found = collections.Counter()
    for path, v in stacks(report(*args)).items():
        path = path if path == ('[no stack]',) else path[:-1]
        path = path[path.index('main'):] if 'main' in path else path
        found[tuple(sorted(path))] += v[which]
    return {k: v for k, v in found.items() if v}


def check_trace(name, trace, suffix, args=()):
    out = f'{folder}/{name}{suffix}'
    run_ok('export', '-f', 'heaptrack', '-o', out, *args, trace)
    asked = {'allocations': (1, '--allocated'), 'temporary': (1, '--temporary'), 'leaked': (0, '--at=@end'), 'peak': (0, '--peak')}
    for cost in COSTS:
        if args and cost == 'peak':
            continue  # the peak of the filtered blocks is at another time
        found, text = flame(out, cost)
        which, option = asked[cost]
        number = sum(found.values())
        right = total(option, *args, trace)[which]
        # heaptrack decides itself which of the filtered blocks are temporary. The result is the
        # same, unless the filter removed the events in between.
        fits = number == right or (args and cost == 'temporary' and right <= number <= total('--allocated', *args, trace)[1])
        tap.case(fits, f'{name}{suffix} {" ".join(args)}: {cost}', f'{number} {right}')
        if name in ('sample', 'threads') and not args:
            names = wanted(which, option, trace)
            tap.case(found == names, f'{name}: {cost} by stack', f'{found} {names}')
    kinds_in_order(f'{name}{suffix} {" ".join(args)}', out)
    if args:
        return
    calls, temporary = re.search(r'calls to allocation functions: (\d+)', text), re.search(r'temporary memory allocations: (\d+)', text)
    tap.case(int(calls[1]) == total('--allocated', trace)[1] and int(temporary[1]) == total('--temporary', trace)[1], f'{name}: calls, as printed', text)
    peak, leaked = (re.search(f'{words}: (.*)', text)[1] for words in ('peak heap memory consumption', 'total memory leaked'))
    tap.case(peak == format_size(total('--peak', trace)[0]) and leaked == format_size(total('--at=@end', trace)[0]), f'{name}: peak and leaked, as printed',
             f'{text} {total("--peak", trace)}')


def inlined(trace):
    out = f'{folder}/inlined'
    run_ok('export', '-f', 'heaptrack', '-o', out, '--leaks', trace)
    text = subprocess.run(['heaptrack_print', '-f', out, '-l'], capture_output=True, text=True).stdout
    fill = re.search(r'shelf<>::put\(double\)\n\s+at \S*shop.cpp:(\d+)\n(?:\s+in .*\n)?\s+shelf<>::fill\(\)\n\s+at \S*shop.cpp:(\d+)', text)
    answer = report('--leaks', trace)['nodes']
    lines = {n['function']: n['line'] for n in answer if 'shelf<double' in n['function']}
    tap.case(fill and lines['shelf<double, 3000>::put(double)'] == int(fill[1]) and lines['shelf<double, 3000>::fill()'] == int(fill[2]),
             'inlined calls, from the inside out', f'{lines}\n{text[:3000]}')


def times_and_rss():
    text = b'thread 1\nrss 2000000 40960000\nalloc 3000000 0 100 - 0\nrss 5000000 81920000\nfree 9000000 0 0 11\nend 0 0 20000000\n'
    r = subprocess.run([programs['mktrace'], f'{folder}/rss.hlt'], input=text)
    tap.case(r.returncode == 0, 'a trace with RSS')
    run_ok('export', '-f', 'heaptrack', '-o', f'{folder}/rss', f'{folder}/rss.hlt')
    lines = pathlib.Path(f'{folder}/rss').read_text().splitlines()
    tap.case([l for l in lines if l[0] in 'cR+-'] == ['c 2', 'R 2710', 'c 3', '+ 0', 'c 5', 'R 4e20', 'c 9', '- 0', 'c 14'], 'times and RSS in order', lines)
    out = subprocess.run(['heaptrack_print', '-f', f'{folder}/rss'], capture_output=True, text=True).stdout
    tap.case('peak RSS (including heaptrack overhead): 81.92M' in out and 'total runtime: 0.02' in out, 'RSS, as printed', out)


def kinds_in_order(name, path):
    """heaptrack_gui indexes a vector by the number of the kind and extends it by one for each new
    kind: a gap makes it crash."""
    lines = subprocess.run(['zstdcat', '-f', path], capture_output=True, text=True).stdout.splitlines()
    kinds = list(dict.fromkeys(int(l[2:], 16) for l in lines if l.startswith('+ ')))
    tap.case(kinds == list(range(len(kinds))), f'{name}: kinds are allocated first in the order of their numbers', kinds[:20])


def not_temporary():
    """A block of the same size and stack that is freed after the allocation of another: heaptrack
    would count it as temporary."""
    text = b'module /bin/app -\nnode - 0 1000\nthread 1\nalloc 64 0 16 0 0\nalloc 64 0 16 0 0\nfree 64 0 0 11\nfree 64 0 1 11\n' \
           b'alloc 64 0 16 0 0\nfree 64 0 2 11\nend 0 0 640\n'
    subprocess.run([programs['mktrace'], f'{folder}/twins.hlt'], input=text, check=True)
    tap.case(total('--temporary', f'{folder}/twins.hlt')[1] == 1, 'twins: one is temporary')
    check_trace('twins', f'{folder}/twins.hlt', '')


def kind_zero():
    """heaptrack uses the number 0 for "none": the only block of its kind, freed after another free,
    with various events after that."""
    after = {'end': '', 'other': 'alloc 9 0 8 2 0\n', 'temporary': 'alloc 9 0 8 2 0\nfree 9 0 2 11\nalloc 9 0 8 2 0\n',
             'again': 'alloc 9 0 16 0 0\nfree 9 0 2 11\n'}
    for name, more in after.items():
        text = 'module /bin/app -\nnode - 0 1000\nnode - 0 2000\nnode - 0 3000\nthread 1\n' \
               f'alloc 1 0 16 0 0\nalloc 2 0 32 1 0\nfree 3 0 1 11\nfree 4 0 0 11\n{more}end 0 0 640\n'
        subprocess.run([programs['mktrace'], f'{folder}/{name}.hlt'], input=text.encode(), check=True)
        check_trace(f'first-{name}', f'{folder}/{name}.hlt', '')


if not shutil.which('heaptrack_print'):
    print('1..0 # SKIP heaptrack is not installed')
    sys.exit(0)
with tempfile.TemporaryDirectory() as folder:
    os.environ['MALLOC_PERTURB_'] = '1'  # uninitialized memory is not zero
    traces = make_traces(folder)
    for (name, trace), suffix in zip(traces.items(), ['', '.gz', '.zst', '', '.zst', '.gz']):
        check_trace(name, trace, suffix)
        check_trace(name, trace, suffix, ['--filter', 'size:>=48'])
        if name == 'shop':
            inlined(trace)
    times_and_rss()
    not_temporary()
    kind_zero()
    run_ok('export', '-f', 'heaptrack', '-o', f'{folder}/none', '--filter', 'size:>1T', traces['sample'])
    tap.case(flame(f'{folder}/none', 'allocations')[0] == {}, 'nothing: heaptrack_print reads it')
tap.finish()
