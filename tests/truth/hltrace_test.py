#!/usr/bin/python3
"""hltrace_test - the judge is judged: reports made by hand, right and wrong."""
import sys

from hltrace import Failure, Results, check_sums, expect, flatten


def node(function, self_blocks=0, self_bytes=0, children=()):
    return {'function': function, 'file': None, 'line': 0, 'module': 'm', 'inlined': False,
            'self_blocks': self_blocks, 'self_bytes': self_bytes,
            'blocks': self_blocks + sum(child['blocks'] for child in children),
            'bytes': self_bytes + sum(child['bytes'] for child in children),
            'children': list(children)}


def listed(roots):
    """As a report has them: callers first, each with its caller's number."""
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
    return {'schema': 1, 'quantity': 'live', 'nodes': listed(roots),
            'total_blocks': sum(root['blocks'] for root in roots),
            'total_bytes': sum(root['bytes'] for root in roots)}


GOOD = report(
    node('_start', children=[
        node('main', 1, 5, [
            node('step', children=[node('site_a', 2, 20)]),
            node('site_a', 1, 10),                                  # again, by another path
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


def broken(key, by):
    """GOOD with one number wrong."""
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
        results.case(f'a wrong {key} is seen', must_fail, check_sums, broken(key, 1))
    return results.status()


sys.exit(main())
