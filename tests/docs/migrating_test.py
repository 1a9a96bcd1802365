#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""migrating_test - docs/migrating.md has every name of the other tools, and our names in it and in
docs/levels.md exist.

	migrating_test.py TOP HEAPLAPSE

The names of the other tools are in migrating_names.py: each must be in the first column of its
tool's tables. The second column is "none" or has our names, each in one of the forms of KINDS;
any other form is an error, so that every name is checked. A row marked "not built yet" may name
something that does not exist, and is an error once it exists.
"""
import pathlib
import re
import subprocess
import sys

from docs import case, environment, finish
from migrating_names import THEIRS

TOP = pathlib.Path(sys.argv[1]).resolve()
HEAPLAPSE = pathlib.Path(sys.argv[2]).resolve()
PAGES = ('docs/migrating.md', 'docs/levels.md')
NOT_BUILT = 'not built yet'
SPAN = re.compile(r'`([^`\n]+)`')


def output_of(*words):
    return subprocess.run([HEAPLAPSE, *words], capture_output=True, text=True, env=environment()).stdout


def options_in(text):
    """{option: its help text}"""
    found = {}
    for m in re.finditer(r'^(?:  -\w, |      )(--[a-z][a-z-]*)(.*(?:\n {26,}.*)*)', text, re.M):
        found[m[1]] = m[2]
    return found


def terms():
    """The keys of filters, as the error message for an unknown key lists them."""
    error = subprocess.run([HEAPLAPSE, 'report', '--filter=nonsense:x'], capture_output=True, text=True, env=environment()).stderr
    return set(re.search(r'expected one of ([\w, -]+)', error)[1].split(', '))


class Ours:
    """The commands, options, variables and functions of this build."""

    def __init__(self):
        listed = re.search(r'^commands:\n((?:  .*\n)+)', output_of('help'), re.M)[1]
        self.help = {name: output_of('help', name) for name in re.findall(r'^  (\w+)', listed, re.M)}
        self.options = {name: options_in(text) for name, text in self.help.items()}
        self.environment = set(re.findall(r'^  (HEAPLAPSE_\w+)=', output_of('help', 'environment'), re.M))
        self.terms = terms()
        self.endpoints = set(re.findall(r'`(/api/[^`]*)`', (TOP / 'docs/http-api.md').read_text()))
        self.header = (TOP / 'include/heaplapse.h').read_text()
        self.formats = set(re.findall(r'^(\w+)', output_of('export', '--list'), re.M)) if 'export' in self.help else set()
        self.code = '\n'.join(p.read_text() for p in (TOP / 'src').rglob('*.c') if not p.name.endswith('_test.c'))

    def has_command(self, span):
        """heaplapse COMMAND [--option[=value]]... [word]...; words in capitals and file names are placeholders."""
        command, *words = span.split()[1:]
        if command not in self.help:
            return False
        for word in words:
            if word.startswith('--'):
                known = self.has_option(word, [command])
            elif re.fullmatch(r'[a-z]{3,}(?:=[a-z]+)?', word):
                known = all(re.search(rf'\b{part}\b', self.help[command]) for part in word.split('='))
            else:
                known = True
            if not known:
                return False
        return True

    def has_option(self, span, commands=None):
        name, _, value = span.partition('=')
        said = [o[name] for c, o in self.options.items() if name in o and (not commands or c in commands)]
        if name == '--format' and value:
            return bool(said) and value in self.formats
        first = value.partition('=')[0]
        if re.fullmatch(r'[a-z]+', first):
            return any(re.search(rf'\b{first}\b', text) for text in said)
        return bool(said)

    def has_variable(self, span):
        return span.partition('=')[0] in self.environment

    def has_function(self, span):
        return bool(re.search(rf'\b{span.partition("(")[0]}\(', self.header))

    def has_class(self, span):
        space, _, name = span.partition('::')
        return bool(re.search(rf'namespace {space}\b', self.header) and re.search(rf'\bclass {name}\b', self.header))

    def has_key(self, span):
        return all(re.search(rf'"{key}\\?"', self.code) for key in span.strip('"').split('.'))

    def has_term(self, span):
        return re.match(r'-?([a-z]+(?:-[a-z]+)*):', span)[1] in self.terms

    def has_endpoint(self, span):
        path = re.sub(r'/(table|export)/\w+$', r'/\1/{}', span.partition('?')[0])
        return path in {re.sub(r'/(table|export)/\{\w+\}$', r'/\1/{}', e) for e in self.endpoints}

    def has_library(self, span):
        return (HEAPLAPSE.parent / 'libheaplapse.so').exists()

    def has_header(self, span):
        return (TOP / 'include' / span).exists()


OURS = Ours()
KINDS = (
    (r'heaplapse [a-z]+(?: .*)?', OURS.has_command),
    (r'--[a-z][a-z-]+(?:=\S+)?', OURS.has_option),
    (r'(?:heaplapse|HEAPLAPSE)_\w+\(.*\)', OURS.has_function),
    (r'HEAPLAPSE_\w+(?:=\w+)?', OURS.has_variable),
    (r'heaplapse::\w+', OURS.has_class),
    (r'"[\w.]+"', OURS.has_key),
    (r'-?[a-z]+(?:-[a-z]+)*:\S+', OURS.has_term),
    (r'/api/\S+', OURS.has_endpoint),
    (r'-lheaplapse|LD_PRELOAD=libheaplapse\.so', OURS.has_library),
    (r'heaplapse\.h', OURS.has_header),
)


def name_exists(span):
    """Whether the name exists; None if it has no known form."""
    for pattern, has in KINDS:
        if re.fullmatch(pattern, span):
            return has(span)
    return None


def rows_of(page):
    """(tool, theirs, ours, remark); the tool is the heading above."""
    tool, rows = '', []
    for line in (TOP / page).read_text().splitlines():
        if line.startswith('## '):
            tool = line[3:]
        cells = [c.strip() for c in re.split(r'(?<!\\)\|', line)[1:-1]]
        if line.startswith('|') and len(cells) == 3 and not cells[0].startswith('---') and cells[1] != 'heaplapse':
            rows.append((tool, *cells))
    return rows


def check_theirs(rows):
    for tool, names in THEIRS.items():
        spans = '\n'.join(s for t, theirs, _, _ in rows if t == tool for s in SPAN.findall(theirs))
        gone = [n for n in names if not re.search(rf'(?<![\w-]){re.escape(n)}(?![\w-])', spans)]
        case(names and not gone, f'docs/migrating.md: every name of {tool} has a row', f'without: {gone}')
    unknown = {t for t, *_ in rows} - set(THEIRS)
    case(not unknown, 'docs/migrating.md: every tool has its list of names', f'without: {unknown}')


def check_row(ours, remark):
    """The errors of a row, as a list."""
    spans = SPAN.findall(ours)
    if ours.startswith(NOT_BUILT):
        return [f'{s} is there by now' for s in spans if name_exists(s)]
    if not spans:
        return [] if ours == 'none' else ['neither a name of ours, nor none, nor not built yet']
    wrong = [f'{s} is not there' for s in spans if name_exists(s) is False]
    wrong += [f'{s}: of no known form' for s in spans if name_exists(s) is None]
    return wrong + [f'{s} (remark) is not there' for s in SPAN.findall(remark) if name_exists(s) is False]


def check_ours(rows):
    for tool in THEIRS:
        wrong = [f'{theirs}: {w}' for t, theirs, ours, remark in rows if t == tool for w in check_row(ours, remark)]
        case(not wrong, f'docs/migrating.md: what it calls ours beside {tool} is there', '\n'.join(wrong))


def check_prose(page):
    """Outside of the tables of names: all names that have the form of our names. Commands in code blocks, too."""
    lines = [l for l in (TOP / page).read_text().splitlines() if page != PAGES[0] or not l.startswith('|')]
    text = '\n'.join(lines)
    named = SPAN.findall(text) + re.findall(r'^(heaplapse .*?) *(?:#.*)?$', text, re.M)
    named += re.findall(r'(?<![\w`])HEAPLAPSE_\w+\b(?!\()', text)
    gone = sorted({n for n in named if name_exists(n) is False})
    known = [n for n in named if name_exists(n)]
    case(known and not gone, f'{page}: what it names of ours is there', f'not there: {gone}')


def anchors_of(path):
    """The anchors that a renderer makes from the headings."""
    headings = re.findall(r'^#+ (.*)$', path.read_text(), re.M)
    return {re.sub(r'[^\w -]', '', h.lower()).replace(' ', '-') for h in headings}


def link_exists(page, link):
    name, _, anchor = link.partition('#')
    path = (TOP / page).parent / name if name else TOP / page
    return path.exists() and (not anchor or anchor in anchors_of(path))


def check_links():
    for page in PAGES:
        gone = [l for l in re.findall(r'\]\(([^):]+)\)', (TOP / page).read_text()) if not link_exists(page, l)]
        case(not gone, f'{page}: where it leads is there', f'not there: {gone}')
        case(f']({page})' in (TOP / 'README.md').read_text(), f'README leads to {page}')


def check_self():
    """The check itself finds names that do not exist."""
    wrong = [s for s in ('heaplapse nonsense', 'heaplapse report --nonsense', 'heaplapse record --mode=nonsense', '--nonsense',
                         'HEAPLAPSE_NONSENSE', 'heaplapse_nonsense()', 'heaplapse::nonsense', '"nonsense.bytes"', 'nonsense:x',
                         'heaplapse export --format=nonsense') if name_exists(s) is not False]
    wrong += [s for s in ('heaplapse report --leaks', 'heaplapse record --mode=trace', '--mmap', 'HEAPLAPSE_OUTPUT',
                          'heaplapse_mark("x")', '"peak_bytes"', 'size:1..2') if name_exists(s) is not True]
    case(not wrong, 'this test tells what is there from what is not', f'wrong about {wrong}')


check_self()
check_theirs(rows_of(PAGES[0]))
check_ours(rows_of(PAGES[0]))
for name in PAGES:
    check_prose(name)
check_links()
finish()
