#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""programs_test - the parts of bench/programs that need neither network nor a build of other programs.

	programs_test.py TOP

Package sources become deb-src lines, wrappers.txt has every program, and our own programs in
examples/ compile and do what their comments say.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(sys.argv[1]).resolve()
sys.path[:0] = [str(TOP / 'bench/programs'), str(TOP / 'bench'), str(TOP / 'tests')]
sys.dont_write_bytecode = True
from tap import case, finish, skipped  # noqa: E402
from programs import PROGRAMS  # noqa: E402
from sources import as_source_list  # noqa: E402

LISTS = ('wrapper', 'held', 'live', 'growing', 'churn')

DEB822 = '''Types: deb
# Types: deb
URIs: http://example.org/debian
Suites: stable
Signed-By: /usr/share/keyrings/k.gpg

Types: deb deb-src
URIs: http://example.org/security
Enabled: no
'''

ONE_LINE = '''# deb http://example.org/old stable main
deb [signed-by=/k.gpg] http://example.org/debian stable main
deb-src [signed-by=/k.gpg] http://example.org/debian stable main
deb\thttp://example.org/other stable main
'''


def check_sources():
    new = as_source_list('/etc/apt/sources.list.d/debian.sources', DEB822)
    types = [line for line in new.splitlines() if 'Types' in line]
    case(types == ['Types: deb-src', '# Types: deb', 'Types: deb-src'] and
         [line for line in new.splitlines() if 'Types' not in line] ==
         [line for line in DEB822.splitlines() if 'Types' not in line], 'package sources in fields: only the types change', new)
    new = as_source_list('/etc/apt/sources.list', ONE_LINE)
    case(new == 'deb-src [signed-by=/k.gpg] http://example.org/debian stable main\n'
         'deb-src\thttp://example.org/other stable main\n', 'package sources in lines: each once, without comments', new)


def check_wrappers():
    lines = [line.split() for line in (TOP / 'bench/programs/wrappers.txt').read_text().splitlines()
             if line and not line.startswith('#')]
    wanted = {program.name for program in PROGRAMS if not program.stripped}
    for kind in LISTS:
        have = {line[0] for line in lines if line[1] == kind}
        case(have == wanted, f'wrappers.txt: every program has its line "{kind}"', have ^ wanted)
    odd = [line for line in lines if line[1] not in (*LISTS, 'also') or (line[1] != 'wrapper' and len(line) < 3)]
    case(not odd, 'wrappers.txt: each line is of a known kind', odd)


def run_example(name, compiler, argument, says):
    """Builds an example by the line of its row, and runs it."""
    program = next(p for p in PROGRAMS if p.name == name)
    if not shutil.which(compiler):
        return skipped(f'examples: {name}', f'there is no {compiler}')
    with tempfile.TemporaryDirectory() as out:
        built = subprocess.run(['sh', '-ec', program.build.replace('-O2', '-O0')], cwd=TOP, capture_output=True, text=True,
                               env={**os.environ, 'OUT': out})
        done = subprocess.run([os.path.join(out, name), argument], capture_output=True, text=True) if not built.returncode else built
        case(done.returncode == 0 and re.search(says, done.stdout), f'examples: {name} compiles and runs', done.stdout + done.stderr)
    return None


check_sources()
check_wrappers()
run_example('logstats', 'cc', '1000', r'^1000 lines, 500 pages$')
run_example('orderbook', 'c++', '1000', r'^1000 orders \(\d+ bytes\), [1-9]\d* trades, [1-9]\d* orders wait$')
run_example('groupby', 'rustc', '60', r'(?m)^book: 10 records, [1-9]\d* letters$')
finish()
