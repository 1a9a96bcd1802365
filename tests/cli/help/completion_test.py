#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""completion_test - loads the completion into a real shell and checks what it offers.

	completion_test.py HEAPLAPSE bash|zsh|fish
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import rows
from rows import case

heaplapse = os.path.abspath(sys.argv[1])
shell = sys.argv[2]
program = shutil.which(shell)
if not program:
    rows.skip(f'{shell} is not installed')

# Calls the completion function as bash does, with the words given; bash splits them at = beforehand.
BASH = '''
compopt() { :; }
source ./completion
words=("$@")
COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1)) COMP_LINE="${words[*]}" COMP_POINT=${#COMP_LINE}
_heaplapse
printf '%s\\n' "${COMPREPLY[@]}"
'''

# A zsh in its own pseudoterminal that is asked for the list of matches (^D). Its prompt shows that
# it is ready.
ZSH = r'''
zmodload zsh/zpty || exit 77
zpty z "zsh -f -i"
zpty -w z 'COLUMNS=200; autoload -Uz compinit; compinit -u -D; source ./completion; setopt no_beep
zstyle ":completion:*" list-prompt ""; bindkey "^D" list-choices; PS1="RE""ADY "'
zpty -r -m z line '*READY*' || exit 1
sleep 0.3
zpty -w -n z "$1"$'\x04'
sleep 0.5
zpty -w -n z $'\x15print DO""NE\n'
zpty -r -m z out '*DONE*' || exit 1
print -r -- "$out"
'''
ESCAPE = re.compile(r'\x1b(\[[0-9;?]*[A-Za-z]|[=>])')


def split(line):
    """The words of a command line as bash passes them: = is a separate word."""
    return [part for word in line.split(' ') for part in (re.findall(r'=|[^=]+', word) or [''])]


def completions_of(line):
    """The completions at the end of the line, with their descriptions."""
    if shell == 'bash':
        command = [program, '--norc', '--noprofile', '-c', BASH, 'bash', *split(line)]
    elif shell == 'zsh':
        command = [program, '-f', '-c', ZSH, 'zsh', line]
    else:
        command = [program, '--no-config', '-c', f'source ./completion; complete -C {quoted(line)}']
    done = subprocess.run(command, capture_output=True, text=True, errors='replace', timeout=60, stdin=subprocess.DEVNULL,
                          env=rows.environment(HOME=os.getcwd(), XDG_CONFIG_HOME=os.getcwd()))
    return ESCAPE.sub('', done.stdout + done.stderr)


def quoted(line):
    return "'" + line.replace("'", "\\'") + "'"


def expect_offers(line, wanted, unwanted=()):
    got = completions_of(line)
    has = lambda w: re.search(rf'(?<![\w.-]){re.escape(w)}(?![\w.-])', got)
    wrong = [w for w in wanted if not has(w)] + [f'not {w}' for w in unwanted if has(w)]
    case(not wrong, f'{shell}: {line!r} offers {", ".join(wanted)}', f'missing: {wrong}\n{got[-1500:]}')


def check_loading(text):
    done = subprocess.run([program, '-n', 'completion'], capture_output=True, text=True)
    case(done.returncode == 0, f'{shell}: what it prints is well-formed', done.stderr)
    if shell == 'bash':
        done = subprocess.run([program, '--norc', '-c', 'source ./completion; complete -p heaplapse'],
                              capture_output=True, text=True)
        case('-F _heaplapse heaplapse' in done.stdout, 'bash: complete -p knows it', done.stderr)
    for command in rows.commands(heaplapse):
        for short, long in rows.options(heaplapse, command):
            pattern = {'bash': rf'--{long}', 'zsh': rf"'--{long}", 'fish': rf'__heaplapse_is {command}\'.* -l {long}'}
            if not long:
                pattern = {'bash': rf' -{short}', 'zsh': rf"'-{short}", 'fish': rf' -s {short}'}
            case(re.search(pattern[shell] + r'(?![\w-])', text), f'{shell}: {command} has --{long}')


def check_offers():
    expect_offers('heaplapse ', ['record', 'report', 'info', 'dump', 'help', 'completion'], ['collect'])
    expect_offers('heaplapse re', ['record', 'report'], ['info'])
    expect_offers('heaplapse doctor --', ['--json', '--output'], ['--overwrite'])
    expect_offers('heaplapse completion ', ['bash', 'zsh', 'fish'])
    expect_offers('heaplapse help ', ['report', 'environment'])
    expect_offers('heaplapse info --', ['--json', '--verify', '--no-pager', '--help'])
    expect_offers('heaplapse info --color=', ['always', 'never'] if shell != 'fish' else ['--color=always', '--color=never'])
    expect_offers('heaplapse record --unwind ', ['full', 'incremental'])
    expect_offers('heaplapse dump ', ['one.hlt', 'two.hlt'], ['other.txt'] if shell != 'fish' else [])
    expect_offers('heaplapse record -o ', ['other.txt'])
    expect_offers('heaplapse record -f cat ot', ['other.txt'])
    expect_offers('heaplapse record ls --', [], ['--overwrite', '--free-stacks'])
    expect_offers('heaplapse record -o x -f -- ls --', [], ['--overwrite', '--free-stacks'])
    expect_offers('heaplapse record ls report --', [], ['--overwrite', '--leaks'])
    expect_offers('heaplapse report --group ', ['stack', 'site', 'process'])
    expect_offers('heaplapse report -g ', ['stack', 'snapshot'])
    expect_offers('heaplapse report -s ', ['bytes', 'average', 'name'])
    expect_offers('heaplapse report --sort ', ['bytes', 'blocks'])
    expect_offers('heaplapse report --color ', ['always', 'never'])
    expect_offers('heaplapse record --clock ', ['tsc', 'counter'])
    expect_offers('heaplapse record --start ', ['on', 'off'])


text = rows.run(heaplapse, 'completion', shell).stdout
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for name in 'one.hlt', 'two.hlt', 'other.txt', 'otter.txt':
        open(name, 'w').close()
    open('completion', 'w').write(text)
    check_loading(text)
    check_offers()
    os.chdir('/')
rows.finish()
