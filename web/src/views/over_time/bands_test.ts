// SPDX-License-Identifier: Apache-2.0
import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { type Band, bandAt, edgesOf } from './bands';

function band(values: (number | null)[]): Band {
  return { key: '', name: '', color: '', values, max: 0, row: null };
}

test('bands are on top of each other, with gaps where nothing is known', () => {
  deepEqual(edgesOf([band([1, 2, null]), band([5, 0, null])]), [
    [1, 2, null],
    [6, 2, null],
  ]);
});

test('the band under the pointer', () => {
  const stack = [[10], [30], [null]];
  equal(bandAt(stack, 0, 5, true), 0);
  equal(bandAt(stack, 0, 10.5, true), 1);
  equal(bandAt(stack, 0, 31, true), -1);
  equal(bandAt(stack, 0, 28, false), 1);
  equal(bandAt(stack, 1, 5, false), -1);
});
