// SPDX-License-Identifier: Apache-2.0
import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { namesOf, sampleTree } from '../../data/tree_sample';
import { labelText } from './label';
import { findPath, writePath } from './path';
import { mergeRecursion } from './recursion';
import { findFrames, searchTerm } from './search';

test('labels keep the end of a name', () => {
  equal(labelText('parse_row', 9), 'parse_row');
  equal(labelText('parse_row', 6), '…e_row');
  equal(labelText('parse_row', 2), '');
  equal(labelText('ns::parse(char const*, int)', 12), 'ns::parse');
  equal(labelText('ns::parse(char const*, int) const', 6), '…parse');
  equal(labelText('Row::operator()', 8), '…rator()');
  equal(labelText('(anonymous namespace)::run', 8), '…e)::run');
  equal(labelText('ns::(anonymous namespace)::run(int)', 10), '…ace)::run');
});

test('a path is found by its names, as far as the tree has them', () => {
  const root = sampleTree('main 9 1; a;b\\c 8 1; d 7 1', [null, 0, 1]);
  const deep = root.children[0]!.children[0]!.children[0]!;
  equal(findPath(root, writePath(deep)), deep);
  equal(writePath(deep), 'main;a\\;b\\\\c;d');
  equal(findPath(root, 'main;other;d'), root.children[0]);
  equal(findPath(root, ''), root);
  equal(findPath(root, ';;\\'), root);
});

test('direct recursion is one frame with the numbers of the outer call', () => {
  // f(100) calls f(70) and g(20); the inner f calls h(40) and f(10), which calls g(10).
  const root = sampleTree('f 100 9; f 70 5; h 40 3; f 10 1; g 10 1; g 20 2', [null, 0, 1, 1, 3, 0]);
  const f = mergeRecursion(root, 'bytes').children[0]!;
  deepEqual([f.bytes, f.blocks, f.depth], [100, 9, 1]);
  deepEqual(
    f.children.map(node => [node.frame!.function, node.bytes, node.depth]),
    [
      ['h', 40, 2],
      ['g', 20, 2],
      ['g', 10, 2],
    ],
  );
  equal(f.children[0]!.parent, f);
  equal(root.children[0]!.children[0]!.frame!.function, 'f');
});

test('a function of the same name in another module is another one', () => {
  const root = sampleTree('f 9 1; f 8 1', [null, 0]);
  root.children[0]!.children[0]!.frame!.module = '/lib/other.so';
  equal(mergeRecursion(root, 'bytes').children[0]!.children.length, 1);
});

test('a search finds names without case, callers first', () => {
  const root = sampleTree('Main 9 1; parse_main 8 1; row 7 1; x 1 1', [null, 0, 1, null]);
  deepEqual(namesOf(findFrames(root, ' MAIN ')), ['Main', 'parse_main']);
  deepEqual(findFrames(root, ' '), []);
  equal(searchTerm('a.b("c"/d)'), 'fn:"/(?i)a\\.b\\(\\x22c\\x22\\/d\\)/"');
});
