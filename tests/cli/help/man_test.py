#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""man_test - every manual page has no formatting errors and lists every option.

	man_test.py HEAPLAPSE PAGE...
"""
import pathlib
import re
import shutil
import subprocess
import sys
import rows
from rows import case

heaplapse, *pages = sys.argv[1:]
mandoc = shutil.which('mandoc')
if not mandoc and not shutil.which('man'):
    rows.skip('neither mandoc nor man is installed')


def page_text(page):
    """The page as plain text: no bold, no underlining, no hyphenation."""
    command = [mandoc, '-Tutf8', '-O', 'width=1000', page] if mandoc else ['man', '-l', page]
    done = subprocess.run(command, capture_output=True, text=True, errors='replace',
                          env=rows.environment(MANWIDTH='1000', MANPAGER='cat'))
    case(done.returncode == 0, f'{pathlib.Path(page).name} is rendered', done.stderr)
    return re.sub('.\b', '', done.stdout)


def check(page):
    name = pathlib.Path(page).stem
    if mandoc:
        done = subprocess.run([mandoc, '-Tlint', '-W', 'error', page], capture_output=True, text=True)
        case(done.returncode == 0, f'{name}: mandoc finds no error', done.stdout)
    text = page_text(page)
    for section in 'NAME', 'SYNOPSIS', 'DESCRIPTION', 'EXIT STATUS', 'SEE ALSO':
        case(re.search(rf'^{section}$', text, re.M), f'{name} has {section}')
    if name == 'heaplapse':
        for command in rows.commands(heaplapse):
            case(f'heaplapse-{command}(1)' in text, f'{name} names {command}')
        return
    for short, long in rows.options(heaplapse, name.removeprefix('heaplapse-')):
        option = f'--{long}' if long else f'-{short}'
        case(re.search(rf'^ +(-\w, )?{option}(?![\w-])', text, re.M), f'{name} has {option}')
    if name == 'heaplapse-report':
        symbols = text.partition('\nSYMBOLS\n')[2].partition('\nOPTIONS\n')[0]
        case(re.search(r'^ +deb http://deb.debian.org/debian-debug \w+-debug main$', symbols, re.M) and
             'DEBUGINFOD_URLS' in symbols, f'{name} says where debug packages are', text)
    if name == 'heaplapse-record':
        case('HEAPLAPSE_MAX_WAIT=SECONDS' in text, f'{name} has the names in the environment')


expected = {'heaplapse.1'} | {f'heaplapse-{c}.1' for c in rows.commands(heaplapse)}
case({pathlib.Path(p).name for p in pages} == expected, 'there is a page for each command', f'{sorted(expected)}')
for page in pages:
    check(page)
rows.finish()
