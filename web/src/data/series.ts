// SPDX-License-Identifier: Apache-2.0
// series.ts - the answer of the endpoint timeline/{group} (docs/json.md): live bytes of each row at some moments. The
// moments need not be at equal distances; null is a value that is not known.

import type { Answer, Mark } from './types';

// The name of a row: the same members as in a row of table/{group}.
export interface RowName {
  name: string;
  function?: string | null;
  file?: string | null;
  line?: number;
  module?: string | null;
  thread?: number;
  thread_name?: string | null;
  from_bytes?: number | null;
  below_bytes?: number | null;
  from_ns?: number | null;
  below_ns?: number | null;
}

export type Values = (number | null)[];

export interface SeriesRow extends RowName {
  max_live_bytes: number;
  live_bytes: Values;
}

export interface SeriesAnswer extends Answer {
  group: string;
  duration_ns: number;
  from_ns: number;
  to_ns: number;
  estimated?: boolean;
  before_damage?: boolean;
  moments_ns: number[];
  total_live_bytes: Values;
  rows: SeriesRow[];
  others: { rows: number; live_bytes: Values };
  marks: Mark[];
}

// A key for each row, the same in all answers: its name, or more if several rows have it.
export function rowKeys(rows: readonly RowName[]): string[] {
  const counts = new Map<string, number>();
  for (const { name } of rows) counts.set(name, (counts.get(name) ?? 0) + 1);
  return rows.map(row => (counts.get(row.name) === 1 ? row.name : fullKey(row)));
}

// Rows of two answers are compared by all that says which they are.
export function fullKey(row: RowName): string {
  return [row.name, row.file, row.line, row.module, row.thread].filter(one => one != null).join(' ');
}

// The index of the moment that is nearest to a time; -1: there is none.
export function momentNear(moments: readonly number[], ns: number): number {
  let low = 0;
  let high = moments.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (moments[middle]! < ns) low = middle + 1;
    else high = middle;
  }
  if (low === moments.length) return low - 1;
  return low > 0 && ns - moments[low - 1]! < moments[low]! - ns ? low - 1 : low;
}
