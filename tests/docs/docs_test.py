#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs_test - the commands in the documents work, and everything that the documents name exists.

	docs_test.py TOP HEAPLAPSE LIBRARY

Runs each command of the blocks marked ```sh test and ```console test in README.md and docs/questions.md, in a temporary
directory where build/ has the real programs (tutorial_test compares the output of the latter);
compiles, runs and records the program in the block ```c test. Looks for every file, picture,
function, make target and option that the documents name. Prints one TAP line for each.
"""
import glob
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from docs import CONSOLE, case, command_pages, environment, finish, has, prepare

TOP = pathlib.Path(sys.argv[1]).resolve()
HEAPLAPSE = pathlib.Path(sys.argv[2]).resolve()
LIBRARY = pathlib.Path(sys.argv[3]).resolve()
DOCUMENTS = ('README.md', 'CONTRIBUTING.md', 'docs/ARCHITECTURE.md', 'docs/formats.md', 'docs/numbers.md', 'docs/promises.md',
             'docs/tutorial.md', 'docs/questions.md', 'docs/man/README.md', *command_pages(TOP))
MADE_BY_BENCH = set()
FOLDERS = 'src|docs|tests|tools|scripts|bench|include|examples|packaging|web|\\.ci'
PATH = re.compile(rf'(?<![\w./-])(?:\.\./)?((?:{FOLDERS})/[\w.*/-]*\w)')
LINK = re.compile(r'\]\(([^)#:]+)\)')
PICTURE = re.compile(r'!\[[^\]]*\]\(([^)]+)\)')
PICTURE_MAX = 150 << 10
SPAN = re.compile(r'`([^`\n]+)`')
BARE = re.compile(r'^[\w-]+\.(?:c|h|py|md|build)$')


def text_of(document):
    return (TOP / document).read_text()


def blocks(document, mark):
    return re.findall(rf'^```{mark}\n(.*?)^```$', text_of(document), re.M | re.S)


def commands_of(document):
    """All commands to run, in order."""
    found = []
    for m in re.finditer(r'^```(sh|console) test.*?\n(.*?)^```$', text_of(document), re.M | re.S):
        lines = m[2].splitlines()
        if m[1] == 'sh':
            found += [l for l in lines if l]
        elif has(CONSOLE.match(m[0])):
            found += [l[2:] for l in lines if l.startswith('$ ')]
    return found


def run(command, folder):
    """Returns '' or the error. A message from heaplapse on stderr is an error, too."""
    try:
        done = subprocess.run(['/bin/sh', '-c', command], cwd=folder, env=environment(), timeout=60,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors='replace')
    except subprocess.TimeoutExpired:
        return 'did not end within 60 s'
    if done.returncode or 'heaplapse:' in done.stderr:
        return f'status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}'
    return ''


def wait_for_file(pattern):
    """Waits for a file: a collector that the library started may need a moment after the end of the program."""
    for _ in range(100):
        if glob.glob(pattern):
            return True
        time.sleep(0.05)
    return False


def check_commands():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder, TOP, HEAPLAPSE, LIBRARY)
        for document in 'README.md', 'docs/questions.md':
            commands = commands_of(document)
            case(len(commands) > 5, f'{document} has commands to test')
            for command in commands:
                why = run(command, folder)
                case(not why, f'{document}: ' + command.partition('#')[0].strip(), why)
        case(wait_for_file(f'{name}/heaplapse.app.*.hlt'), 'README: LD_PRELOAD left a trace under the name it has by default')
        for i, program in enumerate(blocks('README.md', 'c test')):
            (folder / f'p{i}.c').write_text(program)
            why = run(f'gcc -Wall -Werror -Iinclude -o p{i} p{i}.c && ./p{i} && '
                      f'build/heaplapse record -o p{i}.hlt ./p{i} && build/heaplapse dump p{i}.hlt', folder)
            case(not why, f'README: the program in C, number {i + 1}', why)


def files_named(document):
    text = text_of(document)
    base = (TOP / document).parent
    names = {m.rstrip('.') for m in PATH.findall(text)}
    names |= {str((base / link).resolve().relative_to(TOP)) for link in LINK.findall(text)}
    return {n for n in names if '*' not in n and 'NAME' not in n and n not in MADE_BY_BENCH}


def bare_names(document):
    return {s for s in SPAN.findall(text_of(document)) if BARE.match(s) and 'NAME' not in s}


def check_files():
    everywhere = {p.name for d in ('src', 'docs', 'tests', 'include', 'tools') for p in (TOP / d).rglob('*')}
    everywhere |= {p.name for p in TOP.iterdir()}
    for document in DOCUMENTS:
        gone = {n for n in files_named(document) if not (TOP / n).exists()}
        gone |= bare_names(document) - everywhere
        case(not gone, f'{document}: every file it names is there', 'not there: ' + ', '.join(sorted(gone)))


def check_pictures():
    """Each picture exists, is small enough to load at once, and is shown in some document."""
    shown = {(page.parent / name).resolve() for page in [TOP / 'README.md', *(TOP / 'docs').rglob('*.md')]
             for name in PICTURE.findall(page.read_text())}
    wrong = [p.name for p in sorted(shown) if not p.is_file() or not 0 < p.stat().st_size < PICTURE_MAX]
    case(shown and not wrong, f'every picture in the documents is there, in less than {PICTURE_MAX // 1024} KiB', f'{wrong}')
    unseen = set((TOP / 'docs/pictures').resolve().iterdir()) - shown
    case(not unseen, 'every picture in docs/pictures is shown', f'{unseen}')


def check_functions():
    code = '\n'.join(p.read_text() for d in ('src', 'include') for p in (TOP / d).rglob('*.[ch]'))
    for document in DOCUMENTS:
        named = {m for s in SPAN.findall(text_of(document)) for m in re.findall(r'^(\w+)\(\)$', s)}
        gone = {n for n in named if not re.search(rf'\b{n}\(', code)}
        case(not gone, f'{document}: every function it names is there', 'not there: ' + ', '.join(sorted(gone)))


def check_targets():
    makefile = text_of('Makefile')
    for document in DOCUMENTS:
        text = text_of(document)
        places = SPAN.findall(text) + [l for b in blocks(document, 'sh') for l in b.splitlines()]
        named = {m for p in places for m in re.findall(r'^make (\w+)', p)}
        gone = {n for n in named if not re.search(rf'^{n}:', makefile, re.M)}
        case(not gone, f'{document}: every make target it names is there', 'not there: ' + ', '.join(sorted(gone)))


def help_of(*command):
    return subprocess.run([HEAPLAPSE, 'help', *command], capture_output=True, text=True).stdout


def commands():
    listed = re.search(r'^commands:\n((?:  .*\n)+)', help_of(), re.M)[1]
    return re.findall(r'^  (\w+)', listed, re.M)


def check_command_pages():
    pages = {pathlib.Path(p).stem for p in command_pages(TOP)}
    case(pages == set(commands()), 'docs/commands has a page for each command', f'pages: {pages}, commands: {commands()}')
    manual = text_of('docs/man/README.md')
    gone = [c for c in commands() if f'(../commands/{c}.md)' not in manual]
    case(not gone, 'docs/man/README.md leads to each of them', f'not to {gone}')


def check_options():
    known = ''.join(help_of(c) for c in commands()) + '--version'
    known += subprocess.run([HEAPLAPSE.parent / 'heaplapse-replay', '--help'], capture_output=True, text=True).stdout
    for document in (d for d in DOCUMENTS if d != 'CONTRIBUTING.md'):
        text = text_of(document)
        places = SPAN.findall(text) + [l for b in blocks(document, '(?:sh|console) test.*?') for l in b.splitlines()]
        named = {m for p in places for m in re.findall(r'(?<![\w-])--[a-z][a-z-]+', p)}
        gone = {n for n in named if not re.search(rf'{n}\b', known)}
        case(not gone, f'{document}: every option it names is there', 'not there: ' + ', '.join(sorted(gone)))


def check_suppressions():
    listed = ' '.join(text_of('docs/json.md').split())
    built_in = re.findall(r'\.what = "([^"]+)"', text_of('src/model/query/suppress.c'))
    gone = [w for w in built_in if w not in listed]
    case(built_in and not gone, 'docs/json.md: all that is suppressed by default is listed', f'not there: {gone}')


check_commands()
check_suppressions()
check_files()
check_pictures()
check_functions()
check_targets()
check_command_pages()
check_options()
finish()
