// SPDX-License-Identifier: Apache-2.0
import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { partOf } from './virtual';

const ROWS = { count: 1000, height: 20, open: -1, openHeight: 100 };

test('what is visible is in the part, and the heights add up', () => {
  for (const open of [-1, 0, 5, 500, 999])
    for (const scrolled of [0, 15, 3000, 10_050, 19_500]) {
      const rows = { ...ROWS, open };
      const part = partOf(rows, scrolled, 400);
      const inPart = open >= part.first && open < part.end ? 100 : 0;
      const shown = (part.end - part.first) * 20 + inPart;
      equal(part.before + shown + part.after, 20_000 + (open < 0 ? 0 : 100));
      equal(part.before <= scrolled && part.before + shown >= Math.min(scrolled + 400, 20_000), true);
    }
});

test('a short table is whole, wherever it was scrolled', () => {
  deepEqual(partOf({ ...ROWS, count: 3 }, 5000, 400), { first: 0, end: 3, before: 0, after: 0 });
  deepEqual(partOf({ ...ROWS, count: 0 }, 0, 400), { first: 0, end: 0, before: 0, after: 0 });
});
