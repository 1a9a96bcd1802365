#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check-owners - each part of a target is assigned only in the directory that owns it.

	check-owners.py SRC

struct hl_target (collect/match/target_process.h) has a part for each directory that writes to it. This script finds
assignments such as p->exit.gone = true in other directories. An address that is passed on is not found.
"""
import pathlib
import re
import sys

# The directory of each part.
OWNERS = {'drain': 'drain', 'match': 'match', 'retain': 'retain', 'control': 'control', 'exit': 'target'}
FIELD = r'(?:->|\.)(%s)\.\w+(?:\.\w+|\[[^]]*\])*' % '|'.join(OWNERS)
AFTER = re.compile(FIELD + r'\s*(?:=(?!=)|[-+|&^*/]=|<<=|>>=|\+\+|--)')
BEFORE = re.compile(r'(?:\+\+|--)\w+(?:->\w+|\.\w+|\[[^]]*\])*?' + FIELD)


def check_file(src, file):
    rel = file.relative_to(src)
    for number, line in enumerate(file.read_text(errors='replace').splitlines(), 1):
        found = AFTER.search(line) or BEFORE.search(line)
        if found and rel.parts[1] != OWNERS[found[1]]:
            yield f'{rel}:{number}: "{found[0].strip()}": only collect/{OWNERS[found[1]]} writes this part of a target'


def main():
    src = pathlib.Path(sys.argv[1])
    files = sorted((src / 'collect').rglob('*.[ch]'))
    bad = [line for file in files for line in check_file(src, file)]
    print('\n'.join(bad) or f'{len(files)} files, each part of a target is written by its owner')
    return bool(bad)


sys.exit(main())
