// SPDX-License-Identifier: Apache-2.0
// virtual.ts - which rows of a long table are in the document: those that can be seen, and some around them. All rows
// have one height, except one that may be open.

export interface Rows {
  count: number;
  height: number; // px, of a row
  open: number; // the row below which more is shown; -1: none
  openHeight: number;
}

export interface Part {
  first: number;
  end: number; // the first row behind the part
  before: number; // px of the rows that are left out
  after: number;
}

const AROUND = 12;

export function partOf(rows: Rows, scrolled: number, visible: number): Part {
  const { count, height, open, openHeight } = rows;
  const extra = (end: number) => (open >= 0 && open < end ? openHeight : 0);
  const above = Math.max(0, scrolled - (open >= 0 && scrolled > (open + 1) * height ? openHeight : 0));
  const last = Math.max(0, count - Math.ceil(visible / height));
  const first = Math.max(0, Math.min(last, Math.floor(above / height)) - AROUND);
  const end = Math.min(count, first + Math.ceil(visible / height) + 2 * AROUND);
  const all = count * height + extra(count);
  return { first, end, before: first * height + extra(first), after: all - end * height - extra(end) };
}
