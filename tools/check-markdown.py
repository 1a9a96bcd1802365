#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check-markdown - documents have one sentence per line, at most 110 characters.

	check-markdown.py TOP

A diff then shows the sentence that changed. Tables, code blocks, headings and lines that cannot be divided (a
long link or code span) are exempt.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import tree_files  # noqa: E402

LIMIT = 110
CODE = re.compile(r'`[^`]*`|\[[^\]]*\]\([^)]*\)')
# A sentence ends and another begins; not after "e.g." or a number of a list.
SECOND = re.compile(r'[a-z0-9)`"*]{2}[.!?]["*)]* +(?=[A-Z])')
ABBREVIATION = re.compile(r'\b(e\.g|i\.e|vs|etc|approx)\.$')


def prose(text):
    """(number, line) of paragraphs and lists."""
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith('```'):
            in_code = not in_code
        elif not in_code and not re.match(r'\s*(\||#|<|!\[)', line) and not line.startswith('    '):
            yield number, line


def problems(name, text):
    for number, line in prose(text):
        plain = CODE.sub(lambda m: 'x' * len(m.group()), line)
        if len(line) > LIMIT and ' ' in plain.strip()[:LIMIT].lstrip('-*0123456789. '):
            yield f'{name}:{number}: {len(line)} characters, at most {LIMIT}'
        for match in SECOND.finditer(plain):
            if not ABBREVIATION.search(plain[:match.end()].rstrip()):
                yield f'{name}:{number}: a second sentence: "{line[match.end():match.end() + 30]}"'
                break


def documents(top):
    names = [name for name in tree_files.files(top) if name.endswith('.md')]
    return [name for name in names if (top / name).is_file() and name != 'bench/results.md']  # generated


def main():
    top = pathlib.Path(sys.argv[1])
    bad = [line for name in documents(top) for line in problems(name, (top / name).read_text(encoding='utf-8'))]
    print('\n'.join(bad) or 'one sentence per line')
    return bool(bad)


sys.exit(main())
