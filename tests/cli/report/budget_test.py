#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""budget_test - report with --max-time, --max-rows and --max-bytes: what is left out is counted, what does not
fit into the time is refused and named, and JSON stays valid.

	budget_test.py HEAPLAPSE GEN_TRACE
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
import views  # noqa: E402
from tap import case, finish  # noqa: E402

heaplapse, gen_trace = map(os.path.abspath, sys.argv[1:3])
USAGE, INCOMPLETE = 2, 4
LEFT_OUT = re.compile(r'^left out by (--max-\w+): ([\d,]+) rows?( with (.*) in ([\d,]+) blocks?)?$', re.M)


def run(*arguments):
    return subprocess.run([heaplapse, 'report', *arguments], capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, LC_ALL='C.UTF-8', HEAPLAPSE_CACHE='off'))


def values(document):
    return json.loads(document.stdout)


def number(text):
    return int(text.replace(',', ''))


def text_rows(trace):
    whole = run('--bytes', '-g', 'function', '--min', '0', '-n', '0', trace).stdout
    part = run('--bytes', '-g', 'function', '--min', '0', '-n', '0', '--max-rows', '7', trace).stdout
    row = re.compile(r'^ *[\d.]+% +([\d,]+) B +([\d,]+)  ', re.M)
    all_rows, rows, left = row.findall(whole), row.findall(part), LEFT_OUT.search(part)
    rest = all_rows[7:]
    case(len(rows) == 7 and rows == all_rows[:7], '--max-rows: the first rows of a table', part)
    case(left and left[1] == '--max-rows' and number(left[2]) == len(rest) and
         number(left[4].split()[0]) == sum(number(r[0]) for r in rest) and
         number(left[5]) == sum(number(r[1]) for r in rest), '--max-rows: the sum of the others', part[-300:])
    case('left out' not in run('-g', 'function', '--max-rows', '100000000', trace).stdout, '--max-rows above all rows')
    tree = run('--max-rows', '10', '-n', '3', trace).stdout
    lines = [line for line in tree.splitlines() if re.search(r'[├└│]|^ {30,}', line)]
    case(0 < len(lines) <= 10 and LEFT_OUT.search(tree), '--max-rows: lines of a tree', tree)
    row = re.compile(r'[├└│]|^ {30,}', re.M)
    rows = len([line for line in run('--min', '0', '-n', '0', trace).stdout.splitlines() if row.search(line)])
    for most in (1, 2, 3, 20, rows - 1):
        tree = run('--min', '0', '-n', '0', '--max-rows', str(most), trace).stdout
        shown = len([line for line in tree.splitlines() if row.search(line)])
        left = LEFT_OUT.search(tree)
        case(0 < shown <= most and left and number(left[2]) == rows - shown and not left[3],
             f'--max-rows={most}: the number of lines of a tree that are left out', f'{rows} {shown} {tree[-300:]}')
    both = run('-g', 'thread', '--sizes', '--max-rows', '5', trace).stdout
    case(len(re.findall(r'^ *[\d.]+% ', both, re.M)) == 5, '--max-rows counts the rows of all views', both)


def text_bytes(trace):
    for args in ((), ('-g', 'function'), ('--threads',), ('--freed-by',), ('-g', 'function', '--sites', '--sizes')):
        done = run('--min', '0', '-n', '0', '--max-bytes', '5000', *args, trace)
        whole = run('--min', '0', '-n', '0', *args, trace)
        long = len(whole.stdout.encode()) > 5000
        case(done.returncode == 0 and len(done.stdout.encode()) <= 5000 and (not long or LEFT_OUT.search(done.stdout)) and
             done.stdout.endswith('\n'), f'--max-bytes as text {args}', done.stdout[-500:] + done.stderr)


def json_limits(trace):
    for args, rows in (((), 'nodes'), (('-g', 'function'), 'rows'), (('-g', 'size'), 'rows'), (('--sites',), 'rows')):
        whole = values(run('--json', *args, trace))
        case('truncated' not in whole, f'JSON without a budget {args}')
        for by, limit in (('max-rows', '5'), ('max-bytes', '6000'), ('max-bytes', '4K')):
            done = run('--json', *args, '--' + by, limit, trace)
            part = values(done)
            bytes_of = 'self_bytes' if rows == 'nodes' else 'bytes'
            blocks_of = bytes_of.replace('bytes', 'blocks')
            left = part.get('truncated')
            fits = len(part[rows]) <= 5 if by == 'max-rows' else len(done.stdout) <= int(limit.replace('4K', '4096'))
            case(fits and (len(whole[rows]) == len(part[rows]) or left['by'] == by and
                           left['rows_left_out'] == len(whole[rows]) - len(part[rows]) and
                           left['bytes_left_out'] == whole['total_bytes'] - sum(r[bytes_of] for r in part[rows]) and
                           left['blocks_left_out'] == whole['total_blocks'] - sum(r[blocks_of] for r in part[rows])),
                 f'JSON with --{by}={limit} {args}', str(left))
            case(part['total_bytes'] == whole['total_bytes'], f'the total is that of all rows {args}')
            if rows == 'nodes':
                case(all(n['parent'] is None or n['parent'] < i for i, n in enumerate(part[rows])),
                     f'each node has its parent: --{by}={limit}')
    for args in views.options():
        done = run('--json', args, '--max-bytes', '30K', trace)
        case(values(done)['schema'] == 1 and len(done.stdout) <= 30 << 10, f'JSON with --max-bytes {args}', done.stderr)
    done = run('--json', '--max-bytes', '4K', *[trace.replace('gen', f'copy{i}') for i in range(40)])
    case(done.returncode == 3 and values(done)['refused'] == 'max-bytes' and 'allow more' in done.stderr,
         'a document that is too long without its rows', done.stdout[:300] + done.stderr)


def count_rows(answer):
    """The objects in all lists. A plot has no rows, and a snapshot has rows but is none."""
    lists = [value for name, value in answer.items() if isinstance(value, list) and name not in ('columns', 'snapshots')]
    parts = [value for value in answer.values() if isinstance(value, dict)] + answer.get('snapshots', [])
    return sum(isinstance(row, dict) for rows in lists for row in rows) + sum(map(count_rows, parts))


def every_view(trace):
    """A view that writes its rows in another way than by hl_row_begin and hl_row_end has too many."""
    for view in views.options():
        if view in ('--mmaps', '--resident'):  # the generated trace has none
            continue
        whole = count_rows(values(run('--json', view, trace)))
        answer = values(run('--json', view, '--max-rows', '1', trace))
        part, left = count_rows(answer), answer.get('truncated', {}).get('rows_left_out', 0)
        case(part <= 1 and part + left == whole, f'JSON with --max-rows {view}', f'{part} and {left} of {whole} rows')
        text = run('--min', '0', '-n', '0', view, '--max-rows', '1', trace).stdout
        if view != '--timeline':  # its marks are rows in JSON only
            case(bool(LEFT_OUT.search(text)) == (whole > 1), f'--max-rows {view}', text[-500:])


LISTS = 'held', 'left', 'growing', 'churning'


def overview(trace):
    """Rows of --max-rows go to the lists before the marks; a list without rows has no heading, and bytes that are held,
    left and churned are not added up."""
    whole = values(run('--json', '--overview', trace))
    rows = [len(whole[name]['rows']) for name in LISTS]
    case(len(whole['marks']) > 3 and rows[0] > 2 and rows[1] > 2, 'an overview with marks', f"{whole['marks']} {rows}")
    for most in (2, rows[0] + 1, sum(rows), sum(rows) + 2):
        part = values(run('--json', '--overview', '--max-rows', str(most), trace))
        most -= len(part['verdicts'])
        shown = []
        for n in rows:
            shown.append(max(0, min(n, most - sum(shown))))
        case([len(part[name]['rows']) for name in LISTS] == shown and len(part['marks']) == max(0, min(most - sum(rows), len(whole['marks']))),
             f'JSON: {most} rows of the overview', [len(part[name]['rows']) for name in LISTS])
        case(part['truncated']['rows_left_out'] == sum(rows) + len(whole['marks']) - most and 'bytes_left_out' not in part['truncated'],
             'what is left out is counted, and not added', part['truncated'])
    text = run('--overview', '--max-rows', str(1 + len(whole['verdicts'])), trace).stdout
    case('held at the peak' in text and 'not freed  ' not in text and 'live at the end  ' not in text and 'churning by' not in text,
         'text: lists without rows have no heading', text)
    left = LEFT_OUT.search(text)
    case(left and not left[3], 'text: no sum of different bytes', text[-200:])


def time_limit(trace):
    done = run('--filter', 'size:>=64', '--max-time', '1ns', trace)
    case(done.returncode == INCOMPLETE and 'not answered within --max-time=1 ns' in done.stdout and
         'omit the filter' in done.stdout, 'a part that is late is refused', done.stdout + done.stderr)
    done = run('--json', '--threads', '--max-time', '1ns', trace)
    case(done.returncode == INCOMPLETE and values(done)['refused'] == 'max-time' and
         '--threads: not answered' in values(done)['error'] and 'threads' not in values(done),
         'the same as JSON', done.stdout)
    done = run('--threads', '--sites', '--allocated', '--range', '0..50%', '--max-time', '1us', trace)
    case(done.returncode == INCOMPLETE and len(re.findall('not answered within', done.stdout)) == 2 and
         'narrow --range' in done.stdout, 'each part is refused alone', done.stdout)
    for args in (('--leaks',), ('--threads', '--sites')):
        case(run(*args, '--max-time', '1000s', trace).stdout == run(*args, trace).stdout, f'enough time {args}')
    late = run('--json', '--group', 'process', '--max-time', '1ns', trace, trace.replace('gen', 'copy0'))
    case(late.returncode == INCOMPLETE and [p['refused'] for p in values(late)['processes']] == ['max-time'] * 2,
         'several traces', late.stdout)
    late = run('--group', 'process', '--max-time', '1ns', trace, trace.replace('gen', 'copy0'))
    case(f'{trace}: live at' in late.stdout.replace('\n  ', ' ') and 'copy0.hlt: live at' in late.stdout.replace('\n  ', ' '),
         'a row that is late is named', late.stdout)
    late = run('--growth', '0..50%', '--sizes', '--max-time', '1ns', trace)
    case('narrow the range of --growth' in late.stdout.replace('\n  ', ' '), 'the advice fits the option', late.stdout)


# Renderers that read the trace are stopped in the middle of a value at some of these times.
def stopped_in_the_middle(trace):
    refused = 0
    for view in ('--snapshots', '--freed-by'):
        for us in range(1, 40):
            done = run('--json', view, '--max-time', f'{us * 250}us', trace)
            got = values(done)
            case('error' not in got or sorted(got) == ['error', 'refused', 'schema'],
                 f'{view} is whole or refused after {us * 250} us', done.stdout[:300])
            refused += 'refused' in got
    case(refused, 'some times are too short')


def sums_of_several(trace):
    both = [trace, trace.replace('gen', 'copy0')]
    case(values(run('--json', '-g', 'function', *both))['total_bytes'] > 0, 'several traces have a sum')
    late = run('--json', '-g', 'size', '--max-time', '1ns', *both)
    case(late.returncode == INCOMPLETE and 'total_bytes' not in values(late), 'no sum of a part of the processes', late.stdout)
    case('no sum: not all processes are answered within --max-time' in run('-g', 'size', '--max-time', '1ns', *both).stdout,
         'the same as text')
    case('total_bytes' not in values(run('--json', '--explain', *both)), 'a plan has no sum')


def command_line(trace):
    done = run('--explain', '--threads', '--max-time', '2s', '--max-rows', '50', '--max-bytes', '2M', trace)
    case(all(x in done.stdout for x in ('within 2.000 s', 'at most 50 rows', 'up to 2.0 MiB')), '--explain', done.stdout)
    for args in (('--max-time', '0'), ('--max-time', '-1s'), ('--max-time', '1e400'), ('--max-time', '50%'),
                 ('--max-rows', '0'), ('--max-rows', '-1'), ('--max-rows', '99999999999999999999'),
                 ('--max-bytes', '0'), ('--max-bytes', '1T'), ('--max-bytes', '4095'), ('--max-bytes', '1e400'), ('--max-bytes', '99999999999G')):
        done = run(*args, trace)
        allowed = {'--max-time': 'from 1ns', '--max-rows': 'from 1', '--max-bytes': 'from 4K to '}[args[0]]
        case(done.returncode == USAGE and args[0] in done.stderr and allowed in done.stderr, f'{args} is refused', done.stderr)


with tempfile.TemporaryDirectory() as folder:
    gen = f'{folder}/gen.hlt'
    subprocess.run([gen_trace, '-n', '60000', '--nodes', '900', '--live', '5000', '--strange', '--free-stacks', '-o', gen],
                   check=True, stderr=subprocess.DEVNULL)
    for copy in range(40):
        pathlib.Path(f'{folder}/copy{copy}.hlt').write_bytes(pathlib.Path(gen).read_bytes())
    for test in text_rows, text_bytes, json_limits, every_view, overview, time_limit, stopped_in_the_middle, sums_of_several, command_line:
        test(gen)
finish()
