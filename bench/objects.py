# SPDX-License-Identifier: Apache-2.0
"""objects - the python3 workload of the benchmark: objects, strings, containers and JSON, repeated
N times.

	PYTHONMALLOC=malloc python3 bench/objects.py N
"""
import json
import re
import sys


class Node:
    def __init__(self, name, children):
        self.name = name
        self.children = children

    def as_dict(self):
        return {'name': self.name, 'children': [child.as_dict() for child in self.children]}


def tree(name, depth):
    return Node(name, [tree('%s.%d' % (name, i), depth - 1) for i in range(4)] if depth else [])


def run_once(n):
    text = json.dumps(tree('root%d' % n, 5).as_dict())
    back = json.loads(text)
    counts = {}
    for word in re.findall(r'[\w.]+', text):
        counts[word] = counts.get(word, 0) + 1
    return len(back['children']) + len(sorted(counts, key=lambda word: (counts[word], word)))


print(sum(run_once(n) for n in range(int(sys.argv[1]))))
