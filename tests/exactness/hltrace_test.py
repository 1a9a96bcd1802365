#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""hltrace_test - tests the checks of hltrace.py with hand-made reports, correct and wrong."""
import sys

from hltrace import Failure, Results, check_sums, expect, flatten


def node(function, self_blocks=0, self_bytes=0, children=()):
    return {'function': function, 'file': None, 'line': 0, 'module': 'm', 'inlined': False,
            'self_blocks': self_blocks, 'self_bytes': self_bytes,
            'blocks': self_blocks + sum(child['blocks'] for child in children),
            'bytes': self_bytes + sum(child['bytes'] for child in children),
            'children': list(children)}


def list_nodes(roots):
    """The nodes as a report lists them: callers first, each node with the index of its caller."""
    rows = []

    def add(node, parent):
        at = len(rows)
        rows.append({key: value for key, value in node.items() if key != 'children'})
        rows[at]['parent'] = parent
        for child in node['children']:
            add(child, at)

    for root in roots:
        add(root, None)
    return rows


def report(*roots):
    return {'schema': 1, 'quantity': 'live', 'nodes': list_nodes(roots),
            'total_blocks': sum(root['blocks'] for root in roots),
            'total_bytes': sum(root['bytes'] for root in roots)}


GOOD = report(
    node('_start', children=[
        node('main', 1, 5, [
            node('step', children=[node('site_a', 2, 20)]),
            node('site_a', 1, 10),                                  # the same site by another path
            node('site_b', children=[node('operator new', 3, 30)]),  # the allocator's own frame
            node(None, 1, 7),                                       # a frame without a name
        ])]),
    node('clone', children=[node('site_a', 0, 0)]))


def must_fail(check, *args):
    try:
        check(*args)
    except Failure:
        return
    raise Failure('was let through')


def with_wrong_number(key, by):
    """GOOD with one wrong number."""
    bad = report(node('main', children=[node('site_a', 2, 20)]))
    place = bad if key.startswith('total') else bad['nodes'][1]
    place[key] += by
    return bad


def main():
    results = Results()
    results.case('sites are summed over their places', lambda: expect(
        'sites', flatten(GOOD['nodes']), {'site_a': (3, 30), 'site_b': (3, 30)}))
    results.case('an empty tree has no sites', lambda: expect('sites', flatten([]), {}))
    results.case('a sound report passes', check_sums, GOOD)
    for key in ('total_bytes', 'total_blocks', 'bytes', 'blocks', 'self_bytes', 'self_blocks'):
        results.case(f'a wrong {key} is seen', must_fail, check_sums, with_wrong_number(key, 1))
    return results.status()


sys.exit(main())
