// SPDX-License-Identifier: Apache-2.0
// columns.ts - the rows of the table with all that is known of them, its columns, and their order.

import type { SeriesRow } from '../../data/series';
import type { Params } from '../../data/source';
import type { Group } from '../../state/fields';
import type { Unit } from '../../text/text';
import type { SiteFacts, TableRow } from './table_types';

export interface Share {
  part: number;
  whole: number;
}

export interface Line {
  key: string; // of rows.ts
  row: TableRow;
  series: SeriesRow | undefined;
  facts: SiteFacts | undefined;
  temporary: Share | undefined;
}

export interface Column {
  key: string; // of `sort` in the address
  title: string;
  hint: string;
  number: boolean;
  ofSites?: boolean; // only in the table of sites
  value(line: Line): number | string | null;
}

export const COLUMNS: readonly Column[] = [
  { key: 'bytes', title: 'Bytes', hint: 'bytes of its blocks', number: true, value: ({ row }) => row.bytes },
  { key: 'blocks', title: 'Blocks', hint: 'number of its blocks', number: true, value: ({ row }) => row.blocks },
  {
    key: 'average',
    title: 'Average',
    hint: 'bytes of a block on average',
    number: true,
    value: ({ row }) => averageOf(row),
  },
  {
    key: 'freed',
    title: 'Freed',
    hint: 'blocks of the site that were freed, in the whole run',
    number: true,
    ofSites: true,
    value: ({ facts }) => facts?.freed_blocks ?? null,
  },
  {
    key: 'life',
    title: 'Median life',
    hint: 'the median lifetime of the freed blocks of the site, to 19 %',
    number: true,
    ofSites: true,
    value: ({ facts }) => facts?.median_lifetime_ns ?? null,
  },
  {
    key: 'temporary',
    title: 'Temporary',
    hint: 'the share of all allocations of the site that were freed by the very next event',
    number: true,
    ofSites: true,
    value: ({ temporary }) => (temporary?.whole ? temporary.part / temporary.whole : null),
  },
  {
    key: 'highest',
    title: 'Over time',
    hint: 'live bytes over the visible time, each row in its own scale; sorted by the highest value',
    number: false,
    value: ({ series }) => series?.max_live_bytes ?? null,
  },
  { key: 'name', title: '', hint: 'the name', number: false, value: ({ row }) => row.name },
];

export function averageOf(row: TableRow): number | null {
  return row.blocks > 0 ? Math.floor(row.bytes / row.blocks) : null;
}

export interface Order {
  column: Column;
  falling: boolean;
}

// Rows of these groups have an order of their own.
const SCALES: readonly Group[] = ['size', 'life', 'thread', 'snapshot'];

// The order in the address, or else by the unit. null: the order of the answer.
export function orderOf(sort: string, unit: Unit, group: Group): Order | null {
  const column = COLUMNS.find(one => one.key === sort.replace(/^-/, ''));
  if (!column && SCALES.includes(group)) return null;
  return column
    ? { column, falling: sort.startsWith('-') }
    : { column: COLUMNS.find(one => one.key === unit)!, falling: true };
}

// The order after a click on the head of a column: numbers begin with the largest.
export function nextSort(column: Column, order: Order | null): string {
  const falling = order?.column === column ? !order.falling : column.key !== 'name';
  return falling ? `-${column.key}` : column.key;
}

// Rows whose value is not known are last; equal ones keep the order of the answer.
export function sortLines(lines: readonly Line[], order: Order | null): readonly Line[] {
  if (!order) return lines;
  const { column, falling } = order;
  const sign = falling ? -1 : 1;
  return lines
    .map(line => ({ line, value: column.value(line) }))
    .sort((a, b) => {
      if (a.value === null || b.value === null) return Number(a.value === null) - Number(b.value === null);
      return a.value < b.value ? -sign : a.value > b.value ? sign : 0;
    })
    .map(({ line }) => line);
}

// The orders that the server knows: it leaves out the last rows of a very long table.
export function sortParams(sort: string, unit: Unit, group: Group): Params {
  const order = orderOf(sort, unit, group);
  if (!order) return {};
  const { key } = order.column;
  return { sort: ['bytes', 'blocks', 'average', 'name'].includes(key) ? key : unit };
}
