#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check-words - comments, documents and messages use the words of docs/glossary.md.

	check-words.py TOP [FILE...]       FILEs below TOP; all files that git knows if none is named

tools/words.txt has the phrases that are not used. Checked are comments and string literals of C, comments and
docstrings of Python, shell and Meson, and all text of Markdown except code blocks and `code`.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import tree_files  # noqa: E402

STRING = r'"(?:\\.|[^"\\\n])*"'
C_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|' + STRING, re.S)
HASH_TEXT = re.compile(r'"""(?:.*?)"""|(?<![\w$\'"{])#[^\n]*', re.S)
CODE_BLOCK = re.compile(r'^```.*?^```', re.S | re.M)
CODE_SPAN = re.compile(r'`[^`\n]*`')
C_FILES = ('.c', '.h', '.cpp', '.rs', '.js', '.mjs', '.ts', '.tsx', '.css')
HASH_FILES = ('.py', '.build', '.sh')
PROSE_FILES = ('.md', '.scd')


def parse(path):
    """([(expression, advice)], [(file, phrase)])"""
    words, exceptions = [], []
    for line in path.read_text().splitlines():
        if not line or line.startswith('#'):
            continue
        left, _, right = line.partition('\t')
        if left.startswith('! '):
            exceptions.append((re.compile(left[2:]), re.compile(right.strip(), re.I)))
        else:
            words.append((re.compile(left, re.I), right.strip()))
    return words, exceptions


def blank(match):
    """The same number of empty lines."""
    return '\n' * match.group().count('\n')


def pieces(name, text):
    """(line number, text) of each comment, string literal or line of prose. A comment is one piece, without its markers."""
    if name.endswith(PROSE_FILES):
        text = CODE_SPAN.sub('``', CODE_BLOCK.sub(blank, text))
        yield from enumerate(text.splitlines(), 1)
        return
    is_c = name.endswith(C_FILES)
    for match in (C_TEXT if is_c else HASH_TEXT).finditer(text):
        yield text.count('\n', 0, match.start()) + 1, unframe(match.group())


def unframe(text):
    """The joined lines of a comment, without stars and hashes."""
    lines = [re.sub(r'^\s*(/\*+|\*+/|\*|//|#+)?\s?|\s*\*+/\s*$', '', line) for line in text.split('\n')]
    return CODE_SPAN.sub('``', ' '.join(line.strip() for line in lines).strip('" '))


def is_read(name):
    if name.startswith(('tests/fuzz/corpus', 'web/dist/')) or name == 'tools/words.txt':
        return False
    return name.endswith(C_FILES + HASH_FILES + PROSE_FILES) or ('.' not in pathlib.PurePath(name).name and
                                                                name.startswith(('tools/', 'scripts/', 'bench/')))


def hits(top, name, words, exceptions):
    try:
        text = (top / name).read_text(encoding='utf-8')
    except (UnicodeDecodeError, OSError):
        return
    allowed = [phrase for file, phrase in exceptions if file.search(name)]
    for number, piece in pieces(name, text):
        for expression, advice in words:
            for match in expression.finditer(piece):
                if not any(phrase.search(piece[max(0, match.start() - 30):match.end() + 30]) for phrase in allowed):
                    yield f'{name}:{number}: "{match.group().strip()}": {advice}'


def main():
    top = pathlib.Path(sys.argv[1])
    words, exceptions = parse(top / 'tools/words.txt')
    found = [hit for name in sys.argv[2:] or tree_files.files(top) if is_read(name) for hit in hits(top, name, words, exceptions)]
    print('\n'.join(found) or 'no phrase of tools/words.txt')
    return bool(found)


sys.exit(main())
