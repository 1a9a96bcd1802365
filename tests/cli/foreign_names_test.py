#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""foreign_names_test - names of other profilers and of commands that do not exist yet: the message
says what to use, and this build accepts the command that it names.

	foreign_names_test.py TOP HEAPLAPSE

All rows of src/cli/options/foreign_names.inc are tested: heaplapse itself does not have the name, the message
has hint and command, and the command succeeds with a trace, a program and a pid for its
placeholders. Rows with names of docs/migrating.md say the same as that page.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import case, finish

TOP, HEAPLAPSE = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])
ROW = re.compile(r'^HL_FOREIGN\(((?:\s*"[^"]*",?)+)\)', re.M)
STRING = re.compile(r'"([^"]*)"')
# A placeholder is a whole word, or the value of an option.
PLACES = {'FILE': 'app.hlt', 'PROGRAM': '/bin/true', 'LABEL': 'here', 'NAME': 'main', 'old.hlt': 'app.hlt',
          'FILE.zst': 'app.zst', 'FILE.replay': 'app.replay'}


def environment(**more):
    unwanted = ('LD_PRELOAD', 'COLUMNS', 'LINES', 'PAGER')
    env = {k: v for k, v in os.environ.items()
           if k not in unwanted and not k.startswith(('HEAPLAPSE_', 'MEMORY_PROFILER_'))}
    return {**env, 'LC_ALL': 'C.UTF-8', **more}


def run(*words, **env):
    return subprocess.run([HEAPLAPSE, *words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                          env=environment(**env))


def read_rows():
    """[(where, [names], hint, command)]"""
    text = (TOP / 'src/cli/options/foreign_names.inc').read_text()
    rows = [STRING.findall(re.sub(r'"\n\t"', '', row)) for row in ROW.findall(text)]
    case(len(rows) > 60 and len(rows) == text.count('\nHL_FOREIGN(') and all(len(r) == 4 for r in rows),
         f'the test reads all rows ({len(rows)})', [r for r in rows if len(r) != 4])
    return [(where, names.split(), hint, command) for where, names, hint, command in rows]


def check_name(where, name, hint, command):
    """The message for a name at one place."""
    if where == 'environment':
        done = run('record', '-f', '-o', 'env.hlt', '/bin/true', **{name: '1'})
        said = f'heaplapse: {name} has no effect: {hint} ({command})\n'
        return done.returncode == 0 and said in done.stderr, done.stderr
    words = [name] if where == 'heaplapse' else [where, name]
    done = run(*words, 'x')
    status = 125 if where == 'record' else 2
    return done.returncode == status and f': {hint}\n  try: {command}\n' in done.stderr, f'{done.returncode} {done.stderr}'


def filled_in(command, pid):
    words = shlex.split(command)[1:]
    places = {**PLACES, 'PID': str(pid)}
    return [re.sub(r'(?<==)[\w.]+$|^[\w.]+$', lambda m: places.get(m[0], m[0]), word) for word in words]


def check_commands(rows, pid):
    for command in sorted({row[3] for row in rows}):
        words = filled_in(command, pid)
        if words[0] == 'record':
            words[1:1] = ['-f'] + ['-o', 'out.hlt'] * ('--output' not in command)
        if words[0] == 'serve':
            words.append('--endpoints') # without it, it would serve until the end
        done = run(*words)
        case(command.startswith('heaplapse ') and done.returncode == 0, f'"{command}" works',
             f'{words}: {done.returncode} {done.stderr}')


def check_rows(rows):
    wrong = []
    for where, names, hint, command in rows:
        for place in where.split():
            for name in names:
                ok, why = check_name(place, name, hint, command)
                if not ok:
                    wrong.append(f'{place} {name}: {why}')
    case(not wrong, 'each name gets its hint where it is expected', '\n'.join(wrong))


def migrating():
    """{a name of memtrail or memory-profiler: the rest of its row}"""
    found, tool = {}, ''
    for line in (TOP / 'docs/migrating.md').read_text().splitlines():
        tool = line[3:] if line.startswith('## ') else tool
        cells = re.split(r'(?<!\\)\|', line)
        if tool.startswith(('memtrail', 'memory-profiler')) and len(cells) == 5:
            for span in re.findall(r'`([^`]+)`', cells[1]):
                for word in re.findall(r'(?<![\w-])(?:--?)?\w[\w-]*', span):
                    ours = re.sub(r'HEAPLAPSE_(\w+)', lambda m: '--' + m[1].lower().replace('_', '-'), cells[2])
                    found.setdefault(word, []).append(ours + cells[3])
    return found


def check_migrating(rows):
    """Where both have a name, the options of the command are those of the page, or the page lacks them as well."""
    page, compared, wrong = migrating(), 0, []
    for where, names, _, command in rows:
        for name in names:
            if where not in ('report', 'environment') or name not in page or len(name) < 4:
                continue
            compared += 1
            options = re.findall(r'--[a-z-]+', command.replace('--mode=cull --', '--'))
            options = [o for o in options if o not in ('--output', '--limit')] or options
            if not any(all(o in text for o in options) for text in page[name]):
                wrong.append(f'{name}: {options} here, {page[name]} there')
    case(compared > 15 and not wrong, f'docs/migrating.md says the same of {compared} names', '\n'.join(wrong))


def check_programs():
    """A word that is also a program: both are named."""
    os.mkdir('bin')
    for name in ('diff', 'serve'):
        pathlib.Path('bin', name).write_text('#!/bin/sh\n')
        os.chmod(f'bin/{name}', 0o755)
    both = run('diff', PATH=os.path.abspath('bin')).stderr
    case('cannot be compared' in both and '\n  to record the program diff: heaplapse record diff\n' in both,
         'a name that is also a program: how to record it is said too', both)
    alone = run('gather', PATH=os.path.abspath('bin')).stderr
    case('to record the program' not in alone and 'heaplapse record' in alone, 'a name without a program', alone)
    option = run('-a', PATH=os.path.abspath('bin')).stderr
    case('unknown option "-a"' in option and 'to record' not in option, 'an option before any command', option)


def check_others():
    owner = run('record', '--leaks', '/bin/true')
    case(owner.returncode == 125 and 'it is an option of heaplapse report\n' in owner.stderr,
         'an option of another command: which one', owner.stderr)
    explained = run('help', 'diff').stderr
    case('cannot be compared in this version' in explained, 'help explains such a name too', explained)
    near = run('report', '--leeks').stderr
    case('did you mean --leaks?' in near, 'a typing error is still one', near)
    none = run('report', '--nonsense').stderr
    case('unknown option --nonsense\n' in none, 'an unknown name stays unknown', none)
    value = run('report', '--threshold=1.5', 'app.hlt').stderr
    case('unknown option --threshold: ' in value, 'a name with a value', value)
    kept = run('report', '-imain', 'app.hlt')
    case(kept.returncode == 0, 'a value behind a short option is no foreign name', kept.stderr)
    quiet = run('record', '-q', '-f', '-o', 'q.hlt', '/bin/true', MEMORY_PROFILER_OUTPUT='x').stderr
    case(quiet == '', '--quiet: variables are not mentioned', quiet)
    other = run('record', '-f', '-o', 'q.hlt', '/bin/true', MEMORY_PROFILER_UNKNOWN='x').stderr
    case('MEMORY_PROFILER' not in other, 'an unknown variable is not mentioned', other)


def start_recording():
    """A running recording, for commands with a pid: record and the pid of its program."""
    process = subprocess.Popen([HEAPLAPSE, 'record', '-o', 'running.hlt', '/bin/cat'], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env=environment())
    process.stdin.write(b'x\n')
    process.stdin.flush()
    process.stdout.readline()  # the program runs
    return process


def main():
    rows = read_rows()
    run('record', '-o', 'app.hlt', '/bin/true')
    running = start_recording()
    try:
        check_commands(rows, running.pid)
    finally:
        running.stdin.close()
        running.wait(60)
    check_rows(rows)
    check_migrating(rows)
    check_programs()
    check_others()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
    os.chdir('/')
finish()
