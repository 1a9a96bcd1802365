# SPDX-License-Identifier: Apache-2.0
"""docs - shared code of the tests of the documents: an environment without our variables, a
directory to work in."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import case, finish, skipped

# A block of commands and their output; the third word of its mark is a program that it needs.
CONSOLE = re.compile(r'^(?P<mark>```console test ?(?P<needs>\S*)\n)(?P<block>.*?)(?P<end>^```$)', re.M | re.S)


def has(block):
    """Whether the program that a match of CONSOLE needs is installed, in the version that it needs."""
    needs = block['needs']
    if not needs:
        return True
    try:
        there = subprocess.run([needs.partition('-')[0], '--version'], capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        there = 'none'
    if there != needs:
        skipped(f'the block that needs {needs}', f'there is {there}')
    return there == needs


def command_pages(top):
    return sorted(str(p.relative_to(top)) for p in (top / 'docs/commands').glob('*.md'))


def environment():
    unwanted = ('LD_PRELOAD', 'COLUMNS', 'CLICOLOR_FORCE', 'FORCE_COLOR')
    env = {k: v for k, v in os.environ.items() if k not in unwanted and not k.startswith('HEAPLAPSE_')}
    return {**env, 'LC_ALL': 'C.UTF-8'}


def prepare(folder, top, heaplapse, library):
    """Sets up the directory as a reader of the documents has it after `make`: build/ has the programs."""
    build = folder / 'build'
    build.mkdir()
    (build / 'heaplapse').symlink_to(heaplapse)
    (build / 'libheaplapse.so').symlink_to(library)
    (build / 'heaplapse-replay').symlink_to(heaplapse.parent / 'heaplapse-replay')
    for name in ('examples', 'include'):
        (folder / name).symlink_to(top / name)
