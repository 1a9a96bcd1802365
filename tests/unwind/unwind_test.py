#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""unwind_test - runs programs under the checker and reports whether all stacks were exact.

	unwind_test.py DIRECTORY [--fast]     DIRECTORY has libunwind_check.so and the test programs

Every allocation's stack is taken incrementally, from scratch and by libunwind. Required: no
difference between the first two; no difference to libunwind, except in programs that know their own
chain (there libunwind is known to be wrong or to guess, and the stacks are compared with the chain)
or run code without unwind tables (there both guess); no crash; and a million stacks over eight
programs. Programs that are not installed are named and skipped.
"""
import ctypes.util
import os
import shutil
import subprocess
import sys
import tempfile
import time

folder, fast = os.path.abspath(sys.argv[1]), '--fast' in sys.argv
CHECK = os.path.join(folder, 'libunwind_check.so')
LIBUNWIND = ctypes.util.find_library('unwind') or ''
WANTED = 20_000 if fast else 1_000_000

CC_SOURCE = '''#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <vector>
int main() { std::map<std::string, std::vector<int>> m; m["a"].push_back(1); std::regex r("a+b*");
std::function<int(int)> f = [&](int x) { return (int)m.size() + x; }; return std::regex_match("aab", r) + f(1); }
'''
SQL = '''create table t(a integer primary key, b text, c real);
with recursive n(x) as (select 1 union all select x + 1 from n where x < ROWS)
insert into t select x, hex(x * 7919), x / 3.0 from n;
create index i on t(b);
select count(*) from (select b, count(*) from t group by substr(b, 1, 3) order by c desc);
select count(distinct substr(b, 2)) from t where a in (select a from t where b like '%9%');
'''
PY = '''import json, re, ast
data = [{"k%d" % i: [i, str(i), {"x": i / 3}]} for i in range(ROWS)]
text = json.dumps(data)
assert json.loads(text) == data
ast.parse("\\n".join("def f%d(a, b=%d): return [a * b for x in range(b) if x %% 3]" % (i, i) for i in range(ROWS // 20)))
re.findall(r"k(\\d+)", text)
'''


def test_program(name, rounds, quick, *args, **more):
    return dict(name=name, command=[os.path.join(folder, 'unwind_' + name), *args, str(quick if fast else rounds)], **more)


def compiler(name, tmp):
    path = shutil.which(name)
    return dict(name=name, slow=True, command=path and
                [path, '-O1', '-c', '-x', 'c++', os.path.join(tmp, 'x.cc'), '-o', os.path.join(tmp, 'x.o')])


def programs(tmp):
    frames = [os.path.join(folder, f'libunwind_frames_{n}.so') for n in (1024, 4096)]
    rows = 200 if fast else 8000
    return [
        test_program('deep', 60, 2),
        test_program('deep_fp', 60, 2),
        test_program('deep_holes', 60, 2),
        test_program('throw', 600, 20),
        test_program('jump', 1000, 20),
        test_program('signals', 3000, 50),
        test_program('interrupt', 8000, 300),
        test_program('coroutine', 300, 6),
        test_program('loop60', 50000, 2000, walked=2.0),
        test_program('reload', 400, 20, *frames, judge='chain'),
        test_program('nocfi', 3000, 50, judge='chain'),
        dict(name='python3', command=shutil.which('/usr/bin/python3') and
             ['/usr/bin/python3', '-c', PY.replace('ROWS', str(rows))], env={'PYTHONMALLOC': 'malloc'}),
        dict(name='sqlite3', command=shutil.which('sqlite3') and
             ['sqlite3', ':memory:', SQL.replace('ROWS', str(rows * 5))]),
        compiler('clang', tmp),
        compiler('g++', tmp),
        dict(name='node', judge='guess', slow=True, command=shutil.which('node') and
             ['node', '-e', 'let a = []; for (let i = 0; i < 1e5; i++) a.push({x: String(i)}); JSON.stringify(a)']),
        dict(name='java', judge='guess', slow=True, command=shutil.which('java') and ['java', '-version']),
    ]


def run(program, tmp):
    out = os.path.join(tmp, program['name'] + '.counts')
    env = dict(os.environ, LD_PRELOAD=CHECK, UNWIND_CHECK=out, UNWIND_LIBUNWIND=LIBUNWIND, **program.get('env', {}))
    began = time.time()
    done = subprocess.run(program['command'], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          timeout=300)
    total, shown = {}, []
    if os.path.exists(out):
        for line in open(out):
            if line.startswith('counts '):
                words = line.split()[1:]
                for key, value in zip(words[::2], words[1::2]):
                    total[key] = total.get(key, 0) + int(value)
            else:
                shown.append(line.rstrip()[:180])
    return done, total, shown, time.time() - began


def find_errors(program, done, c):
    if done.returncode:
        yield f'ended with {done.returncode}: {done.stderr.strip()[-300:]}'
    if not c.get('traces'):
        yield 'no stack was checked'
        return
    if c['inc']:
        yield f"{c['inc']} incremental stacks differ from the full walk"
    if c['truth']:
        yield f"{c['truth']} stacks are not the program's own chain"
    if program.get('judge') == 'chain':
        if not c['judged']:
            yield 'the program judged no stack'
    elif c['other'] and not program.get('judge'):
        yield f"{c['other']} full stacks differ from libunwind's"
    if 'walked' in program and c['walked'] > program['walked'] * c['traces']:
        yield f"{c['walked'] / c['traces']:.2f} frames walked per stack, at most {program['walked']} wanted"


def main():
    bad, total, counted, skipped = 0, 0, 0, []
    if not LIBUNWIND:
        print('skip: libunwind is not installed; only incremental and full walks are compared')
    print(f"{'program':<10} {'stacks':>9} {'depth':>6} {'walked':>6} {'inc!=':>6} {'unw!=':>6} {'chain!=':>7} "
          f"{'judge':>9} {'nested':>7} {'busy':>6} {'s':>5}")
    with tempfile.TemporaryDirectory() as tmp:
        with open(os.path.join(tmp, 'x.cc'), 'w') as f:
            f.write(CC_SOURCE)
        for p in programs(tmp):
            if fast and p.get('slow'):
                continue
            if not p['command'] or not shutil.which(p['command'][0]):
                skipped.append(p['name'])
                continue
            done, c, shown, seconds = run(p, tmp)
            n = c.get('traces', 0)
            total += n
            counted += 1
            print(f"{p['name']:<10} {n:>9} {c.get('frames', 0) / max(n, 1):>6.1f} {c.get('walked', 0) / max(n, 1):>6.2f} "
                  f"{c.get('inc', 0):>6} {c.get('other', 0):>6} {c.get('truth', 0):>7} "
                  f"{p.get('judge', 'libunwind'):>9} {c.get('nested', 0):>7} {c.get('busy', 0):>6} {seconds:>5.1f}",
                  flush=True)
            for complaint in find_errors(p, done, c):
                bad += 1
                print(f"  FAILED {p['name']}: {complaint}")
                print('\n'.join('    ' + s for s in shown[:40]))
    for name in skipped:
        print(f'skip: {name} is not installed')
    print(f'{total} stacks over {counted} programs')
    if total < WANTED or counted < 8:
        print(f'FAILED: at least {WANTED} stacks over 8 programs are wanted')
        bad += 1
    return bool(bad)


sys.exit(main())
