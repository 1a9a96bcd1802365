#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""make-page - one manual page from the option rows, with the hand-written text as its DESCRIPTION.

	make-page.py HEAPLAPSE SCDOC TEXTS OUTPUT [COMMAND]

TEXTS is the directory of the hand-written texts, COMMAND.scd or heaplapse.scd. A command without one gets
a page from its rows only.
"""
import pathlib
import re
import subprocess
import sys

heaplapse, scdoc, texts, output, *command = sys.argv[1:]
page = subprocess.run([heaplapse, 'help', '--format=scdoc', *command], check=True, capture_output=True,
                      encoding='utf-8').stdout
text = pathlib.Path(texts) / f'{command[0] if command else "heaplapse"}.scd'
if text.exists():
    page = re.sub(r'^# DESCRIPTION\n.*?(?=^# )', lambda _: text.read_text(encoding='utf-8') + '\n', page,
                  count=1, flags=re.M | re.S)
done = subprocess.run([scdoc], input=page, capture_output=True, encoding='utf-8')
if done.returncode:
    sys.exit(f'scdoc: {output}: {done.stderr}')
pathlib.Path(output).write_text(done.stdout, encoding='utf-8')
