#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""summary_test - tools/test-summary.py counts cases, lists skips, and its last line is the count.

	summary_test.py TOP
"""
import json
import pathlib
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(sys.argv[1]) / 'tools/test-summary.py'


def entry(result, stdout='', stderr='', name='suite / x'):
    return {'name': name, 'result': result, 'stdout': stdout, 'stderr': stderr, 'duration': 0.1,
            'returncode': {'OK': 0, 'SKIP': 77}.get(result, 1)}


CMOCKA_OK = '[==========] 3 test(s) run.\n[  PASSED  ] 3 test(s).\n'
CMOCKA_BAD = ('[==========] 3 test(s) run.\n[  FAILED  ] two\n[  PASSED  ] 1 test(s).\n'
              '[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] three\n'
              '[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] two\n')

# Entries of meson's log; the last line; the exit status; a line that must be above it.
CASES = [
    ('nothing ran', [], '0 passed, 0 failed, 0 skipped', 1, 'no test ran'),
    ('a plain program is one case', [entry('OK')], '1 passed, 0 failed, 0 skipped', 0, ''),
    ('a failed program is one case, and is shown', [entry('OK'), entry('FAIL', stderr='it broke')],
     '1 passed, 1 failed, 0 skipped', 1, 'it broke'),
    ('only skips is not a success', [entry('SKIP', 'no such thing here\n')],
     '0 passed, 0 failed, 1 skipped', 1, '  suite / x - no such thing here'),
    ('cmocka cases', [entry('OK', stderr=CMOCKA_OK)], '3 passed, 0 failed, 0 skipped', 0, ''),
    ('cmocka failures and skips', [entry('FAIL', stderr=CMOCKA_BAD)],
     '1 passed, 1 failed, 1 skipped', 1, '  suite / x: three - skipped by the test itself'),
    ('TAP cases', [entry('OK', 'ok 1 - a\nok b\nok 3 - c # SKIP no jemalloc\n')],
     '2 passed, 0 failed, 1 skipped', 0, '  suite / x: c - no jemalloc'),
    ('TAP failures', [entry('FAIL', 'ok a\nnot ok b\n')], '1 passed, 1 failed, 0 skipped', 1,
     'not ok b'),
    ('a crash after good cases', [entry('FAIL', 'ok a\n')], '1 passed, 1 failed, 0 skipped', 1, ''),
    ('a time-out', [entry('TIMEOUT')], '0 passed, 1 failed, 0 skipped', 1, 'TIMEOUT'),
]


def main():
    fine = True
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / 'testlog.json'
        for name, entries, last, status, line in CASES:
            log.write_text(''.join(json.dumps(e) + '\n' for e in entries))
            done = subprocess.run([sys.executable, TOOL, log], capture_output=True, text=True)
            said = done.stdout.splitlines()
            good = said[-1:] == [last] and done.returncode == status and line in done.stdout
            print(('ok ' if good else 'not ok ') + name)
            if not good:
                print(f'  # status {done.returncode}\n  # ' + '\n  # '.join(said) + done.stderr)
            fine &= good
    return 0 if fine else 1


sys.exit(main())
