#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""cases - runs a module of CPython's own tests and writes the outcome of each case to a file.

	cases.py RESULTS MODULE [CASE...]

RESULTS gets a line "OUTCOME CASE" for each: ok, fail, error, skip. The output of a case is not
examined. This file does not depend on heaplapse.
"""
import os
import sys
import unittest


class OutcomeWriter(unittest.TestResult):
    """Writes the outcome of a case when it ends, only in the process that started it."""

    def __init__(self, path):
        super().__init__()
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self.pid, self.outcome, self.inode = os.getpid(), 'ok', os.fstat(self.fd).st_ino

    def note(self, outcome, case):
        if self.outcome == 'ok' or outcome == 'error':
            self.outcome = outcome
        if os.environ.get('CASES_VERBOSE') and self.failures + self.errors:
            print((self.failures + self.errors)[-1][1], file=sys.stderr)

    def startTest(self, test):
        self.outcome = 'ok'
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        # A test of descriptors may have closed our file: then nothing is written.
        if os.getpid() == self.pid and os.fstat(self.fd).st_ino == self.inode:
            os.write(self.fd, f'{self.outcome} {test.id()}\n'.encode())

    def addError(self, test, err):
        super().addError(test, err)
        self.note('error', test)
        if not isinstance(test, unittest.TestCase):     # a class or module whose setup failed
            os.write(self.fd, f'error {test.id()}\n'.encode())

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note('fail', test)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.note('fail', test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note('skip', test)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.note('fail', test)


def flatten_suite(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten_suite(item)
        else:
            yield item


def main():
    results, module, *wanted = sys.argv[1:]
    sys.argv[1:] = []
    loader = unittest.defaultTestLoader
    # the directory of the tests is not that of this file
    sys.path[0] = os.getcwd()
    suite = loader.discover(os.path.join(os.path.dirname(unittest.__file__), '..', *module.split('.')),
                            top_level_dir=os.path.join(os.path.dirname(unittest.__file__), '..')) \
        if module == 'ctypes.test' else loader.loadTestsFromName(module)
    if wanted:
        suite = loader.suiteClass(case for case in flatten_suite(suite) if case.id() in wanted)
    suite.run(OutcomeWriter(results))


if __name__ == '__main__':
    main()
