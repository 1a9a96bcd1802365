// SPDX-License-Identifier: Apache-2.0
import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { sampleTree } from '../../data/tree_sample';
import { boxAt, boxBeside, boxOf, type Layout, layOut } from './layout';

// main has a (60 bytes, 1 block) and c (30 bytes, 3 blocks), 10 bytes are its own; a has b; d is beside main.
const root = sampleTree('main 100 5; a 60 1; b 60 1; c 30 3; d 100 1', [null, 0, 1, 0, null]);
const main = root.children[0]!;
const [a, c] = [main.children[0]!, main.children[1]!];

function shown(layout: Layout): [string, number, number][][] {
  return layout.rows.map(row => row.map(box => [box.node.frame?.function ?? 'all', box.x, box.width]));
}

test('frames are as wide as their share, below their callers', () => {
  deepEqual(shown(layOut(root, 'bytes', 400)), [
    [['all', 0, 400]],
    [
      ['main', 0, 200],
      ['d', 200, 200],
    ],
    [
      ['a', 0, 120],
      ['c', 120, 60],
    ],
    [['b', 0, 120]],
  ]);
  deepEqual(
    layOut(root, 'blocks', 600).rows[2]!.map(box => box.width),
    [100, 300],
  );
});

test('the zoomed frame and its callers have the whole width, others are not drawn', () => {
  const layout = layOut(a, 'bytes', 300);
  deepEqual(shown(layout), [[['all', 0, 300]], [['main', 0, 300]], [['a', 0, 300]], [['b', 0, 300]]]);
  deepEqual(
    layout.rows.map(row => row[0]!.above),
    [true, true, false, false],
  );
});

test('frames of less than half a pixel are not drawn, but keep their place', () => {
  const tree = sampleTree('big 1000 1; small 1 1; last 999 1', [null, null, null]);
  deepEqual(shown(layOut(tree, 'bytes', 200))[1], [
    ['big', 0, 100],
    ['last', 100.1, 99.9],
  ]);
});

test('a tree of nothing and a window of no width have no frames', () => {
  equal(layOut(sampleTree('a 0 0', [null]), 'bytes', 100).rows.length, 1);
  equal(layOut(root, 'bytes', 0).rows.length, 1);
});

test('deep stacks end, and that is said', () => {
  const names = Array.from({ length: 5000 }, (_, i) => `f${i} 8 1`);
  const tree = sampleTree(
    names.join('; '),
    names.map((_, i) => (i ? i - 1 : null)),
  );
  const layout = layOut(tree, 'bytes', 100);
  equal(layout.rows.length < 1000, true);
  equal(layout.rowsLeftOut, true);
  let deep = tree;
  while (deep.children.length) deep = deep.children[0]!;
  equal(boxOf(layOut(deep, 'bytes', 100), deep) !== undefined, true);
});

test('the frame under the pointer', () => {
  const layout = layOut(root, 'bytes', 400);
  equal(boxAt(layout, 2, 119.9)?.node, a);
  equal(boxAt(layout, 2, 120)?.node, c);
  equal(boxAt(layout, 2, 185), undefined);
  equal(boxAt(layout, 9, 5), undefined);
  equal(boxAt(layout, -1, 5), undefined);
});

test('arrow keys move between frames that are drawn', () => {
  const layout = layOut(root, 'bytes', 400);
  const at = boxOf(layout, a)!;
  equal(boxBeside(layout, at, 'right')?.node, c);
  equal(boxBeside(layout, at, 'left'), undefined);
  equal(boxBeside(layout, at, 'caller')?.node, main);
  equal(boxBeside(layout, at, 'callee')?.node, a.children[0]);
  equal(boxBeside(layout, boxOf(layout, root)!, 'caller'), undefined);
});
