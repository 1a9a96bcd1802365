#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""cpython_test - runs CPython's own tests bare and recorded and compares them case by case.

	cpython_test.py --heaplapse BIN [--table] MODULE...

A case whose outcome differs is run again alone, three times bare and three times recorded. It
counts as different only if no recorded outcome equals a bare one. Skips if Debian's package with
the tests is not installed. --table prints a table instead of a line for each case.
"""
import argparse
import os
import sys
import tempfile

from soak import HERE, Side, Table, clean_env, tap

PYTHON = '/usr/bin/python3'
AGAIN = 3


def outcomes(side, module, *cases):
    """{case: outcome}, and how the run ended."""
    with tempfile.TemporaryDirectory(prefix='heaplapse-soak-', ignore_cleanup_errors=True) as folder:
        results = os.path.join(folder, 'results')
        work = os.path.join(folder, 'work')
        os.mkdir(work)
        done = side.run([PYTHON, os.path.join(HERE, 'cases.py'), results, module, *cases], work,
                        clean_env(TMPDIR=work, HOME=work))
        found = {}
        if os.path.exists(results):
            with open(results, encoding='utf-8') as file:
                for line in file:
                    outcome, case = line.rstrip('\n').split(' ', 1)
                    found[case] = outcome
        return found, done


def is_different(bare, recorded, module, case):
    """Whether the outcomes of repeated bare and recorded runs of a case have nothing in common."""
    alone, under = (({outcomes(side, module, case)[0].get(case) for _ in range(AGAIN)})
                    for side in (bare, recorded))
    return not alone & under


def compare(bare, recorded, module):
    """(cases, different ones with both outcomes, unsteady ones)"""
    (one, done), (two, ended) = outcomes(bare, module), outcomes(recorded, module)
    different, unsteady = {}, []
    for case in sorted({*one, *two}):
        if one.get(case) == two.get(case):
            continue
        if is_different(bare, recorded, module, case):
            different[case] = f'bare {one.get(case)}, recorded {two.get(case)}\n{ended.err[-2000:]}'
        else:
            unsteady.append(case)
    if done.status != ended.status and not unsteady:
        different['exit status'] = f'bare {done.status}, recorded {ended.status}\n{ended.err[-2000:]}'
    return sorted({*one, *two}), different, unsteady


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--heaplapse', type=os.path.abspath, required=True)
    parser.add_argument('--table', action='store_true')
    parser.add_argument('modules', nargs='+')
    args = parser.parse_args()
    version = os.path.basename(os.path.realpath(PYTHON))
    if not os.path.exists(f'/usr/lib/{version}/test/test_list.py'):
        print(f"CPython's own tests (lib{version}-testsuite) are not installed")
        return 77
    bare, recorded, table = Side('bare'), Side('recorded', args.heaplapse), Table()
    for module in args.modules:
        cases, different, unsteady = compare(bare, recorded, module)
        table.add(module, len(cases), len(cases) - len(different), len(different),
                  f'run again: {", ".join(case.rpartition(".")[2] for case in unsteady)}' if unsteady else '')
        for case in [] if args.table else cases:
            tap.case(case not in different, case, different.get(case))
        for case in different if args.table else {'exit status'} & {*different}:
            tap.case(False, f'{module}: {case}', different[case])
        tap.case(len(cases) > 0, f'{module}: has cases')
    tap.case(recorded.traces >= len(table.rows), 'what was compared was recorded', recorded.traces)
    table.finish()
    return tap.finish()


sys.exit(main())
