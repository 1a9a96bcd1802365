// SPDX-License-Identifier: Apache-2.0
import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { gripAt, pan, shareOf, timeAt, zoom } from './span';

const ALL = { from: 0, to: 1000 };

test('places outside of what is visible are at its ends', () => {
  equal(shareOf(500, ALL), 0.5);
  equal(shareOf(2000, ALL), 1);
  equal(timeAt(-1, ALL), 0);
  equal(timeAt(0.25, { from: 100, to: 200 }), 125);
});

test('a press near an end of the selection takes that end', () => {
  const selected = { from: 200, to: 600 };
  equal(gripAt(0.21, selected, ALL, 0.02), 'from');
  equal(gripAt(0.59, selected, ALL, 0.02), 'to');
  equal(gripAt(0.4, selected, ALL, 0.02), 'new');
  equal(gripAt(0.4, null, ALL, 0.02), 'new');
});

test('zoom keeps the place under the pointer, and ends at the whole run', () => {
  deepEqual(zoom(ALL, 0.5, 0.5, 1000), { from: 250, to: 750 });
  deepEqual(zoom(ALL, 0, 0.5, 1000), { from: 0, to: 500 });
  equal(zoom({ from: 250, to: 750 }, 0.5, 4, 1000), null);
  deepEqual(pan({ from: 250, to: 750 }, 1, 1000), { from: 500, to: 1000 });
  deepEqual(pan({ from: 250, to: 750 }, -1, 1000), { from: 0, to: 500 });
});
