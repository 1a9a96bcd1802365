#!/usr/bin/python3
"""tutorial_test - the commands of the tutorial give what it shows.

	tutorial_test.py TOP HEAPLAPSE LIBRARY [--write]

Each block ```console test has commands after a $ and below each what it prints, on stdout and stderr
together. All of them run in one folder, in their order, where build/ has the real programs. Times,
sizes of files and the frames of libc, whose names depend on the packages that are there, are not
compared. --write puts what the commands print now into the document: read what it changed.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import docs

TOP, HEAPLAPSE, LIBRARY = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
WRITE = '--write' in sys.argv
DOCUMENT = TOP / 'docs/tutorial.md'
BLOCK = re.compile(r'(?<=^```console test\n).*?(?=^```$)', re.M | re.S)
MASKS = (
    (re.compile(r'\b\d+(\.\d+)? (ns|us|ms|s)\b'), 'TIME'),
    (re.compile(r'(?<=\.hlt )\(\d+(\.\d+)? [KM]?i?B\)'), '(SIZE)'),
    (re.compile(r'\b\d+(?= MiB resident)'), 'N'),
)


def comparable(text):
    for pattern, instead in MASKS:
        text = pattern.sub(instead, text)
    # What follows the numbers in the line of _start stays; other frames of libc have none.
    lines = [l.rstrip() for l in text.splitlines() if 'libc' not in l or '%' in l]
    text = '\n'.join(lines)
    return re.sub(r'\n+names:(\n  .*)*', '', text).strip()


def split(block):
    """[(command, what it prints)]"""
    parts = re.split(r'^\$ (.*)\n', block, flags=re.M)
    return list(zip(parts[1::2], parts[2::2]))


def run(command, folder):
    done = subprocess.run(['/bin/sh', '-c', command], cwd=folder, env=docs.environment(), timeout=60,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          encoding='utf-8', errors='replace')
    return done.returncode, done.stdout


def check(block, folder):
    """The block as it would be now."""
    now = ''
    for command, shown in split(block):
        status, printed = run(command, folder)
        docs.case(status == 0, f'tutorial: {command} succeeds', printed)
        if not WRITE:
            docs.case(comparable(printed) == comparable(shown), f'tutorial: {command} prints what is shown',
                      f'printed:\n{printed}\nshown:\n{shown}')
        now += f'$ {command}\n{printed}'
    return now


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    docs.prepare(folder, TOP, HEAPLAPSE, LIBRARY)
    text = DOCUMENT.read_text()
    docs.case(len(BLOCK.findall(text)) >= 4, 'the tutorial has commands to test')
    new = BLOCK.sub(lambda m: check(m.group(), folder), text)
if WRITE:
    DOCUMENT.write_text(new)
docs.finish()
