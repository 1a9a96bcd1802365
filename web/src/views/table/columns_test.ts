// SPDX-License-Identifier: Apache-2.0
import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { type Line, nextSort, orderOf, sortLines, sortParams } from './columns';

function line(name: string, bytes: number, blocks: number, life: number | null = null): Line {
  const facts = { name, freed_blocks: 1, median_lifetime_ns: life };
  return { key: name, row: { name, bytes, blocks }, series: undefined, facts, temporary: undefined };
}

const LINES = [line('b', 100, 1, 5), line('a', 50, 10), line('c', 100, 4, 9)];
const names = (sort: string) => sortLines(LINES, orderOf(sort, 'bytes', 'site')).map(one => one.row.name);

test('rows by each column, both ways; unknown values are last', () => {
  deepEqual(names(''), ['b', 'c', 'a']);
  deepEqual(names('bytes'), ['a', 'b', 'c']);
  deepEqual(names('-blocks'), ['a', 'c', 'b']);
  deepEqual(names('name'), ['a', 'b', 'c']);
  deepEqual(names('-average'), ['b', 'c', 'a']);
  deepEqual(names('life'), ['b', 'c', 'a']);
  deepEqual(names('-life'), ['c', 'b', 'a']);
  deepEqual(names('-nothing'), ['b', 'c', 'a']);
});

test('a click on a head', () => {
  const order = orderOf('', 'blocks', 'site')!;
  equal(nextSort(order.column, order), 'blocks');
  equal(nextSort(orderOf('bytes', 'bytes', 'site')!.column, order), '-bytes');
  equal(nextSort(orderOf('name', 'bytes', 'site')!.column, order), 'name');
});

test('the order that the server is asked for', () => {
  deepEqual(sortParams('-life', 'blocks', 'site'), { sort: 'blocks' });
  deepEqual(sortParams('-average', 'blocks', 'size'), { sort: 'average' });
  deepEqual(sortParams('', 'bytes', 'size'), {});
  equal(sortLines(LINES, orderOf('', 'bytes', 'thread')), LINES);
});
