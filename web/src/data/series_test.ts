// SPDX-License-Identifier: Apache-2.0
import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { momentNear, rowKeys } from './series';

test('the nearest of moments at different distances', () => {
  const moments = [10, 20, 100];
  for (const [ns, index] of [
    [0, 0],
    [14, 0],
    [15, 1],
    [59, 1],
    [61, 2],
    [900, 2],
  ] as const)
    equal(momentNear(moments, ns), index);
  equal(momentNear([], 5), -1);
});

test('rows of one name have different keys', () => {
  const rows = [{ name: 'a' }, { name: 'b', module: 'm' }, { name: 'b', module: 'n' }];
  deepEqual(rowKeys(rows), ['a', 'b m', 'b n']);
});
