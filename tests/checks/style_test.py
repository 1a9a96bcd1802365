#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""style_test - the checks of names, words and layout refuse violations, and only those.

	style_test.py TOP
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(TOP / 'tests'))
from tap import case, finish  # noqa: E402

MODULES = ('base', 'record', 'record/unwind', 'record/arch', 'trace')


def run(tool, files, *args, below=''):
    """(status, output) of a tool in a tree with these files."""
    with tempfile.TemporaryDirectory(prefix='heaplapse-style-') as name:
        tree = pathlib.Path(name)
        (tree / 'tools').mkdir()
        shutil.copy(TOP / 'tools/words.txt', tree / 'tools')
        for path, text in files.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(text)
        done = subprocess.run([sys.executable, TOP / 'tools' / tool, tree / below, *args], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


def names(files):
    return run('check-names.py', files, *MODULES, below='src')


def words(files):
    return run('check-words.py', files)


def markdown(files):
    return run('check-markdown.py', files)


def license_of(files):
    return run('check-license.py', files)


def refused(what, result, sentence):
    status, said = result
    case(status != 0 and sentence in said, 'refused: ' + what, said)


def allowed(what, result):
    status, said = result
    case(status == 0, 'allowed: ' + what, said)


TYPE = 'struct hl_thing {\n\tint x;\n};\n'
FUNCTION = 'int hl_thing_open(int x)\n{\n\treturn x;\n}\n'
SPDX = 'SPDX' + '-License-Identifier: Apache-2.0'
LONG = 'This sentence of a document is longer than the hundred and ten characters that a line of Markdown may have here.\n'

refused('a type of two modules', names({'src/base/a.h': TYPE, 'src/trace/b.h': TYPE}), 'hl_thing is defined in several modules')
refused('a function of two modules', names({'src/base/a.c': FUNCTION, 'src/trace/b.c': FUNCTION}), 'hl_thing_open is defined')
refused('a type of a module and of one below it', names({'src/record/a.h': TYPE, 'src/record/unwind/b.h': TYPE}), 'hl_thing is')
allowed('a type twice in one module', names({'src/base/a.h': TYPE, 'src/base/b.h': TYPE}))
refused('a base name twice', names({'src/base/log.c': '', 'src/trace/log.h': ''}), 'the base name log occurs in several directories')
refused('a base name twice, as a test', names({'src/base/log_test.c': '', 'src/trace/log.c': ''}), 'the base name log')
allowed('a base name once for each CPU', names({'src/record/arch/regs.h': '', 'src/record/arch/x86_64/regs.h': ''}))
refused('a large directory', names({f'src/base/f{i}.c': '' for i in range(37)}), 'has 37 files')
allowed('36 files', names({f'src/base/f{i}.c': '' for i in range(36)}))

refused('a comment', words({'src/base/a.c': '/* Nobody reads this. */\n'}), 'src/base/a.c:1: "Nobody"')
refused('a phrase over two lines', words({'src/base/a.c': '/*\n * Things that are passed\n * over.\n */\n'}), '"passed over"')
refused('a message', words({'src/cli/a.c': 'hl_cli_error("the folder is missing");\n'}), '"folder": directory')
refused('a docstring', words({'tests/a.py': '""' '"Whoever calls it.""' '"\n'}), '"Whoever"')
refused('a document', words({'docs/a.md': 'It stands in the header.\n'}), '"stands"')
refused('a sentence without a noun', words({'docs/a.md': 'What is left over, it is freed. What it waits for, comes.\n'}), 'name the thing')
allowed('a question', words({'docs/a.md': 'What does it cost?\n'}))
allowed('code in a document', words({'docs/a.md': 'Use `folder` here.\n\n```\nwhoever\n```\n'}))
allowed('code', words({'src/base/a.c': 'int told, folder;\n'}))

refused('a long line', markdown({'docs/a.md': LONG}), 'at most 110')
refused('two sentences in a line', markdown({'docs/a.md': 'The first ends. The second begins.\n'}), 'a second sentence')
refused('a source without a license', license_of({'src/base/a.c': '/* a.c - a file. */\n'}), 'src/base/a.c: no line "SPDX')
refused('another license', license_of({'tools/a': '#!/bin/sh\n# SPDX' + '-License-Identifier: MIT\n'}), 'tools/a: no line')
allowed('a file of a build without a license', license_of({'build-test/a.c': 'int x;\n'}))
allowed('a license in the first, second or last line', license_of({'a.c': f'/* {SPDX} */\n', 'b.py': f'#!/usr/bin/python3\n# {SPDX}\n\n\n', 'c.c': f'int x;\nint y;\nint z;\n/* {SPDX} */\n', 'd.md': 'Text.\n'}))
allowed('a table and code', markdown({'docs/a.md': '| ' + LONG.strip() + ' |\n\n```\n' + LONG + '```\n'}))
finish()
