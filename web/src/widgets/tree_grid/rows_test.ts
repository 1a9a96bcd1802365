// SPDX-License-Identifier: Apache-2.0
import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import type { TreeNode } from '../../data/tree';
import { namesOf, sampleTree } from '../../data/tree_sample';
import { carryOver, firstShown, openChain, openRows, pressTree } from './rows';

// main - run - (a - b, c); other
const root = sampleTree('main 9 1; run 9 1; a 5 1; b 5 1; c 4 1; other 1 1', [null, 0, 1, 2, 1, null]);
const main = root.children[0]!;
const run = main.children[0]!;
const names = (open: ReadonlySet<TreeNode>) => namesOf(openRows(root, open));

test('a node is opened down to the first branch', () => {
  deepEqual(names(new Set()), ['main', 'other']);
  deepEqual(names(openChain(new Set(), main)), ['main', 'run', 'a', 'c', 'other']);
  deepEqual(names(openChain(new Set(), root)), ['main', 'other']);
});

test('the tree of a new answer has the same rows open', () => {
  const before = { root, open: openChain(new Set(), run), focused: run.children[0]! };
  before.open.add(main);
  const later = sampleTree('other 20 1; main 9 1; new 5 1; run 4 1; c 2 1; a 1 1; b 1 1', [null, null, 1, 1, 3, 3, 5]);
  const after = carryOver(before, later);
  deepEqual(namesOf(openRows(later, after.open)), ['other', 'main', 'new', 'run', 'c', 'a']);
  equal(after.focused?.frame?.function, 'a');
  equal(after.focused?.bytes, 1);
  const other = sampleTree('x 2 1; y 2 1', [null, 0]);
  deepEqual(carryOver(before, other), firstShown(other));
});

test('keys of a tree', () => {
  let open: ReadonlySet<TreeNode> = new Set<TreeNode>();
  let focused = main;
  const press = (key: string) => {
    const moved = pressTree(key, openRows(root, open), open, focused, 2)!;
    open = moved.open;
    focused = moved.focused;
    return [focused.frame!.function, openRows(root, open).length];
  };
  deepEqual(press('ArrowUp'), ['main', 2]);
  deepEqual(press('ArrowRight'), ['main', 5]);
  deepEqual(press('ArrowRight'), ['run', 5]);
  deepEqual(press('ArrowDown'), ['a', 5]);
  deepEqual(press('Enter'), ['a', 6]);
  deepEqual(press('End'), ['other', 6]);
  deepEqual(press('PageUp'), ['b', 6]);
  deepEqual(press('ArrowRight'), ['b', 6]);
  deepEqual(press('ArrowLeft'), ['a', 6]);
  deepEqual(press('ArrowLeft'), ['a', 5]);
  deepEqual(press('ArrowLeft'), ['run', 5]);
  deepEqual(press(' '), ['run', 3]);
  deepEqual(press('Home'), ['main', 3]);
  deepEqual(press('ArrowLeft'), ['main', 2]);
  deepEqual(press('ArrowLeft'), ['main', 2]);
  deepEqual(press('*'), ['main', 3]);
  equal(pressTree('x', openRows(root, open), open, run, 2), null);
});
