#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bombs_test - forged traces of at most 1 MiB: each command uses less than 128 MiB of memory and 10
s of CPU time, and succeeds or prints an error message.

	bombs_test.py HEAPLAPSE BOMBS
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import tap  # noqa: E402

MEMORY = 128 << 20
# Views that need a table of all blocks.
BLOCKS = [['report', '--lifetimes'], ['report', '--sites'], ['report', '--fragmentation'], ['report', '--threads', '--filter', 'life:>0s'],
          ['report', '--sites', '--threads', '--filter', 'life:>0s']]
SECONDS = 10
COMMANDS = [['info'], ['info', '--verify'], ['report'], ['report', '--peak'], ['report', '--leaks'],
            ['report', '--threads'], ['report', '--fragmentation'], ['dump']]
GOOD = (0, 3)  # success, or an unreadable file


MARKS = [['report', '--timeline', '--json'], ['report', '--group', 'snapshot'], ['report', '--snapshots', '--json'],
         ['report', '--snapshot-deltas'], ['report', '--snapshots', '--filter', 'size:>0']]
MAPPINGS = [['report', '--resident'], ['report', '--resident', '--leaks', '--json']]


def run(command):
    """(status, peak bytes, seconds of CPU time, stderr)."""
    with tempfile.TemporaryFile() as err:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        return (child.returncode, usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime,
                err.read().decode(errors='replace'))


def live(heaplapse, folder):
    """More live blocks than are kept at once are counted in several passes, exactly; if headers
    have wrong counts, a message says so."""
    def ask(name, *args):
        command = [heaplapse, 'report', '--json', *args, os.path.join(folder, name)]
        return subprocess.run(command, capture_output=True, text=True, check=False)
    for args in ['--lifetimes'], ['--leaks', '--filter', 'life:>0s'], ['--leaks', '--group', 'life']:
        r = ask('many-live.hlt', *args)
        tap.case(r.returncode == 0 and json.loads(r.stdout)['total_blocks'] == 60 * 65536, f'many-live: {args}', r.stdout[:300] + r.stderr)
        r = ask('too-many-live.hlt', *args)
        tap.case(r.returncode == 3 and 'blocks are live at once' in r.stderr and 'error' in json.loads(r.stdout),
                 f'too-many-live: {args}', f'{r.returncode} {r.stderr}')


def pages(heaplapse, folder):
    """Blocks that are measured in several passes: 30 * 65536 of one byte, 32 bytes apart from 32 on."""
    r = subprocess.run([heaplapse, 'report', '--fragmentation', '--json', os.path.join(folder, 'spread-live.hlt')],
                       capture_output=True, text=True, check=False)
    n = 30 * 65536
    f = json.loads(r.stdout or '{}')
    want = {'live_blocks': n, 'live_bytes': n, 'pages': n // 128 + 1, 'regions': 1, 'mapped_bytes_at_least': 32 * n - 31,
            'largest_gap_bytes': 31, 'sparse_pages': n // 128 + 1, 'sparse_bytes': n}
    tap.case({k: f.get(k) for k in want} == want and [h['blocks'] for h in f['holders']] == [n], 'spread-live: the pages', r.stdout + r.stderr)


def refusals(heaplapse, folder):
    """Each limit has its own message."""
    for args, name, words in (['--fragmentation'], 'too-many-live', 'damaged or forged'), (['--snapshot-deltas'], 'marks', 'marks and snapshots'):
        r = subprocess.run([heaplapse, 'report', *args, os.path.join(folder, name + '.hlt')], capture_output=True, text=True, check=False)
        tap.case(r.returncode == 3 and words in r.stderr, f'{name}: {args}', f'{r.returncode} {r.stderr}')


def contradiction(heaplapse, path):
    """Impossible sums: the message has the file's name and a remedy, and the JSON output is complete."""
    r = subprocess.run([heaplapse, 'report', '--leaks', '--json', path], capture_output=True, text=True, check=False)
    tap.case(r.returncode == 3 and path in r.stderr and 'use another copy' in r.stderr, 'contradiction: the sentence',
             f'{r.returncode} {r.stderr}')
    tap.case('contradict' in json.loads(r.stdout).get('error', ''), 'contradiction: JSON ends with an error', r.stdout)
    r = subprocess.run([heaplapse, 'info', '--verify', '--json', path], capture_output=True, text=True, check=False)
    info = json.loads(r.stdout)
    tap.case(not info['complete'] and 'contradict' in (info['damage'] or {}).get('text', ''), 'contradiction: info --verify', r.stdout)


def main():
    heaplapse, bombs = map(os.path.abspath, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([bombs, folder], check=True)
        for name in sorted(os.listdir(folder)):
            blocks = BLOCKS if 'live.hlt' in name else []
            marks = MARKS if name in ('marks.hlt', 'snapshots.hlt', 'snapshots-apart.hlt') else []
            mappings = MAPPINGS if name == 'mappings.hlt' else []
            for command in COMMANDS + blocks + marks + mappings:
                status, memory, seconds, err = run([heaplapse, *command, os.path.join(folder, name)])
                tap.case(status in GOOD and (status == 0 or err) and memory < MEMORY and seconds < SECONDS,
                         f'{name}: {" ".join(command)}: {memory >> 20} MiB, {seconds:.1f} s',
                         f'status {status}: {err[-500:]}')
        live(heaplapse, folder)
        pages(heaplapse, folder)
        refusals(heaplapse, folder)
        contradiction(heaplapse, os.path.join(folder, 'contradiction.hlt'))
    tap.finish()


if __name__ == '__main__':
    main()
