// SPDX-License-Identifier: Apache-2.0
// bands.ts - the rows of the chart, and where they are drawn. Heights of a stack are places in the picture only; every
// number that is shown is a value of the answer.

import { rowKeys, type SeriesAnswer, type SeriesRow, type Values } from '../../data/series';

export const OTHERS = '[others]';
const COLORS = 10;

export interface Band {
  key: string;
  name: string;
  color: string; // a custom property of the style sheet
  values: Values;
  max: number | null; // null: of the others it is not known
  row: SeriesRow | null; // null: the others
}

export function bandsOf(answer: SeriesAnswer): Band[] {
  const keys = rowKeys(answer.rows);
  const bands: Band[] = answer.rows.map((row, i) => ({
    key: keys[i]!,
    name: row.name,
    color: `--row-${i % COLORS}`,
    values: row.live_bytes,
    max: row.max_live_bytes,
    row,
  }));
  const { rows, live_bytes } = answer.others;
  if (rows > 0)
    bands.push({
      key: OTHERS,
      name: `${rows} others`,
      color: '--row-others',
      values: live_bytes,
      max: null,
      row: null,
    });
  return bands;
}

// The upper edges of bands on top of each other, the first at the bottom.
export function edgesOf(bands: readonly Band[]): Values[] {
  const edges: Values[] = [];
  for (const { values } of bands) {
    const below = edges.at(-1);
    edges.push(values.map((value, k) => (value === null ? null : value + (below?.[k] ?? 0))));
  }
  return edges;
}

// The band at a height of the picture at one moment: of a stack the one that has the height in it, of lines the nearest.
export function bandAt(heights: readonly Values[], moment: number, height: number, stacked: boolean): number {
  let found = -1;
  let nearest = Number.POSITIVE_INFINITY;
  heights.forEach((values, i) => {
    const value = values[moment];
    if (value == null) return;
    const distance = stacked ? value - height : Math.abs(value - height);
    if (distance >= 0 && distance < nearest) {
      found = i;
      nearest = distance;
    }
  });
  return found;
}
