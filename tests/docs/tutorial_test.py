#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tutorial_test - the commands in the tutorial and similar documents (DOCUMENTS) print the output
shown there.

	tutorial_test.py TOP HEAPLAPSE LIBRARY [--write]

Each block ```console test has commands after a $ and below each its output, stdout and stderr
together. All commands of a document run in order in one directory where build/ has the real
programs. Times, sizes of files, addresses and the frames of libc, whose names depend on the
installed packages, are not compared. ```console test jq-1.6 is run only where `jq --version` prints
that. --write replaces the output in the documents: review the change.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import docs

TOP, HEAPLAPSE, LIBRARY = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
WRITE = '--write' in sys.argv
DOCUMENTS = ('README.md', 'docs/tutorial.md', 'docs/numbers.md', *docs.command_pages(TOP))
MASKS = (
    (re.compile(r' *\b\d+(\.\d+)? (ns|us|ms|s)\b'), ' TIME'),
    (re.compile(r'^( *short-lived +)\d+\.\d%', re.M), r'\1SHARE'),
    (re.compile(r'(?<=--temporary=)\d+ns'), 'BOUND'),
    (re.compile(r'^  overhead  .*\n', re.M), ''),  # only in runs that are long enough
    (re.compile(r'(?<=--after=)[0-9a-f]+-'), 'CURSOR-'),
    (re.compile(r'^stack \d+', re.M), 'stack N'),
    (re.compile(r'(?<=\.hlt )\(\d+(\.\d+)? [KM]?i?B\)'), '(SIZE)'),
    (re.compile(r'\b\d+(?= MiB resident)'), 'N'),
    (re.compile(r'^  resident .*\n', re.M), ''),  # the same
    # The overview: what depends on times.
    (re.compile(r'; \d+\.\d% live less than about TIME'), ''),
    (re.compile(r'\b\d+\.\d % of '), 'N % of '),
    (re.compile(r'^.{10} [│└].*\n', re.M), ''),
    (re.compile(r'^ TIME +\^ peak.*\n', re.M), ''),
    (re.compile(r'^growing  .*\n(^ +[\d.]+% .*\n)*', re.M), ''),
    (re.compile(r'(?<=[\d%]  )[▁-█ ]{8}  (?=\S)'), ''),
    (re.compile(r'^((?:alloc|free) )\d+(?= t\d)', re.M), r'\1NS'),
    (re.compile(r'(?<=\blife=)\d+'), 'N'),
    (re.compile(r'^\{[0-9a-f]{16}\}', re.M), '{SOURCE}'),
    (re.compile(r'\b(0x[0-9a-f]+|__libc_start\w+)\b'), 'ADDRESS'),
)


def comparable(text):
    for pattern, instead in MASKS:
        text = pattern.sub(instead, text)
    # The line of _start, which has figures, is kept; other frames of libc have no figures and are dropped.
    lines = [l.rstrip() for l in text.splitlines() if 'libc' not in l or '%' in l]
    text = '\n'.join(lines)
    return re.sub(r'\n+names:(\n  .*)*', '', text).strip()


def split(block):
    """[(command, output)]"""
    parts = re.split(r'^\$ (.*)\n', block, flags=re.M)
    return list(zip(parts[1::2], parts[2::2]))


def run(command, folder):
    done = subprocess.run(['/bin/sh', '-c', command], cwd=folder, env=docs.environment(), timeout=60,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          encoding='utf-8', errors='replace')
    return done.returncode, done.stdout


def check(document, match, folder):
    """Checks a block and returns it with the current output."""
    now = ''
    if not docs.has(match):
        return match.group()
    for command, shown in split(match['block']):
        status, printed = run(command, folder)
        docs.case(status == 0, f'{document}: {command} succeeds', printed)
        if not WRITE:
            docs.case(comparable(printed) == comparable(shown), f'{document}: {command} prints what is shown',
                      f'printed:\n{printed}\nshown:\n{shown}')
        now += f'$ {command}\n{printed}'
    return match['mark'] + now + match['end']


for document in DOCUMENTS:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        docs.prepare(folder, TOP, HEAPLAPSE, LIBRARY)
        text = (TOP / document).read_text()
        docs.case(docs.CONSOLE.search(text), f'{document} has commands to test')
        new = docs.CONSOLE.sub(lambda m: check(document, m, folder), text)
    if WRITE:
        (TOP / document).write_text(new)
docs.finish()
