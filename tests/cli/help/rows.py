# SPDX-License-Identifier: Apache-2.0
"""rows - the options of each command, as its --help lists them."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
from tap import case, finish


def skip(why):
    print(f'1..0 # SKIP {why}')
    print(why)
    sys.exit(77)


def environment(**more):
    unwanted = ('LD_PRELOAD', 'PAGER', 'LESS', 'COLUMNS', 'LINES', 'NO_COLOR', 'CLICOLOR_FORCE', 'FORCE_COLOR', 'CI')
    env = {k: v for k, v in os.environ.items() if k not in unwanted and not k.startswith('HEAPLAPSE_')}
    return {**env, 'LC_ALL': 'C.UTF-8', 'TERM': 'xterm', **more}


def run(heaplapse, *args, **env):
    return subprocess.run([heaplapse, *args], capture_output=True, text=True, env=environment(**env), timeout=60,
                          stdin=subprocess.DEVNULL)


def commands(heaplapse):
    text = run(heaplapse, '--help').stdout
    listed = re.search(r'^commands:\n(.*?)^$', text, re.M | re.S).group(1)
    return re.findall(r'^  (\S+)', listed, re.M)


def options(heaplapse, command):
    """[(short or None, long or None)] of all rows."""
    text = run(heaplapse, command, '--help').stdout
    listed = re.search(r'^options:\n(.*?)(^$|\Z)', text, re.M | re.S).group(1)
    rows = re.findall(r'^  (?:-(\w)(?:, )?|    )(?:--([\w-]+))?', listed, re.M)
    return [(s or None, l or None) for s, l in rows if s or l]
