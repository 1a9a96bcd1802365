// SPDX-License-Identifier: Apache-2.0
// slots.ts - the places of the bars of a histogram. An answer has only classes with blocks; the axis is logarithmic, so
// a class without blocks has an empty place. Rows without bounds (not freed) are at the end, apart from the others.

import type { ClassRow } from './class_types';

// A size is of a class from one power of two to the next, a lifetime from one power of ten to the next.
const BASES: Record<string, number> = { size: 2, life: 10 };
const SLOTS_MAX = 80;

// null: an empty place.
export function slotsOf(group: string, rows: readonly ClassRow[]): (ClassRow | null)[] {
  const slots: (ClassRow | null)[] = [];
  let end: number | null = null;
  for (const row of rows) {
    const [from, below] = boundsOf(group, row);
    const isApart = from === null && below === null;
    const empty = isApart ? 1 : emptyBetween(BASES[group] ?? 2, end, from);
    for (let i = 0; i < empty && slots.length > 0 && slots.length < SLOTS_MAX; i++) slots.push(null);
    slots.push(row);
    end = below;
  }
  return slots;
}

function boundsOf(group: string, row: ClassRow): [number | null, number | null] {
  return group === 'size'
    ? [row.from_bytes ?? null, row.below_bytes ?? null]
    : [row.from_ns ?? null, row.below_ns ?? null];
}

function emptyBetween(base: number, end: number | null, from: number | null): number {
  if (!end || !from || from <= end) return 0;
  return Math.round(Math.log(from / end) / Math.log(base));
}
