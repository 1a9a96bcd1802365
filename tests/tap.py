# SPDX-License-Identifier: Apache-2.0
"""tap - prints the cases of a test in TAP, which meson reads."""
import sys

failures = 0
number = 0


def case(ok, name, why=''):
    global failures, number
    number += 1
    failures += not ok
    print(f'{"ok" if ok else "not ok"} {number} - {name}')
    if not ok and why:
        print('# ' + str(why).rstrip().replace('\n', '\n# '))
    sys.stdout.flush()


def skipped(name, why):
    global number
    number += 1
    print(f'ok {number} - {name} # SKIP {why}')


def finish():
    print(f'1..{number}')
    sys.exit(failures > 0)
