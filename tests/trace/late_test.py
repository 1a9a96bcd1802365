#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""late_test - commands that convert a trace that begins late have the numbers of report: exports, replay, slice,
embed, extract, log and import. Blocks of the base are allocated first where a format has single blocks.

	late_test.py HEAPLAPSE GEN_TRACE HEAPLAPSE_REPLAY
"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import case, finish  # noqa: E402

heaplapse, gen_trace, replay = map(os.path.abspath, sys.argv[1:4])


def run(*args, program=heaplapse):
    return subprocess.run([program, *args], capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, LC_ALL='C.UTF-8', HEAPLAPSE_CACHE='off'))


def total(trace, *args):
    answer = json.loads(run('report', '--json', *args, trace).stdout)
    return answer['total_bytes'], answer['total_blocks']


def export(kind, to, *args):
    done = run('export', '-q', '-f', kind, '-o', to, *args, late)
    case(done.returncode == 0, f'export -f {kind} {args}', done.stderr)
    return pathlib.Path(to)


def exports():
    for kind in [line.split()[0] for line in run('export', '--list').stdout.splitlines() if line[:1].isalpha()]:
        out = export(kind, f'{folder}/all.{kind}')
        case(out.stat().st_size > 0, f'{kind} is not empty')
        before = run('export', '-q', '-f', kind, '--at', '1ns', '-o', f'{folder}/no.{kind}', late)
        if before.returncode:
            case(before.returncode == 2 and not os.path.exists(f'{folder}/no.{kind}'),
                 f'{kind} before the base is refused and writes no file', before.stderr)
    for option, value in ('--leaks', leaks), ('--peak', peak):
        text = export('collapsed', f'{folder}/{option}.txt', option).read_text()
        case(sum(int(line.split()[-1]) for line in text.splitlines()) == value[0], f'collapsed {option}')
    points = json.loads(pathlib.Path(f'{folder}/all.dhat').read_text())['pps']
    case(sum(p['eb'] for p in points) == leaks[0] and sum(p['gb'] for p in points) == peak[0] and
         sum(p['tbk'] for p in points) == blocks, 'dhat: end, peak and all blocks')
    with open(f'{folder}/all.csv', newline='') as f:
        rows = list(csv.DictReader(f))
    case(len(rows) == blocks and sum(int(r['bytes']) for r in rows if not r['freed_ns']) == leaks[0],
         'csv: all blocks, and those that are live at the end')
    for args in (['--growth', '0..'], ['--growth', '0..@end'], ['--allocated'], ['--allocated', '--range', '0..'],
                 ['--allocated', '--filter', 'size:>=64'], ['--growth', f'{(begin + end) // 2}ns..'], ['--leaks']):
        expected = total(late, *args)
        with open(export('csv', f'{folder}/some.csv', *args), newline='') as f:
            rows = list(csv.DictReader(f))
        case((sum(int(r['bytes']) for r in rows), len(rows)) == expected, f'csv {args}: as report', f'{len(rows)} {expected}')
        answer = json.loads(export('json', f'{folder}/some.json', *args).read_text())
        case((answer['total_bytes'], answer['total_blocks'], len(answer['allocations'])) == (*expected, expected[1]),
             f'json {args}: as report', f"{answer['total_blocks']} {expected}")
    answer = json.loads(pathlib.Path(f'{folder}/all.json').read_text())
    case(len(answer['allocations']) == blocks and {a['stack'] for a in answer['allocations']} - {None} <=
         {s['stack'] for s in answer['stacks']}, 'json: all blocks and their stacks')
    data = pathlib.Path(f'{folder}/all.parquet').read_bytes()
    case(data[:4] == data[-4:] == b'PAR1', 'parquet: a whole file')


def nothing_matches():
    for args in ((), ('--sites',), ('--timeline',), ('--fragmentation',)):
        done = run('report', '--json', '--filter', 'size:>=1T', *args, late)
        case(done.returncode == 0 and '"error"' not in done.stdout, f'a filter that no block matches {args}', done.stderr + done.stdout[:300])


def overview():
    whole = json.loads(run('info', '--json', late).stdout)['short_lived']
    shown = json.loads(run('report', '--overview', '--json', late).stdout)
    case((shown['short_lived_blocks'], shown['short_lived_of_blocks']) == (whole['blocks'], whole['allocations']) and
         not [v for v in shown['verdicts'] if v['kind'] == 'short_lived'], 'the overview has the short-lived share of the run', shown)


def explained():
    text = run('report', '--explain', '--at', '@end', '--filter', 'size:>=48', late).stdout
    case('reads the list of blocks that are live at ' in text, 'a plan that begins at a live set', text)


def printed_base():
    text = run('info', late).stdout.split('begins at ')[1].split(' of the run')[0]
    done = run('report', '--at', text.replace(' ', ''), late)
    case(done.returncode == 0, f'the printed time of the base, {text}, can be asked for', done.stderr)


def replayed():
    numbers = dict(line.split() for line in run(f'{folder}/all.replay', program=replay).stdout.splitlines())
    case(int(numbers['allocations']) == blocks and int(numbers['allocations']) - int(numbers['frees']) == leaks[1] and
         int(numbers['peak_bytes']) == peak[0] and numbers['failed'] == '0', 'replay', str(numbers))


def imports():
    for kind, option, value in ('heaptrack', '--leaks', leaks), ('heaptrack', '--peak', peak), ('pprof', '--leaks', peak):
        out = f'{folder}/{kind}.hlt'
        done = run('import', '-q', '-f', '-o', out, f'{folder}/all.{kind}')
        case(done.returncode == 0 and total(out, option)[0] == value[0], f'import of {kind}: {option}', done.stderr)
    done = run('import', '-o', f'{folder}/x.hlt', late)
    case(done.returncode != 0 and len(done.stderr.splitlines()) <= 2, 'import of a trace is refused', done.stderr)


def edited():
    out, middle = f'{folder}/slice.hlt', f'{(begin + end) // 2}ns'
    done = run('slice', '-q', '--range', f'{middle}..', '-o', out, late)
    case(done.returncode == 0 and total(out, '--leaks') == leaks, 'slice', done.stderr)
    # a slice also has the allocations of the older blocks that were live when it began
    case(total(out, '--allocated', '--range', f'{middle}..') == total(late, '--allocated', '--range', f'{middle}..'),
         'slice: allocations in its range')
    done = run('slice', '-q', '--range', '0..1ns', '-o', f'{folder}/early.hlt', late)
    case(done.returncode == 2 and not os.path.exists(f'{folder}/early.hlt'), 'slice before the base is refused', done.stderr)
    before = [total(late, *args) for args in (('--leaks',), (), ('--allocated',), ('--allocated', '--filter', 'size:>=64'))]
    done = run('embed', '-q', late)
    after = [total(late, *args) for args in (('--leaks',), (), ('--allocated',), ('--allocated', '--filter', 'size:>=64'))]
    case(done.returncode == 0 and before == after, 'embed changes no number', done.stderr)
    done = run('extract', late)
    case('has no embedded files' in done.stderr, 'extract', done.stderr)
    case(run('info', '--verify', late).returncode == 0, 'the trace is whole after embed')
    log = run('log', '--json', late)
    case(log.returncode == 0 and json.loads(log.stdout)['schema'] == 1, 'log', log.stderr)


for seed in '3', '8':
    with tempfile.TemporaryDirectory() as folder:
        late = f'{folder}/late.hlt'
        subprocess.run([gen_trace, '-n', '30000', '--nodes', '700', '--live', '2500', '--free-stacks', '--seed', seed,
                        '--base', '12000', '-o', late], check=True, stderr=subprocess.DEVNULL)
        info = json.loads(run('info', '--json', late).stdout)
        begin, end = info['base']['time_ns'], info['duration_ns']
        blocks = info['totals']['allocations'] - info['base']['allocations_before'] + info['base']['live_blocks']
        leaks, peak = total(late, '--leaks'), total(late)
        case(leaks[0] == info['totals']['live_bytes_end'] and peak[0] == info['totals']['peak_bytes'], 'report and info')
        for test in exports, nothing_matches, overview, explained, printed_base, replayed, imports, edited:
            test()
finish()
