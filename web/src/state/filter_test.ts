// SPDX-License-Identifier: Apache-2.0
import { equal } from 'node:assert/strict';
import { test } from 'node:test';
import { addTerm, negated, rowTerm } from './filter';

test('a row of each group as a term', () => {
  const rows: [string, Parameters<typeof rowTerm>[1], string][] = [
    ['site', { name: 'f a.c:3', function: 'f' }, 'fn:/^f$/'],
    ['function', { name: '0x1f [libz.so]' }, 'fn:/^0x1f$/'],
    ['function', { name: '[no stack]' }, ''],
    ['function', { name: 'a::b(int)' }, 'fn:"/^a::b\\(int\\)$/"'],
    ['stack', { name: '[no stack]', function: null }, ''],
    ['file', { name: '/src/a b.c' }, 'file:"/^\\/src\\/a b\\.c$/"'],
    ['file', { name: '[file not known]' }, ''],
    ['module', { name: '/bin/x"y' }, 'module:"/^\\/bin\\/x\\x22y$/"'],
    ['tag', { name: 'render' }, 'tag:/^render$/'],
    ['tag', { name: '[no tag]' }, '-tag:*'],
    ['thread', { name: 'thread 3 (tid 5)', thread: 3 }, 'thread:3'],
    ['call', { name: 'operator new' }, 'call:"operator new"'],
    ['size', { name: '16 B - 31 B', from_bytes: 16, below_bytes: 32 }, 'size:16..31'],
    ['size', { name: '0 B', from_bytes: 0, below_bytes: 1 }, 'size:0..0'],
    ['life', { name: '', from_ns: 1000, below_ns: 10000 }, 'life:1000ns..9999ns'],
    ['life', { name: '', from_ns: 1000, below_ns: null }, 'life:>=1000ns'],
    ['life', { name: 'not freed', from_ns: null, below_ns: null }, 'alive:end'],
    ['snapshot', { name: 'before' }, ''],
  ];
  for (const [group, row, term] of rows) equal(rowTerm(group, row), term);
});

test('terms are added once, and negated', () => {
  equal(addTerm('fn:a', 'fn:b'), 'fn:a fn:b');
  equal(addTerm('fn:a fn:b', 'fn:b'), 'fn:a fn:b');
  equal(negated('fn:a'), '-fn:a');
  equal(negated('-tag:*'), 'tag:*');
});
