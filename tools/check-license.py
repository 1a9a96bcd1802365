#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check-license - every source has an SPDX line with the license of the project.

	check-license.py TOP

The line is the first one, after #! if there is one. In programs whose line numbers appear in documents or tests it is
the last one.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
import tree_files  # noqa: E402

SPDX = 'SPDX-License-Identifier: Apache-2.0'
SUFFIXES = ('.c', '.h', '.cpp', '.rs', '.js', '.mjs', '.ts', '.tsx', '.css', '.py', '.sh', '.build')


def is_source(path):
    if not path.is_file() or path.is_symlink() or 'corpus' in path.parts:
        return False
    if path.suffix:
        return path.suffix in SUFFIXES
    with path.open('rb') as file:
        return file.read(2) == b'#!'


def has_line(path):
    lines = path.read_text(encoding='utf-8').splitlines()
    return any(SPDX in line for line in lines[:2] + lines[-1:])


def main():
    top = pathlib.Path(sys.argv[1])
    bad = [name for name in tree_files.files(top) if is_source(top / name) and not has_line(top / name)]
    print('\n'.join(f'{name}: no line "{SPDX}"' for name in bad) or 'every source has its license')
    return bool(bad)


sys.exit(main())
