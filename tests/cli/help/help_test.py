#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""help_test - short and full help of every command; environment variables.

	help_test.py HEAPLAPSE
"""
import pathlib
import re
import sys
import rows
from rows import case, run

heaplapse = sys.argv[1]


def widest(text):
    return max(map(len, text.splitlines()))


def check_short(command):
    for columns in '80', '60', '200':
        done = run(heaplapse, *command, '-h', COLUMNS=columns)
        name = ' '.join(['heaplapse', *command, '-h'])
        lines = done.stdout.splitlines()
        case(done.returncode == 0 and not done.stderr, f'{name} succeeds', done.stderr)
        case(not any(l.endswith('...') for l in lines if not l.startswith('usage:')), f'{name} at {columns} columns cuts no text', done.stdout)
        if columns == '60':  # too narrow for one screen: text is wrapped
            continue
        case(len(lines) <= 24, f'{name} at {columns} columns fits a screen', f'{len(lines)} lines')
        if columns == '80':
            case(widest(done.stdout) <= 80, f'{name} is at most 80 columns wide', done.stdout)
    return done.stdout


def check_command(command):
    short = check_short([command])
    full = run(heaplapse, command, '--help').stdout
    listed = rows.options(heaplapse, command)
    case('usage: heaplapse ' + command in full and 'Exit status:' in full, f'{command} --help has usage and exit status', full)
    case(len(listed) > 0, f'{command} --help lists options')
    status = ' '.join(full.partition('Exit status:')[2].split())
    strict = 'strict' in [l for _, l in listed]
    case(command in ('record', 'import', 'serve') or (strict, strict) == ('4 with --strict' in status, 'input' in status),
         f'{command} --help lists the statuses that {command} has', status)
    absent = [l for s, l in listed if l and not re.search(rf'--{l}(?![\w-])', short)]
    case(not absent, f'{command} -h names every option', f'not there: {absent}')
    case(run(heaplapse, 'help', command).stdout == full, f'help {command} says what {command} --help says')
    # A list of words is part of the explanation as a whole: it is not split into or out of a bracket.
    case(not re.search(r'^ +\S*--\S*(\[=[^\]\s]*|:)(\s|$)', full, re.M) and full.count('[') == full.count(']'), f'{command} --help: brackets', full)
    wide = [l for l in run(heaplapse, command, '--help', COLUMNS='60').stdout.splitlines() if len(l) > 60]
    # Text to type, in examples and filters, is not wrapped.
    case(all(re.match('  \\S', l) for l in wide), f'{command} --help is wrapped to the width', wide)


def check_environment():
    text = run(heaplapse, 'help', 'environment').stdout
    for _, name in rows.options(heaplapse, 'record'):
        if name != 'help':
            variable = 'HEAPLAPSE_' + name.upper().replace('-', '_')
            case(re.search(rf'^  {variable}=', text, re.M), f'{variable} is in help environment', text)
    source = pathlib.Path(__file__).resolve().parents[3] / 'src'
    read = {name for file in source.rglob('*.c') if not file.name.endswith('_test.c')
            for name in re.findall(r'\b(?:getenv|\w*env_\w+)\("(\w+)"\)', file.read_text(encoding='utf-8'))}
    case({'HEAPLAPSE_PAGER', 'NO_COLOR', 'COLUMNS', 'XDG_CACHE_HOME', 'DEBUGINFOD_URLS'} <= read, 'what the sources read is found', read)
    for variable in sorted(read):
        case(f'  {variable}=' in text, f'{variable} is in help environment')


def check_words():
    bare = run(heaplapse)
    case(bare.returncode == 2 and 'heaplapse record ./program' in bare.stderr, 'heaplapse alone says what to do first')
    case('did you mean report' in run(heaplapse, 'help', 'reprot').stderr, 'help of a misspelt command')
    case('did you mean --no-pager' in run(heaplapse, 'info', '--no-pagr').stderr, 'a misspelt shared option')
    case(run(heaplapse, 'info', '--color=blue').returncode == 2, '--color=blue is refused')
    case('\033[' in run(heaplapse, 'help', '--color=always').stdout, '--color=always colours')
    case('\033[' not in run(heaplapse, 'help').stdout, 'no colours in a pipe')
    case('\033[' in run(heaplapse, 'help', CLICOLOR_FORCE='1').stdout, 'CLICOLOR_FORCE colours')
    case('\033[' not in run(heaplapse, 'help', CLICOLOR_FORCE='1', NO_COLOR='1').stdout, 'NO_COLOR wins over it')


first = check_short([])
case(first.startswith('examples:'), 'heaplapse -h begins with examples', first)
names = rows.commands(heaplapse)
case({'record', 'report', 'info', 'dump', 'help', 'completion'} <= set(names), 'the commands are listed', names)
case('collect' not in names, 'what is not for people is not listed')
for command in names:
    check_command(command)
for command in 'record', 'report', 'info', 'dump', 'doctor':
    case(run(heaplapse, command, '-h').stdout.startswith('examples:'), f'{command} -h begins with examples')
check_environment()
check_words()
rows.finish()
