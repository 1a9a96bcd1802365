#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""interpreters_test - record, report and doctor say in one line what is recorded of an interpreted program.

	interpreters_test.py HEAPLAPSE

A copy of /bin/true with another name stands for an interpreter: its name decides.
"""
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import case, finish

HEAPLAPSE = pathlib.Path(sys.argv[1]).resolve()


def run(*words, **more):
    env = {k: v for k, v in os.environ.items() if k != 'LD_PRELOAD' and not k.startswith('HEAPLAPSE_')}
    return subprocess.run([HEAPLAPSE, *words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                          env={**env, 'LC_ALL': 'C.UTF-8', 'COLUMNS': '80', **more})


def check(name, language):
    shutil.copy('/bin/true', name)
    summary = run('record', '--summary', '-f', '-o', 'app.hlt', f'./{name}').stderr
    lines = re.findall(rf'^  {re.escape(language)} +.*$', summary, re.M)
    case(len(lines) == 1 and len(lines[0]) <= 80, f'{name}: record has one line about {language}', summary)
    report = run('report', 'app.hlt').stdout
    case(len(re.findall(rf'^{re.escape(language)}: .*recorded', report, re.M)) == 1, f'{name}: report has one line', report)
    twice = run('report', '--sites', '--sizes', 'app.hlt').stdout
    case(twice.count(f'{language}: ') == 1, f'{name}: once for several views', twice)
    shutil.copy('app.hlt', 'second.hlt')
    several = run('report', 'app.hlt', 'second.hlt').stdout
    case(several.count('\n=== ') + several.startswith('=== ') == 2 and several.count(f'{language}: ') == 1,
         f'{name}: once for several traces', several)
    doctor = run('doctor', f'./{name}')
    case(doctor.returncode == 0 and len(re.findall(rf'^note +{re.escape(language)} ', doctor.stdout, re.M)) == 1,
         f'{name}: doctor has one note', doctor.stdout)


def check_everywhere():
    """The overview as text, as JSON and on the page; and what the environment makes of Python and PHP."""
    for name, language, setting in (('python3.11', 'Python', {'PYTHONMALLOC': 'malloc'}), ('php8.2', 'PHP', {'USE_ZEND_ALLOC': '0'})):
        shutil.copy('/bin/true', name)
        for more in {}, setting, dict.fromkeys(setting, 'default'), {'PYTHONMALLOC': 'malloc', 'USE_ZEND_ALLOC': '0'}:
            summary = run('record', '--summary', '-f', '-o', 'app.hlt', f'./{name}', **more).stderr
            text = re.search(rf'^({language}: .*(?:\n  .*)*)', run('report', 'app.hlt').stdout, re.M)
            text = re.sub(r'\n +', ' ', text[1]) if text else ''
            found = json.loads(run('report', '--overview', '--json', 'app.hlt').stdout)
            run('export', '-f', 'html', '-o', 'app.html', 'app.hlt')
            page = html.unescape(pathlib.Path('app.html').read_text())
            case(text and found.get('interpreter') == text and f'<li>{text}.</li>' in page, f'{name} {more}: one sentence everywhere', f'{text} {found.get("interpreter")}')
            plain = setting.items() <= more.items()
            case((' only with ' in text, 'is recorded; frames' in summary) == (not plain, plain), f'{name} {more}: what is recorded', text + summary)


def check_none():
    shutil.copy('/bin/true', 'app')
    said = run('record', '--summary', '-f', '-o', 'app.hlt', './app').stderr + run('report', 'app.hlt').stdout
    said += run('doctor', './app').stdout
    case('threads' in said and not re.search('Python|Java|Ruby|Perl', said), 'other programs: nothing', said)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for name, language in (('python3.11', 'Python'), ('node', 'JavaScript'), ('java', 'Java')):
        check(name, language)
    check_everywhere()
    check_none()
    os.chdir('/')
finish()
