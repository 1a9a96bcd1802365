#!/usr/bin/python3
"""completion_test - completion, loaded into a real shell and tried.

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

# Runs the function as bash would, for the words given; bash splits at = in front of it.
BASH = '''
compopt() { :; }
source ./completion
words=("$@")
COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1)) COMP_LINE="${words[*]}" COMP_POINT=${#COMP_LINE}
_heaplapse
printf '%s\\n' "${COMPREPLY[@]}"
'''

# A zsh at a terminal of its own, asked for the list of what fits (^D). Its prompt says when it listens.
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
    """The words of a command line as bash gives them: a = is a word of its own."""
    return [part for word in line.split(' ') for part in (re.findall(r'=|[^=]+', word) or [''])]


def offered(line):
    """What is offered at the end of the line, with what each is for."""
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


def offers(line, wanted, unwanted=()):
    got = offered(line)
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
    offers('heaplapse ', ['record', 'report', 'info', 'dump', 'help', 'completion'], ['collect'])
    offers('heaplapse re', ['record', 'report'], ['info'])
    offers('heaplapse doctor --', ['--json', '--output'], ['--overwrite'])
    offers('heaplapse completion ', ['bash', 'zsh', 'fish'])
    offers('heaplapse help ', ['report', 'environment'])
    offers('heaplapse info --', ['--json', '--verify', '--no-pager', '--help'])
    offers('heaplapse info --color=', ['always', 'never'] if shell != 'fish' else ['--color=always', '--color=never'])
    offers('heaplapse record --unwind ', ['full', 'incremental'])
    offers('heaplapse dump ', ['one.hlt', 'two.hlt'], ['other.txt'] if shell != 'fish' else [])
    offers('heaplapse record -o ', ['other.txt'])
    offers('heaplapse record -f cat ot', ['other.txt'])
    offers('heaplapse record ls --', [], ['--overwrite', '--free-stacks'])
    offers('heaplapse record -o x -f -- ls --', [], ['--overwrite', '--free-stacks'])
    offers('heaplapse record ls report --', [], ['--overwrite', '--leaks'])
    offers('heaplapse report --group ', ['stack', 'site', 'process'])
    offers('heaplapse report -g ', ['stack', 'snapshot'])
    offers('heaplapse report -s ', ['bytes', 'average', 'name'])
    offers('heaplapse report --sort ', ['bytes', 'blocks'])
    offers('heaplapse report --color ', ['always', 'never'])
    offers('heaplapse record --clock ', ['tsc', 'counter'])
    offers('heaplapse record --start ', ['on', 'off'])


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
