#!/usr/bin/python3
"""bombs_test - forged traces of at most 1 MiB: each command takes less than 128 MiB of memory and
10 s of a processor, and answers or refuses with words.

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
SECONDS = 10
COMMANDS = [['info'], ['info', '--verify'], ['report'], ['report', '--peak'], ['report', '--leaks'],
            ['report', '--threads'], ['report', '--fragmentation'], ['dump']]
GOOD = (0, 3)  # an answer, or a file that cannot be read


def run(command):
    """(status, bytes at most, seconds of processor, stderr)."""
    with tempfile.TemporaryFile() as err:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        return (child.returncode, usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime,
                err.read().decode(errors='replace'))


def contradiction(heaplapse, path):
    """Sums that no program can have: said with the file's name, what to do, and as JSON that is whole."""
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
            for command in COMMANDS:
                status, memory, seconds, err = run([heaplapse, *command, os.path.join(folder, name)])
                tap.case(status in GOOD and (status == 0 or err) and memory < MEMORY and seconds < SECONDS,
                         f'{name}: {" ".join(command)}: {memory >> 20} MiB, {seconds:.1f} s',
                         f'status {status}: {err[-500:]}')
        contradiction(heaplapse, os.path.join(folder, 'contradiction.hlt'))
    tap.finish()


if __name__ == '__main__':
    main()
