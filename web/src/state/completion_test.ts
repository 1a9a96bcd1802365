// SPDX-License-Identifier: Apache-2.0
import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { complete, refusalOf, suggestKeys, suggestNames, wordAt } from './completion';

test('the word at the caret', () => {
  const rows: [string, string | null, string][] = [
    ['', '', ''],
    ['si', '', 'si'],
    ['fn:a si', '', 'si'],
    ['-fn:pa', 'fn', 'pa'],
    ['fn:"operator n', 'fn', 'operator n'],
    ['thread:1,wor', 'thread', 'wor'],
    ['freed-fn:x', 'freed-fn', 'x'],
    ['fn:"a" ', '', ''],
    ['size:>=4K', 'size', '>=4K'],
    ['a::b', null, ''],
  ];
  for (const [text, key, value] of rows) {
    const word = wordAt(text, text.length);
    equal(word?.key ?? null, key, text);
    if (word) equal(word.value, value, text);
  }
});

test('suggestions are put in place of the word', () => {
  const word = wordAt('-mod x', 4)!;
  const key = suggestKeys(word)[0]!;
  deepEqual(complete('-mod x', word, key), { text: '-module: x', caret: 8 });
  const name = wordAt('fn:"oper', 8)!;
  const rows = [{ name: 'operator new' }];
  const found = suggestNames(name, 'function', rows);
  deepEqual(complete('fn:"oper', name, found[0]!), { text: 'fn:"/^operator new$/" ', caret: 22 });
});

test('names that contain the value, once', () => {
  const rows = ['parse', 'main', 'sparse', 'parse'].map(one => ({ name: one }));
  const found = suggestNames(wordAt('fn:PAR', 6)!, 'function', rows);
  deepEqual(
    found.map(one => one.text),
    ['parse', 'sparse'],
  );
  deepEqual(suggestNames(wordAt('thread:', 7)!, 'thread', [{ name: 'thread 2 (tid 7)', thread: 2 }])[0]!.text, '2');
});

test('the place of an error', () => {
  const error = 'filter: expected a size such as 4096 or 64K, at character 6 of "size:x"';
  deepEqual(refusalOf(error, 'size:x'), { reason: 'expected a size such as 4096 or 64K', at: 5 });
  equal(refusalOf(error, 'size:y'), null);
  equal(refusalOf('the trace has no such time', 'size:x'), null);
});
