#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""rotate_test - the files of a rotated recording together are the recording that was not rotated.

rotate-trace writes the same run twice with the collector: in one file, and in several. The events of the files, one
after the other, are those of the whole, and each later file answers random queries about its part of the run like it.

	rotate_test.py HEAPLAPSE ROTATE_TRACE DUMP_TRACE DIRECTORY_OF_DECODE.PY QUERIES
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from late_traces import Pair, Tool, compare_queries, lines  # noqa: E402
from tap import case, finish  # noqa: E402

heaplapse, rotate_trace, dump_trace, docs = map(os.path.abspath, sys.argv[1:5])
n_queries = int(sys.argv[5])
STEPS = 40000
tool = Tool(heaplapse)


def info(trace):
    done = tool.run('info', '--verify', '--json', trace)
    case(done.returncode == 0, f'{os.path.basename(trace)} is whole', done.stderr)
    return json.loads(done.stdout)


def split(trace, facts):
    """The blocks of the base, its side events, and the rest of the trace's lines."""
    all_lines = lines(dump_trace, trace)
    blocks = facts['base']['live_blocks'] if facts['base'] else 0
    at = blocks
    while at < len(all_lines) and facts['base'] and all_lines[at].startswith('extra') and \
            int(all_lines[at].split()[1]) <= facts['base']['time_ns']:
        at += 1
    return all_lines[:blocks], all_lines[blocks:at], all_lines[at:]


class LastFile(Pair):
    """The whole trace and the last file of the rotated one."""

    def __init__(self, folder, files, facts):
        super().__init__(rng)
        self.whole, self.late = f'{folder}/whole/trace.hlt', files[-1]
        self.events = [line for line in lines(dump_trace, self.whole) if not line.startswith('extra')]
        self.n, self.begin = facts['base']['events_before'], facts['base']['time_ns']
        self.end = int(self.events[-1].split()[1])

    def term(self):
        return self.rng.choice([super().term(), 'thread:worker', '-thread:main', 'call:realloc', 'call:new',
                                'call:aligned_alloc', 'tag:"scope 1"', '-tag:*', 'tag:"scope 1/scope 3"'])


def check_run(folder, seed, *at):
    for name in ('whole', 'rotated'):
        os.mkdir(f'{folder}/{name}')
    subprocess.run([rotate_trace, str(seed), str(STEPS), f'{folder}/whole', f'{folder}/rotated', *map(str, at)], check=True)
    files = [f'{folder}/rotated/trace.hlt'] + [f'{folder}/rotated/trace.{i}.hlt' for i in range(2, len(at) + 2)]
    facts, whole = [info(file) for file in files], info(f'{folder}/whole/trace.hlt')
    parts = [split(*each) for each in zip(files, facts)]
    everything = lines(dump_trace, f'{folder}/whole/trace.hlt')
    case([line for part in parts for line in part[2]] == everything, f'seed {seed}: the files together are the whole')
    case([f['end']['kind'] for f in facts] == ['continued'] * len(at) + ['exit'], 'each file says how it ends')
    case(facts[-1]['totals'] == whole['totals'] and facts[-1]['complete'], 'the last one has the totals of the run',
         f"{facts[-1]['totals']}\n{whole['totals']}")
    for before, after in zip(facts, facts[1:]):
        same = {k: v for k, v in before['totals'].items() if k not in ('bytes', 'file_bytes')}
        case(after['base']['live_blocks'] == before['totals']['live_blocks_end'] and same['peak_bytes'] <=
             after['totals']['peak_bytes'], 'a base has the blocks at the end of the file before', f'{before} {after}')
    theirs = subprocess.run(['/usr/bin/python3', f'{docs}/decode.py', files[-1]], capture_output=True, text=True)
    case(theirs.returncode == 0 and theirs.stdout.splitlines() == lines(dump_trace, files[-1]),
         'decode.py prints the same', theirs.stderr)
    pair = LastFile(folder, files, facts[-1])
    check_extras(pair)
    check_sum(files, pair.whole)
    compare_queries(tool, pair, n_queries, f'seed {seed}')


def check_extras(pair):
    """Names, pools and their blocks, and mappings from before the base are as in the whole trace."""
    moment = ['--at', f'{pair.begin + 1}ns']
    for args in (['--leaks', '--pool', '*', '--group', 'pool'], [*moment, '--pool', 'pool'], [*moment, '--group', 'tag'],
                 [*moment, '--group', 'thread'], [*moment, '--group', 'call'], ['--leaks', '--top-down'], ['--peak']):
        whole, late = tool.ask(pair.whole, args), tool.ask(pair.late, args)
        case(whole == late and whole[0] == 0, f'{" ".join(args)}: as in the whole', f'{whole}\n{late}')
    sites = [{row['name']: row['live_bytes_over_time']
              for row in json.loads(tool.run('report', '--json', '--leaks', '--sites', trace).stdout)['rows']}
             for trace in (pair.whole, pair.late)]
    end = info(pair.whole)['duration_ns']
    known = [24 * pair.begin <= k * end for k in range(1, 25)]
    case(sites[0].keys() == sites[1].keys() and
         all(late == [value if is_known else None for value, is_known in zip(sites[0][name], known)] for name, late in sites[1].items()),
         '--sites: live bytes over time are unknown before the base, and then those of the whole', f'{sites}')
    left = []
    for trace in (pair.whole, pair.late):
        done = tool.run('report', '--json', '--mmaps', '--limit', '1000', trace)
        answer = json.loads(done.stdout)
        left.append(sorted((m['address'], m['size'], m['mapped_ns'], m['protection'], len(m['stack']), m['thread'])
                           for m in answer['mmaps'] if m['unmapped_ns'] is None))
    case(left[0] == left[1] and left[0], 'mappings at the end: as in the whole', f'{left}')


def check_sum(files, whole):
    """All files of the process together are the process: once in the sum, or not at all."""
    for args in (['--leaks'], [], ['--peak', '--group', 'function'], ['--allocated'], ['--allocated', '--group', 'process'],
                 ['--leaks', '--sizes'], ['--peak', '--filter', 'size:>=64'], ['--allocated', '--filter', 'thread:1']):
        code, alone = tool.ask(whole, args)
        done = tool.run('report', '--json', *args, *files)
        answer = json.loads(done.stdout)
        case(code == 0 and done.returncode == 0 and answer['processes_read'] == 1 and answer['files_read'] == len(files) and
             (answer['total_bytes'], answer['total_blocks']) == (alone['total_bytes'], alone['total_blocks']),
             f'{" ".join(args)} of all files: as of the whole', f"{done.stderr}\n{answer.get('total_bytes')} {alone['total_bytes']}")
    for args in ['--growth', '0..'], ['--temporary'], ['--threads'], ['--allocated', '--filter', 'life:>1us'], ['--allocated', '--range', '0..']:
        answer = json.loads(tool.run('report', '--json', *args, *files).stdout)
        case('total_bytes' not in answer, f'{" ".join(args)} of all files has no total', str(answer.get('total_bytes')))
    text = tool.run('report', '--leaks', '--group', 'process', *files, whole).stdout
    case(f'all 2 processes in {len(files) + 1} files, each as in its newest file: ' in text and text.count('(pid ') == 2,
         'a row for each process', text)


rng = random.Random(20261119)
for number, positions in ((1, (9000, 20000, 30000)), (2, (20000,)), (3, (100, 101, 39000)), (4, tuple(range(1000, 39000, 1000)))):
    with tempfile.TemporaryDirectory() as place:
        check_run(place, number, *positions)
finish()
