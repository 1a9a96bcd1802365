#!/usr/bin/python3
"""promises_test - docs/promises.md has a line for each row, and each test that it names exists and is run by scripts/test.

	promises_test.py TOP BUILD

A test that is named with «(to come)» must not be there yet: when it is, the words must go.
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
NAME = re.compile(r'`([^`]+)`( \(to come\))?')


def all_tests():
    """{name: suites}"""
    out = subprocess.run(['meson', 'introspect', '--tests', BUILD], capture_output=True, text=True, check=True).stdout
    return {test['name']: {suite.partition(':')[2] for suite in test['suite']} for test in json.loads(out)}


def skipped_suites():
    """Those that scripts/test without a word leaves out."""
    script = (TOP / 'scripts/test').read_text()
    everything = re.search(r"^''\) suites='?([^'\n]*)'? ;;", script, re.M)
    return set(re.findall(r'--no-suite (\w+)', everything[1]))


def names_of(text):
    """(tests that are there, tests to come)"""
    found = [(name, bool(later)) for name, later in NAME.findall(text) if not name.startswith(('make ', 'record '))]
    return [n for n, later in found if not later], [n for n, later in found if later]


tests, skipped = all_tests(), skipped_suites()
lines = LINE.findall((TOP / 'docs/promises.md').read_text())
rows = [row for row, _, _ in lines]
wanted = [f'{letter}{n}' for letter, count in ROWS.items() for n in range(1, count + 1)]
case(rows == wanted, 'one line for each row, in their order',
     f'missing: {sorted(set(wanted) - set(rows))}, too many: {[r for r in rows if rows.count(r) > 1 or r not in wanted]}')
for row, what, shown in lines:
    named, later = names_of(shown)
    gone = [name for name in named if name not in tests]
    case(not gone, f'{row}: its tests are there', f'no test has the name {gone}')
    idle = [name for name in named if name in tests and tests[name] <= skipped]
    case(not idle, f'{row}: scripts/test runs them', f'not run: {idle}')
    here = [name for name in later if name in tests]
    case(not here, f'{row}: what is to come is not there yet', f'strike «(to come)» behind {here}')
    words = shown.strip().lower()
    case(bool(named or later) or words.startswith(('does not apply: ', 'left: ')),
         f'{row}: a test, or why there is none', f'{what.strip()}: {shown}')
finish()
