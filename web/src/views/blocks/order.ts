// SPDX-License-Identifier: Apache-2.0
// order.ts - the columns that the server sorts by. In the address a - is before the largest first, as in all views; the
// server has a natural direction for each, and `reverse`.

import type { Params } from '../../data/source';

export const PAGE_ROWS = 100;
export const GROUP_ROWS = 20;
export const OFFSET_MAX = 100000; // of the server

// Amounts are sorted from the largest by nature, times and addresses from the smallest.
const LIST: Record<string, boolean> = { time: false, life: true, size: true, address: false };
const GROUPS: Record<string, boolean> = {
  bytes: true,
  blocks: true,
  leaked: true,
  first: false,
  last: false,
  interval: true,
  'run-blocks': true,
  'run-leaked': true,
  'run-first': false,
  'run-last': false,
  'run-interval': true,
  'run-peak': false,
};

export interface Order {
  key: string;
  falling: boolean;
}

export function parseOrder(sort: string, grouped: boolean): Order {
  const keys = grouped ? GROUPS : LIST;
  const key = sort.replace(/^-/, '');
  if (Object.hasOwn(keys, key)) return { key, falling: sort.startsWith('-') };
  return grouped ? { key: 'bytes', falling: true } : { key: 'time', falling: false };
}

// The order after a click on the head of a column.
export function nextOrder(now: Order, key: string, grouped: boolean): string {
  const natural = (grouped ? GROUPS : LIST)[key]!;
  const falling = now.key === key ? !now.falling : natural;
  return `${falling ? '-' : ''}${key}`;
}

export function orderParams(order: Order, grouped: boolean): Params {
  const reverse = order.falling !== (grouped ? GROUPS : LIST)[order.key];
  return { sort: order.key, ...(reverse ? { reverse: true } : {}) };
}
