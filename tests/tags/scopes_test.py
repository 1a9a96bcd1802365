#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scopes_test - a program's own counts for each of its scopes equal those of reports, by tag and by
filter.

	scopes_test.py HEAPLAPSE TAGGED NAMED POOLED
"""
import collections
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import case, finish  # noqa: E402

heaplapse, tagged, named, pooled = map(os.path.abspath, sys.argv[1:5])


def record(folder, *arguments, program=tagged):
    """The program's own counts, and its trace."""
    path = f'{folder}/{"-".join(arguments)}.hlt'
    done = subprocess.run([heaplapse, 'record', '-q', '-o', path, program, *arguments], capture_output=True, text=True,
                          timeout=300)
    case(done.returncode in (0, 137, -9), f'{" ".join(arguments)}: recorded', f'{done.returncode} {done.stderr}')
    return done.stdout, path


def truth_of(text):
    """By path: blocks and bytes allocated, and live at the end."""
    truth = {}
    for line in text.splitlines():
        path, *numbers = line.split('\t')
        blocks, size, free_blocks, free_size = map(int, numbers)
        truth[path] = (blocks, size), (blocks - free_blocks, size - free_size)
    return truth


def run_report(trace, *arguments):
    done = subprocess.run([heaplapse, 'report', '--json', '--no-default-suppressions', *arguments, trace],
                          capture_output=True, text=True, timeout=300)
    if done.returncode:
        return {'rows': [], 'total': None, 'error': done.stderr}
    return json.loads(done.stdout)


def rows(answer):
    return {row['name']: (row['blocks'], row['bytes']) for row in answer['rows']}


def compare(name, truth, trace):
    """Compares every path in the table, and the sum of each path by filter."""
    for quantity, option in enumerate(['--allocated', '--leaks']):
        want = {path: pair[quantity] for path, pair in truth.items() if pair[quantity][0]}
        have = rows(run_report(trace, option, '-g', 'tag'))
        have.pop('[no tag]', None)
        case(have == want, f'{name}: {option} by tag',
             '\n'.join(f'{p}: {have.get(p)} instead of {want.get(p)}' for p in sorted({*have, *want})
                       if have.get(p) != want.get(p)) or f'{have} {want}')


def filters(name, truth, trace):
    top = sorted(truth)[0].split('/')[0]
    tests = {f'tag:{top}/*': lambda p: p.startswith(top + '/'), f'-tag:{top}* tag:*': lambda p: p[:1] != top,
             f'tag:/^{top}$/': lambda p: p == top, 'tag:*/a/*,*/b/*': lambda p: '/a/' in p or '/b/' in p}
    for expression, fits in tests.items():
        for quantity, option in enumerate(['--allocated', '--leaks']):
            picked = [pair[quantity] for path, pair in truth.items() if fits(path)]
            want = tuple(map(sum, zip(*picked))) if picked else (0, 0)
            # A tree and a table of stacks take different paths through the model.
            for group in 'stack', 'tag', 'thread':
                answer = run_report(trace, option, '-g', group, '--filter', expression)
                have = tuple(map(sum, zip(*rows(answer).values()))) if answer['rows'] else (0, 0)
                case(have == want, f'{name}: {option} -g {group} --filter {expression}', f'{have} instead of {want}')


with tempfile.TemporaryDirectory() as folder:
    for threads, rounds in ('1', '20000'), ('50', '2000'), ('500', '60'):
        text, trace = record(folder, 'truth', threads, rounds)
        truth = truth_of(text)
        case(len(truth) > 100, f'{threads} threads: many scopes', len(truth))
        compare(f'{threads} threads', truth, trace)
        if threads == '50':
            filters(f'{threads} threads', truth, trace)
            # Blocks outside of all scopes are the rest.
            everything = run_report(trace, '--allocated', '-g', 'thread')
            parts = [run_report(trace, '--allocated', '-g', 'thread', '--filter', f) for f in ('tag:*', '-tag:*')]
            sums = [sum(b for b, _ in rows(a).values()) for a in [everything, *parts]]
            case(sums[0] == sums[1] + sums[2] and sums[1] > 0, 'tagged and not tagged are all there is', sums)
    for what in 'kill', 'handler':
        text, trace = record(folder, what)
        compare(what, truth_of(text), trace)

    text, trace = record(folder, 'names')
    have = rows(run_report(trace, '--allocated', '-g', 'tag'))
    case(have.get('n' * 10000) == (1, 100), 'a name of 10,000 characters', [k[:50] for k in have])
    case(have.get('') == (1, 100), 'an empty name', [k[:50] for k in have])
    deep = [k for k in have if k.startswith('.../') and k.endswith('even/odd')]
    case(len(deep) == 1 and have[deep[0]] == (1, 17), 'scopes 1,000 deep', [k[:50] for k in have])
    case(have.get('after') == (1, 100), 'after pops that nothing was left for', [k[:50] for k in have])

    text, trace = record(folder, 'fork')
    traces = sorted(glob.glob(f'{folder}/fork.hlt') + glob.glob(f'{folder}/fork.hlt.d/*.hlt'))
    case(len(traces) == 2, 'fork: two traces', traces)
    found = collections.Counter()
    for path in traces:
        for name, (blocks, size) in rows(run_report(path, '--allocated', '-g', 'tag')).items():
            found[name] += size
    found.pop('[no tag]', None)
    case(found == {'parent': 100 + 200 + 500, 'parent/child': 300, 'alone': 400}, 'fork: each in its own trace', found)

    text, trace = record(folder, 'exec')
    traces = ['exec.hlt', *map(os.path.basename, glob.glob(f'{folder}/exec.hlt.d/*.hlt'))]
    found = collections.Counter()
    for name in traces:
        found.update(name[:10] for name in rows(run_report(trace, '--process', name, '--allocated', '-g', 'tag')))
    case(found['outer/inne'] == 1 and found['outer/last'] == 1 and found['n' * 10] == 1 and found['after'] == 1,
         'exec: the scopes end with the program', found)
    text, trace = record(folder, 'named', program=named)
    threads = {row['bytes']: row['thread_name'] for row in run_report(trace, '--allocated', '-g', 'thread')['rows']}
    want = {1001: 'by itself', 1002: 'by another', 1003: 'by prctl, which', 2010: 'by another late', 1006: None,
            1004: 'by heaplapse, as long as it likes to be', 1007: 'second'}
    case({size: threads.get(size) for size in want} == want, 'threads have the names that they were given', threads)
    table = {row['allocated_bytes']: row['name'] for row in run_report(trace, '--threads')['threads']}
    case({size: table.get(size) for size in want} == want, 'the same in the table of threads', table)
    for expression, sizes in {'thread:by*': (1001, 1002, 1003, 2010, 1004), 'thread:/^second$/': (1007,),
                              'thread:first': (), 'thread:"by itself",second': (1001, 1007)}.items():
        rows_ = run_report(trace, '--allocated', '-g', 'thread', '--filter', expression)['rows']
        case(sorted(row['bytes'] for row in rows_) == sorted(sizes), f'--filter {expression}', rows_)
    text, trace = record(folder, 'pooled', program=pooled)
    truth = [line.split('\t') for line in text.splitlines()]
    truth = [(pool, tag, *map(int, numbers)) for pool, tag, *numbers in truth]
    case(len(truth) == 4, 'pooled: the program found all functions', text)
    for option, blocks, size in ('--allocated', 2, 3), ('--leaks', 4, 5):
        for group, column in ('pool', 0), ('tag', 1):
            want = collections.defaultdict(lambda: (0, 0))
            for line in truth:
                a, b = want[line[column]]
                want[line[column]] = a + line[blocks], b + line[size]
            have = rows(run_report(trace, option, '--pool', '*', '-g', group))
            case(have == want, f'pools: {option} -g {group}', f'{have} instead of {dict(want)}')
        have = rows(run_report(trace, option, '--pool', 'aren?', '-g', 'call', '--filter', 'tag:b size:32'))
        want = {'pool': truth[1][blocks:size + 1]}
        case(have == want, f'pools: {option} of one, filtered', f'{have} instead of {want}')
    functions = rows(run_report(trace, '--leaks', '--pool', '*', '-g', 'function'))
    case(functions == {'use': (1002, 1400128), 'use_heaptrack': (1, 60)} or 'heaplapse_alloc' in functions,
         'pools: their stacks', functions)
    heap = run_report(trace, '--allocated', '-g', 'call')
    case('pool' not in rows(heap) and rows(heap)['malloc'][0] < 20, 'pools are in no total of the heap', rows(heap))
    for arguments, words in ((('--pool', 'nix'), 'it has arena, slab of pages, heaptrack_report'),
                             (('--pool', 'arena', '--timeline'), 'not to --timeline'),
                             (('-g', 'pool'), "add --pool='*'"), (('--pool', '/(/'), 'regular expression'),
                             (('--pool', ''), 'name of a pool'), (('--filter', 'tag:'), 'expected a name')):
        done = subprocess.run([heaplapse, 'report', *arguments, trace], capture_output=True, text=True)
        case(done.returncode and words in done.stderr and not done.stdout, f'refused: {" ".join(arguments)}', done)

    # The first event in a scope has its own stack, not the previous one.
    text, trace = record(folder, 'stacks')
    for tag, function in ('tag:one', 'first_place'), ('tag:two', 'second_place'):
        have = rows(run_report(trace, '--allocated', '-g', 'function', '--filter', tag))
        case(have == {function: (50, 50 * 10)}, f'{tag} is allocated in {function}', have)
finish()
