# SPDX-License-Identifier: Apache-2.0
"""views - the views of report that have an option, from the rows of src/request/view.h.

Tests that hold for every view take them from here, so that a new view is tested without a change of
these tests.
"""
import pathlib
import re

ROWS = pathlib.Path(__file__).resolve().parent.parent / 'src/request/view.h'


def options():
    """['--sites', ...] in the order of the help."""
    listed = re.search(r'#define HL_VIEWS_WITH_OPTION\(X\)(.*?[^\\])\n', ROWS.read_text(), re.S).group(1)
    found = ['--' + name for name in re.findall(r'X\(\w+, \w+, "([\w-]+)"', listed)]
    assert len(found) == listed.count('X('), listed
    return found
