// SPDX-License-Identifier: Apache-2.0

import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { nextOrder, orderParams, parseOrder } from './order';

test('an order in the address is one of the server', () => {
  deepEqual(orderParams(parseOrder('', false), false), { sort: 'time' });
  deepEqual(orderParams(parseOrder('-time', false), false), { sort: 'time', reverse: true });
  deepEqual(orderParams(parseOrder('-size', false), false), { sort: 'size' });
  deepEqual(orderParams(parseOrder('size', false), false), { sort: 'size', reverse: true });
  deepEqual(orderParams(parseOrder('', true), true), { sort: 'bytes' });
  deepEqual(orderParams(parseOrder('-run-leaked', true), true), { sort: 'run-leaked' });
});

test('an unknown column is the default', () => {
  for (const sort of ['nonsense', 'constructor', '-', 'run-leaked']) equal(parseOrder(sort, false).key, 'time');
  equal(parseOrder('address', true).key, 'bytes');
});

test('a click sorts, another one reverses', () => {
  equal(nextOrder(parseOrder('', false), 'size', false), '-size');
  equal(nextOrder(parseOrder('-size', false), 'size', false), 'size');
  equal(nextOrder(parseOrder('', false), 'time', false), '-time');
});
