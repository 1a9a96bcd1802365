#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""promises_test - docs/promises.md has a line for each row, and each test that it names exists and
is run by scripts/test.

	promises_test.py TOP BUILD

Tests named fuzz-NAME are targets of a separate build, which scripts/test makes too.
"""
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import case, finish  # noqa: E402

TOP, BUILD = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])
ROWS = {'A': 14, 'B': 13, 'C': 13, 'D': 21, 'E': 12, 'G': 10, 'H': 18}
LINE = re.compile(r'^\| ([A-H]\d+) \| ([^|]+) \| ([^|]+) \|$', re.M)
NAME = re.compile(r'`([^`]+)`')


def all_tests():
    """{name: suites}"""
    out = subprocess.run(['meson', 'introspect', '--tests', BUILD], capture_output=True, text=True, check=True).stdout
    return {test['name']: {suite.partition(':')[2] for suite in test['suite']} for test in json.loads(out)}


def skipped_suites():
    """The suites that scripts/test without arguments omits."""
    script = (TOP / 'scripts/test').read_text()
    everything = re.search(r"^''\) suites='?([^'\n]*)'? ;;", script, re.M)
    return set(re.findall(r'--no-suite (\w+)', everything[1]))


def fuzz_targets():
    """{name: suites}; empty if scripts/test does not fuzz"""
    names = re.search(r'fuzz_names = \[(.*)\]', (TOP / 'tests/fuzz/meson.build').read_text())[1]
    runs = re.search(r'for what in .*\bfuzz\b.*; do', (TOP / 'scripts/test').read_text())
    return {f'fuzz-{name}': {'fuzz'} for name in re.findall(r"'(\w+)'", names) if runs}


def names_of(text):
    return [name for name in NAME.findall(text) if not name.startswith(('make ', 'record '))]


tests, skipped = {**all_tests(), **fuzz_targets()}, skipped_suites()
lines = LINE.findall((TOP / 'docs/promises.md').read_text())
rows = [row for row, _, _ in lines]
wanted = [f'{letter}{n}' for letter, count in ROWS.items() for n in range(1, count + 1)]
case(rows == wanted, 'one line for each row, in their order',
     f'missing: {sorted(set(wanted) - set(rows))}, too many: {[r for r in rows if rows.count(r) > 1 or r not in wanted]}')
for row, what, shown in lines:
    named = names_of(shown)
    gone = [name for name in named if name not in tests]
    case(not gone, f'{row}: its tests are there', f'no test has the name {gone}')
    idle = [name for name in named if name in tests and tests[name] <= skipped]
    case(not idle, f'{row}: scripts/test runs them', f'not run: {idle}')
    words = shown.strip().lower()
    case(bool(named) or words.startswith(('does not apply: ', 'left: ')),
         f'{row}: a test, or why there is none', f'{what.strip()}: {shown}')
finish()
