// SPDX-License-Identifier: Apache-2.0
import { deepEqual } from 'node:assert/strict';
import { test } from 'node:test';
import type { ClassRow } from './class_types';
import { slotsOf } from './slots';

function size(from: number, below: number): ClassRow {
  return { name: `${from}`, bytes: 1, blocks: 1, from_bytes: from, below_bytes: below };
}

function life(from: number | null, below: number | null): ClassRow {
  return { name: `${from}`, bytes: 1, blocks: 1, from_ns: from, below_ns: below };
}

function names(slots: (ClassRow | null)[]): string[] {
  return slots.map(slot => slot?.name ?? '-');
}

test('classes of size without blocks have a place', () => {
  deepEqual(names(slotsOf('size', [size(0, 1), size(1, 2), size(16, 32), size(32, 64)])), [
    '0',
    '1',
    '-',
    '-',
    '-',
    '16',
    '32',
  ]);
});

test('lifetimes are in powers of ten, and blocks that are not freed are apart', () => {
  const rows = [life(null, 1000), life(10_000, 100_000), life(null, null)];
  deepEqual(names(slotsOf('life', rows)), ['null', '-', '10000', '-', 'null']);
});

test('nothing is before the first bar', () => {
  deepEqual(names(slotsOf('life', [life(null, null)])), ['null']);
  deepEqual(slotsOf('size', []), []);
});
