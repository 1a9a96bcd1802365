// SPDX-License-Identifier: Apache-2.0
import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { pathTo, treeOf } from './tree';
import { answerOf } from './tree_sample';

test('nodes are below their parents, the root has the total', () => {
  const root = treeOf(answerOf('main 100 40; a 60 1; b 50 1; c 30 2; d 5 1', [null, 0, 1, 0, null]));
  deepEqual([root.bytes, root.blocks, root.depth], [105, 41, 0]);
  deepEqual(
    root.children.map(node => node.frame!.function),
    ['main', 'd'],
  );
  const b = root.children[0]!.children[0]!.children[0]!;
  deepEqual(
    pathTo(b).map(node => node.frame?.function ?? 'all'),
    ['all', 'main', 'a', 'b'],
  );
  equal(b.depth, 3);
});
