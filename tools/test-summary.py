#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""test-summary - the result of `meson test`, counted in test cases.

	test-summary.py testlog.json...

With more than one log, tests of the second and later ones are prefixed with the name of their build
directory.

Meson counts programs, this script counts cases. A program's cases are, in this order:
  - the lines "ok ...", "not ok ..." and "ok ... # SKIP reason" it printed (TAP);
  - the totals that cmocka prints at the end of each of its groups;
  - otherwise the program itself is one case.
A program that fails although none of its cases did (a crash, a time-out) adds one failed case. A
program that exits with 77 is one skipped case, and the last line of its output is the reason.

Prints the failing programs' output, the list of skips, and last "N passed, N failed, N skipped".
Exit status 1 if anything failed or nothing ran.
"""
import json
import os
import re
import sys

TAP = re.compile(r'^(ok|not ok)\b(?:\s+\d+)?(?:\s+-)?\s*(.*)$', re.M)
CMOCKA_PASS = re.compile(r'^\[  PASSED  \] (\d+) test\(s\)', re.M)
CMOCKA_SKIP = re.compile(r'^\[  SKIPPED \] (?!\d+ test\(s\))(\S+)', re.M)
CMOCKA_FAIL = re.compile(r'^\[  FAILED  \] (?!\d+ test\(s\))(.+)', re.M)
OUTPUT_LINES = 200


def tap_cases(out):
    """(passed, failed, skips) from TAP lines, or None if there are none."""
    lines = TAP.findall(out)
    if not lines:
        return None
    passed, failed, skips = 0, 0, []
    for word, rest in lines:
        name, skip, reason = rest.partition('# SKIP')
        if skip:
            skips.append((name.strip(' -'), reason.strip() or 'no reason given'))
        elif word == 'ok':
            passed += 1
        else:
            failed += 1
    return passed, failed, skips


def cmocka_cases(out):
    """The same from cmocka's output."""
    passed = CMOCKA_PASS.findall(out)
    if not passed:
        return None
    # Each name occurs twice: when the case ends, and in the list after its group.
    failed = {name.split(':')[-1].strip() for name in CMOCKA_FAIL.findall(out)}
    skips = [(name, 'skipped by the test itself') for name in sorted(set(CMOCKA_SKIP.findall(out)))]
    return sum(map(int, passed)), len(failed), skips


def cases(test):
    """(passed, failed, skips) of one program; skips are (case, reason)."""
    out = test.get('stdout', '') + '\n' + test.get('stderr', '')
    if test['result'] == 'SKIP':
        said = [line.strip() for line in out.splitlines() if line.strip()]
        return 0, 0, [('', said[-1] if said else 'no reason given')]
    passed, failed, skips = tap_cases(out) or cmocka_cases(out) or (None, 0, [])
    fine = test['result'] in ('OK', 'EXPECTEDFAIL')
    if passed is None:
        passed = int(fine)
    if not fine and not failed:
        failed = 1
    return passed, failed, skips


def show_failure(test):
    print(f'\n---- {test["name"]}: {test["result"]} (status {test["returncode"]}, '
          f'{test["duration"]:.1f} s)')
    lines = (test.get('stdout', '') + test.get('stderr', '')).splitlines()
    if len(lines) > OUTPUT_LINES:
        print(f'({len(lines) - OUTPUT_LINES} lines before these are in meson-logs/testlog.txt)')
    print('\n'.join(lines[-OUTPUT_LINES:]))


def read_log(path):
    try:
        with open(path, encoding='utf-8', errors='replace') as log:
            return [json.loads(line) for line in log if line.strip()]
    except FileNotFoundError:
        return []


def read_logs(paths):
    """The tests of all logs; a missing log is a failed test."""
    for i, path in enumerate(paths):
        tests = read_log(path)
        folder = os.path.basename(os.path.dirname(os.path.dirname(path)))
        if not tests and i:
            yield {'name': folder, 'result': 'ERROR', 'returncode': 1, 'duration': 0, 'stderr': 'no test ran'}
        for test in tests:
            yield dict(test, name=f'{folder}: {test["name"]}') if i else test


def main():
    passed, failed, skips, bad = 0, 0, [], []
    for test in read_logs(sys.argv[1:]):
        p, f, s = cases(test)
        passed += p
        failed += f
        skips += [(test['name'] + (': ' + case if case else ''), reason) for case, reason in s]
        if f:
            bad.append(test)

    for test in bad:
        show_failure(test)
    if bad:
        print('\nfailed:')
        for test in bad:
            print('  ' + test['name'])
    if skips:
        print('\nskipped:')
        for name, reason in skips:
            print(f'  {name} - {reason}')
    if not passed and not failed:
        print('no test ran')
    print(f'\n{passed} passed, {failed} failed, {len(skips)} skipped', flush=True)
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
