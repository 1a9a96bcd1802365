#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""terminal_test - output on a terminal: pager, colours, width, progress, the newest trace.

	terminal_test.py HEAPLAPSE LIBRARY

Each command runs in its own pseudoterminal of 24 lines and 80 columns, or with one for stderr only.
"""
import fcntl
import json
import math
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import rows
from rows import case
import views  # beside tap.py, whose directory rows adds

heaplapse = os.path.abspath(sys.argv[1])

CHURN = '''
#include <stdlib.h>
int main(void) { for (int i = 0; i < 400000; i++) { void *volatile p = malloc(i % 500 + 1); free(p); } }
'''


def terminal(*args, lines=24, columns=80, stdout=None, keys=(), timeout=60, rest_at=None, **env):
    """(status, output on the terminal). `stdout` redirects the command's output. `keys` are typed
    when a page is shown. After rest_at seconds the command is stopped for a while, so that work in
    progress by then appears long."""
    keys = list(keys)
    pid, fd = pty.fork()
    if pid == 0:
        if stdout:
            os.dup2(os.open(stdout, os.O_WRONLY), 1)
        time.sleep(0.05) # until the terminal has its size
        os.execve(heaplapse, ['heaplapse', *args], rows.environment(**env))
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', lines, columns, 0, 0))
    if rest_at:
        time.sleep(0.05 + rest_at)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.6)
        os.kill(pid, signal.SIGCONT)
    out, end = b'', time.time() + timeout
    while time.time() < end:
        if not select.select([fd], [], [], 0.2)[0]:
            if out and keys:
                os.write(fd, keys.pop(0))
            continue
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        out += data
    else:
        os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(fd)
    return status, out.decode(errors='replace').replace('\r\n', '\n')


def check_pager(folder):
    pager = 'sed s/^/PAGED:/'
    status, out = terminal('help', HEAPLAPSE_PAGER=pager)
    case(status == 0 and out.count('PAGED:') > 24, 'what is longer than the screen is paged', out)
    case(subprocess.run([heaplapse, 'help'], capture_output=True, text=True, env=rows.environment(COLUMNS='80')).stdout
         == out.replace('PAGED:', '').replace('\033[1m', '').replace('\033[0m', ''), 'all of it is, as it would be in a pipe')
    status, out = terminal('help', HEAPLAPSE_PAGER=pager, lines=200)
    case(status == 0 and 'PAGED:' not in out and 'Exit status' in out, 'what fits is not paged', out)
    case('PAGED:' in terminal('help', PAGER=pager)[1], 'PAGER is used')
    case('PAGED:' not in terminal('help', PAGER=pager, HEAPLAPSE_PAGER='')[1], 'an empty HEAPLAPSE_PAGER wins over it')
    case('PAGED:' not in terminal('help', '--no-pager', PAGER=pager)[1], '--no-pager')
    case('PAGED:' in terminal('report', '--help', PAGER='cat | ' + pager, lines=10)[1], 'a pager that is a shell command')
    status, out = terminal('help', PAGER='no-such-pager')
    case(status == 0 and 'cannot be run' in out and 'Exit status' in out, 'a pager that is not there: said, and shown without', out)
    status, out = terminal('dump', 'churn.hlt', PAGER='head -n 3')
    case(status == 0 and len(out.splitlines()) == 3, 'a reader who leaves early is no failure', out[:300])
    status, out = terminal('dump', '--strict', 'cut.hlt', PAGER='head -n 3')
    case(status == 4, 'the exit status is the command\'s, not the pager\'s', f'{status} {out[:300]}')
    case('PAGED:' not in subprocess.run([heaplapse, 'help'], capture_output=True, text=True,
                                        env=rows.environment(PAGER=pager)).stdout, 'no pager in a pipe')
    if not shutil.which('less'):
        print('# less is not installed: not tried')
        return
    status, out = terminal('help', keys=[b' '] * 9 + [b'q'])
    case(status == 0 and 'record' in out and 'Exit status' in out, 'less is the pager when none is named', out[-300:])
    status, out = terminal('dump', 'churn.hlt', keys=[b' ', b'\x03', b'q'])
    case(status == 0 and out.count('\n') < 200, '^C is the pager\'s, and q ends both', f'{status} {out[-300:]}')


def check_colors():
    case('\033[1m' in terminal('help', '--no-pager')[1], 'colours on a terminal')
    case('\033[' not in terminal('help', '--no-pager', NO_COLOR='1')[1], 'NO_COLOR')
    case('\033[' not in terminal('help', '--no-pager', TERM='dumb')[1], 'TERM=dumb')
    case('\033[' not in terminal('help', '--no-pager', '--color=never')[1], '--color=never')
    case('\033[1m' in terminal('help', '--no-pager', '--color=always', NO_COLOR='1')[1], '--color=always wins over NO_COLOR')
    out = terminal('help', '--no-pager', columns=50, NO_COLOR='1')[1]
    wide = [l for l in out.splitlines() if len(l) > 50 and not l.startswith('  ')]
    case(not wide, 'lines are as wide as the terminal', wide)


LONG = '''
#include <map>
#include <string>
#include <vector>
int main() { std::map<std::string, std::vector<std::map<int, std::string>>> m; for (int i = 0; i < 300; i++)
  m[std::to_string(i) + " and some more than fits"].push_back({{i, "a string of some length, on the heap"}}); }
'''


# Frames that are far apart, and two templates whose names differ only in the middle.
DEEP = '''
#include <cstdlib>
void *volatile p;
struct one_kind_of_thing_that_has_a_long_name {}; struct another_kind_of_thing_that_has_a_long_name {};
template <class T, class U> struct a_box_of_things_with_a_name { __attribute__((noinline)) static void allocate_what_is_in_it(int n) { p = malloc(n); } };
template <int N> __attribute__((noinline)) void a_function_that_calls_the_next_one(int n) {
  p = malloc(n); if constexpr (N > 0) a_function_that_calls_the_next_one<N - 1>(n); p = malloc(n); }
int main() {
  a_box_of_things_with_a_name<int, one_kind_of_thing_that_has_a_long_name>::allocate_what_is_in_it(3000);
  a_box_of_things_with_a_name<int, another_kind_of_thing_that_has_a_long_name>::allocate_what_is_in_it(4000);
  a_function_that_calls_the_next_one<40>(100); }
'''


def check_width():
    """80 columns are enough for every view; output is never narrower than 40 columns or wider than 1000."""
    open('deep.cpp', 'w').write(DEEP)
    subprocess.run(['g++', '-std=c++17', '-g', '-O1', '-o', 'deep', 'deep.cpp'], check=True)
    subprocess.run([heaplapse, 'record', '-q', '--free-stacks', '-o', 'deep.hlt', './deep'], check=True, env=rows.environment())
    os.utime('deep.hlt', (1, 1))
    asked = [*([view] for view in views.options()), [], ['--bytes', '--overview'], ['--sites', '--bytes'], ['--peak'], ['--top-down', '--min', '0'], ['--leaks'],
             ['--temporary=1ms', '-n', '3'], ['--group=function'], ['--allocated', '--group=stack'], ['--group=process']]
    for trace in 'long.hlt', 'deep.hlt':
        for view in asked:
            for columns, locale in (80, 'C.UTF-8'), (80, 'C'), (101, 'C.UTF-8'):
                out = terminal('report', '--no-pager', *view, trace, columns=columns, NO_COLOR='1', LC_ALL=locale)[1]
                # A message is one line.
                wide = [l for l in out.splitlines() if len(l) > columns and not l.startswith('heaplapse: ')]
                case('\n' in out and not wide, f'{" ".join(view)} of {trace} in {columns} columns, {locale}', wide[:3] or out[:500])
    out = terminal('report', '--no-pager', '--leaks', 'deep.hlt', NO_COLOR='1', LC_ALL='C.UTF-8')[1]
    boxes = [l[33:].strip('├└─│ ').split('  ')[0] for l in out.splitlines() if '::allocate' in l and '%' in l]
    case(len(boxes) == 2 and boxes[0] != boxes[1] and all('…' in b for b in boxes), 'neighbours are cut so that they differ', out[:1500])
    out = terminal('report', '--no-pager', '--sites', 'long.hlt', NO_COLOR='1', LC_ALL='C.UTF-8')[1]
    case('lifetime  live ' in out and 'average' not in out, 'fewer columns on a narrow page', out[:500])
    out = rows.run(heaplapse, 'report', '--sites', 'long.hlt', COLUMNS='80').stdout
    case('average   lifetime  live over time' in out, 'all of them in a pipe', out[:500])
    for columns, wide in ('1', 39), ('39', 39), ('40', 39), ('999', 998), ('1000', 999), ('5000', 999), ('123456789', 999), ('0', 79):
        out = rows.run(heaplapse, 'report', '--timeline', 'long.hlt', COLUMNS=columns).stdout
        found = max(map(len, out.splitlines()[2:]))
        case(found == wide, f'COLUMNS={columns}: the plot is {wide} wide', found)


def check_trees():
    """A tree on a terminal has colours and no row wider than the screen; in a pipe it has no
    colours and no limit."""
    open('long.cpp', 'w').write(LONG)
    subprocess.run(['g++', '-g', '-O1', '-o', 'long', 'long.cpp'], check=True)
    subprocess.run([heaplapse, 'record', '-q', '--free-stacks', '-o', 'long.hlt', './long'], check=True, env=rows.environment())
    os.utime('long.hlt', (1, 1))
    out = terminal('report', '--no-pager', '--top-down', 'long.hlt', columns=120)[1]
    case('\033[31m' in out and '\033[1mmain\033[0m' in out, 'a tree has colours', out[:500])
    for view in '--peak', '--sites':
        for columns in 100, 140:
            out = terminal('report', '--no-pager', view, '--full-stacks', 'long.hlt', columns=columns, NO_COLOR='1')[1]
            wide = [l for l in out.splitlines() if len(l) > columns and '.so' not in l]
            case('\033' not in out and not wide, f'{view}: no row is wider than {columns} columns', wide[:3])
            case('…' in out or view == '--sites', f'{view}: what does not fit is cut', out[:500])
    for columns in 100, 140:
        out = terminal('report', '--no-pager', '--group=stack', '--full-stacks', 'long.hlt', columns=columns, NO_COLOR='1')[1]
        wide = [l for l in out.splitlines() if len(l) > columns and '.so' not in l]
        case(' < ' in out and '…' in out and not wide, f'--group=stack: no row is wider than {columns} columns', out[:500])
    check_width()
    out = rows.run(heaplapse, 'report', '--group=stack', '--full-stacks', 'long.hlt').stdout
    case('…' not in out.replace('<…>', '') and max(map(len, out.splitlines())) > 140, '--group=stack: in a pipe they are whole', out[:500])
    out = terminal('report', '--no-pager', '--peak', '--full-stacks', 'long.hlt', columns=140, NO_COLOR='1', LC_ALL='C')[1]
    case('...' in out and out.isascii(), 'and in ASCII where the locale is', out[:500])
    case('[...]' not in rows.run(heaplapse, 'report', '--sites', 'long.hlt').stdout, 'the end of a cut stack is no site')
    plain = rows.run(heaplapse, 'report', '--peak', '--full-stacks', 'long.hlt').stdout
    case('\033' not in plain and max(map(len, plain.splitlines())) > 140, 'in a pipe nothing is cut', plain[:500])


def check_margins():
    """Estimates have their margins in every row, and rows with margins fit the terminal."""
    for rate, name in ('1K', 'sampled.hlt'), ('4G', 'none.hlt'):
        rows.run(heaplapse, 'record', '-q', '--mode=sample=' + rate, '-o', name, './churn', HEAPLAPSE_SAMPLE_SEED='1')
    for view in (), ('--sites',), ('--group=function',):
        out = terminal('report', '--allocated', '--no-pager', *view, 'sampled.hlt', NO_COLOR='1', LC_ALL='C.UTF-8')[1]
        wide = [line for line in out.partition('names:')[0].splitlines() if len(line) > 80]
        case('main' in out and not wide, f'estimates {view}: 80 columns are enough', out[:800])
        shares = [line for line in out.splitlines() if line.lstrip().partition('%')[0].replace('.', '').isdigit()]
        case(shares and all('B ±' in line for line in shares), f'estimates {view}: each row has its margin', out[:800])
        json_of = json.loads(rows.run(heaplapse, 'report', '--json', '--allocated', 'sampled.hlt').stdout)
        percent = math.ceil(json_of['total_bytes_margin'] * 100 / json_of['total_bytes'])
        case(f'B ±{percent}% ' in out, f'estimates {view}: the margin of JSON', f'{percent} {out[:800]}')
    plain = rows.run(heaplapse, 'report', '--allocated', '--sites', 'sampled.hlt', LC_ALL='C').stdout
    case('B +-' in plain and plain.isascii(), 'estimates: in ASCII where the locale is', plain[:500])
    case('margin' not in rows.run(heaplapse, 'report', '--sites', 'churn.hlt').stdout, 'what is exact has none')
    done = rows.run(heaplapse, 'report', '--peak', 'none.hlt')
    case(done.returncode == 0 and 'no samples' in done.stdout and 'the trace has no samples' in done.stderr,
         'no samples at all: said, and what to do', done.stdout + done.stderr)
    case('no samples: too little' in rows.run(heaplapse, 'info', 'none.hlt').stdout, 'and info says it, too')
    os.unlink('sampled.hlt')
    os.unlink('none.hlt')


def check_styles():
    """Every view that this trace has an answer for has styles with --color=always and none with --color=never."""
    for view in [*(['report', v] for v in views.options()), ['info'], ['report', '--group', 'process']]:
        always, never = (rows.run(heaplapse, *view, f'--color={when}', 'churn.hlt').stdout for when in ('always', 'never'))
        case(('\033[1m' in always or not always) and '\033' not in never, f'colours of {" ".join(view)}', always[:300])
        plain = always.replace('\033[0m', '')
        for code in 1, 2, 31, 32, 33, 34, 36:
            plain = plain.replace(f'\033[{code}m', '')
        case(plain == never, f'{" ".join(view)}: colours are all that differs', plain[:300])


def check_progress():
    status, out = terminal('dump', 'churn.hlt', stdout='/dev/null')
    long_enough = '[#' in out or '[.' in out
    case(status == 0 and (long_enough or not out), 'nothing but a bar on stderr', out[:300])
    case(not long_enough or out.endswith('\r\033[K'), 'the bar is gone at the end', out[-100:])
    case(terminal('dump', 'churn.hlt', stdout='/dev/null', CI='1')[1] == '', 'no bar where CI is set')
    case(terminal('dump', 'churn.hlt', stdout='/dev/null', TERM='dumb')[1] == '', 'no bar on a dumb terminal')
    for view in ['--sites'], ['--threads'], ['--temporary'], ['--allocated', '--filter=size:>100']:
        # The moment when the work begins depends on the machine.
        shown = lambda: (terminal('report', *view, 'churn.hlt', stdout='/dev/null', rest_at=ms / 1000)[1] for ms in (*range(3, 60, 3), *range(4, 60, 3), *range(60, 300, 15)))
        case(any('reading the trace [' in out and out.endswith('\r\033[K') for out in shown()), f'report {view[-1]} has a bar')
    out = ''.join(terminal('report', '--json', '--sites', 'churn.hlt', stdout='/dev/null', rest_at=ms / 1000)[1] for ms in (20, 40, 60))
    case(out == '', 'none with --json', out)


def check_newest(folder):
    run = lambda *a: rows.run(heaplapse, *a)
    for command in 'report', 'info', 'dump':
        done = run(command)
        case(done.returncode == 0 and 'showing churn.hlt, the newest trace in this directory' in done.stderr,
             f'{command} without a file takes the newest', done.stderr)
    os.mkdir('empty')
    os.chdir('empty')
    done = run('report')
    case(done.returncode == 2 and 'there is no *.hlt' in done.stderr, 'without any it says so', done.stderr)
    os.chdir('..')


KEEPS = '''
#include <stdio.h>
#include <stdlib.h>
void *volatile p;
int main(int argc, char **argv) { p = malloc(77); return argc > 1 ? puts("x") < 0 : 0; }
'''


def check_summary():
    """The summary counts the same blocks as leaked as report --leaks, and says how much that omits."""
    open('keeps.c', 'w').write(KEEPS)
    subprocess.run(['gcc', '-O1', '-o', 'keeps', 'keeps.c'], check=True)
    for arguments, kept in ([], ''), (['puts'], ', plus 4.0 KiB held by the runtime'):
        done = rows.run(heaplapse, 'record', '--summary', '-f', '-o', 'keeps.hlt', './keeps', *arguments)
        os.utime('keeps.hlt', (1, 1))
        leaks = rows.run(heaplapse, 'report', '--leaks', 'keeps.hlt').stdout
        case(f'  not freed           77 B  in 1 block{kept}\n' in done.stderr, f'the summary of {arguments}', done.stderr)
        case(': 77 B in 1 block\n' in leaks and ('suppressed' in leaks) == bool(kept), f'report --leaks says the same of {arguments}', leaks)


def check_bytes():
    out = rows.run(heaplapse, 'report', '--allocated', '--bytes', 'churn.hlt').stdout
    case('100,200,000 B' in out, '--bytes gives exact numbers', out)
    for command in 'info', 'dump', 'help':
        case(rows.run(heaplapse, command, '--bytes').returncode == 2, f'{command} has no --bytes: it would do nothing')
    out = rows.run(heaplapse, 'report', '--allocated', 'churn.hlt').stdout
    case('95.6 MiB' in out, 'without it they are rounded', out)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    open('churn.c', 'w').write(CHURN)
    subprocess.run(['gcc', '-O1', '-o', 'churn', 'churn.c'], check=True)
    subprocess.run([heaplapse, 'record', '-q', '-o', 'churn.hlt', './churn'], check=True, env=rows.environment())
    whole = open('churn.hlt', 'rb').read()
    open('cut.hlt', 'wb').write(whole[:len(whole) * 2 // 3])
    os.utime('cut.hlt', (1, 1))
    check_pager(folder)
    check_colors()
    check_trees()
    check_margins()
    check_styles()
    check_progress()
    check_newest(folder)
    check_bytes()
    check_summary()
    os.chdir('/')
rows.finish()
