#!/usr/bin/python3
"""export --format heaptrack, read by heaptrack_print: peak, leaked, temporary, calls, by stack too; inlined calls, times, RSS."""
import collections, os, pathlib, re, shutil, subprocess, sys, tempfile

from judges import done, make_traces, programs, report, run, stacks, total
import tap

COSTS = ('allocations', 'temporary', 'leaked', 'peak')


def human(n):
    """A number as heaptrack prints it, by steps of 1000 and cut, not rounded."""
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
        # its lines have inlined frames the wrong way round, and name what has no name by its module
        found[tuple(sorted(re.sub(r' \(\S+\)$', '', f) for f in stack.split(';') if f))] += int(n)
    return {k: v for k, v in found.items() if v}, r.stdout


def wanted(which, *args):
    """By stack, as heaptrack shows them: from main on."""
    found = collections.Counter()
    for path, v in stacks(report(*args)).items():
        path = path if path == ('[no stack]',) else path[:-1]
        path = path[path.index('main'):] if 'main' in path else path
        found[tuple(sorted(path))] += v[which]
    return {k: v for k, v in found.items() if v}


def judge(name, trace, suffix, args=()):
    out = f'{folder}/{name}{suffix}'
    done('export', '-f', 'heaptrack', '-o', out, *args, trace)
    asked = {'allocations': (1, '--allocated'), 'temporary': (1, '--temporary'), 'leaked': (0, '--leaks'), 'peak': (0, '--peak')}
    for cost in COSTS:
        if args and cost == 'peak':
            continue  # of what is left the peak is at another time
        found, text = flame(out, cost)
        which, option = asked[cost]
        number = sum(found.values())
        right = total(option, *args, trace)[which]
        # What is temporary heaptrack finds itself, too, of what is left; unless a filter took away what came in between it is the same.
        fits = number == right or (args and cost == 'temporary' and right <= number <= total('--allocated', *args, trace)[1])
        tap.case(fits, f'{name}{suffix} {" ".join(args)}: {cost}', f'{number} {right}')
        if name in ('sample', 'threads') and not args:
            names = wanted(which, option, trace)
            tap.case(found == names, f'{name}: {cost} by stack', f'{found} {names}')
    in_order(f'{name}{suffix} {" ".join(args)}', out)
    if args:
        return
    calls, temporary = re.search(r'calls to allocation functions: (\d+)', text), re.search(r'temporary memory allocations: (\d+)', text)
    tap.case(int(calls[1]) == total('--allocated', trace)[1] and int(temporary[1]) == total('--temporary', trace)[1], f'{name}: calls, as printed', text)
    peak, leaked = (re.search(f'{words}: (.*)', text)[1] for words in ('peak heap memory consumption', 'total memory leaked'))
    tap.case(peak == human(total('--peak', trace)[0]) and leaked == human(total('--leaks', trace)[0]), f'{name}: peak and leaked, as printed',
             f'{text} {total("--peak", trace)}')


def inlined(trace):
    out = f'{folder}/inlined'
    done('export', '-f', 'heaptrack', '-o', out, '--leaks', trace)
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
    done('export', '-f', 'heaptrack', '-o', f'{folder}/rss', f'{folder}/rss.hlt')
    lines = pathlib.Path(f'{folder}/rss').read_text().splitlines()
    tap.case([l for l in lines if l[0] in 'cR+-'] == ['c 2', 'R 2710', 'c 3', '+ 0', 'c 5', 'R 4e20', 'c 9', '- 0', 'c 14'], 'times and RSS in order', lines)
    out = subprocess.run(['heaptrack_print', '-f', f'{folder}/rss'], capture_output=True, text=True).stdout
    tap.case('peak RSS (including heaptrack overhead): 81.92M' in out and 'total runtime: 0.02' in out, 'RSS, as printed', out)


def in_order(name, path):
    """heaptrack_gui counts by the number of the kind in a vector that grows by one for each that is new: a gap is a crash."""
    lines = subprocess.run(['zstdcat', '-f', path], capture_output=True, text=True).stdout.splitlines()
    kinds = list(dict.fromkeys(int(l[2:], 16) for l in lines if l.startswith('+ ')))
    tap.case(kinds == list(range(len(kinds))), f'{name}: kinds are allocated first in the order of their numbers', kinds[:20])


def not_temporary():
    """A block of the same size and stack that is freed behind the allocation of another: heaptrack would take it for temporary."""
    text = b'module /bin/app -\nnode - 0 1000\nthread 1\nalloc 64 0 16 0 0\nalloc 64 0 16 0 0\nfree 64 0 0 11\nfree 64 0 1 11\n' \
           b'alloc 64 0 16 0 0\nfree 64 0 2 11\nend 0 0 640\n'
    subprocess.run([programs['mktrace'], f'{folder}/twins.hlt'], input=text, check=True)
    tap.case(total('--temporary', f'{folder}/twins.hlt')[1] == 1, 'twins: one is temporary')
    judge('twins', f'{folder}/twins.hlt', '')


def first_of_all():
    """The number 0 is «none» to heaptrack: the only block of its kind, freed behind a free, with what comes after that in several ways."""
    after = {'end': '', 'other': 'alloc 9 0 8 2 0\n', 'temporary': 'alloc 9 0 8 2 0\nfree 9 0 2 11\nalloc 9 0 8 2 0\n',
             'again': 'alloc 9 0 16 0 0\nfree 9 0 2 11\n'}
    for name, more in after.items():
        text = 'module /bin/app -\nnode - 0 1000\nnode - 0 2000\nnode - 0 3000\nthread 1\n' \
               f'alloc 1 0 16 0 0\nalloc 2 0 32 1 0\nfree 3 0 1 11\nfree 4 0 0 11\n{more}end 0 0 640\n'
        subprocess.run([programs['mktrace'], f'{folder}/{name}.hlt'], input=text.encode(), check=True)
        judge(f'first-{name}', f'{folder}/{name}.hlt', '')


if not shutil.which('heaptrack_print'):
    print('1..0 # SKIP heaptrack is not installed')
    sys.exit(0)
with tempfile.TemporaryDirectory() as folder:
    os.environ['MALLOC_PERTURB_'] = '1'  # what is not set has bits
    traces = make_traces(folder)
    for (name, trace), suffix in zip(traces.items(), ['', '.gz', '.zst', '', '.zst', '.gz']):
        judge(name, trace, suffix)
        judge(name, trace, suffix, ['--filter', 'size:>=48'])
        if name == 'shop':
            inlined(trace)
    times_and_rss()
    not_temporary()
    first_of_all()
    done('export', '-f', 'heaptrack', '-o', f'{folder}/none', '--filter', 'size:>1T', traces['sample'])
    tap.case(flame(f'{folder}/none', 'allocations')[0] == {}, 'nothing: heaptrack_print reads it')
tap.finish()
