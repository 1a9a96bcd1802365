#!/usr/bin/python3
"""bombs_test - forged traces of at most 1 MiB: each command takes less than 128 MiB of memory and
10 s of a processor, and answers or refuses with words.

	bombs_test.py HEAPLAPSE BOMBS
"""
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
    tap.finish()


if __name__ == '__main__':
    main()
