// SPDX-License-Identifier: Apache-2.0
// layout.ts - where the frames of a flame graph are: pure functions of a tree, the zoomed node and a width.
//
// Row 0 is the root. The callers of the zoomed node have the whole width; its callees are below it in proportion to
// their bytes or blocks. Frames that are narrower than NARROWEST are not drawn.

import { pathTo, type TreeNode } from '../../data/tree';
import type { Unit } from '../../text/text';

export const ROW = 20; // px
const NARROWEST = 0.5; // px
const ROWS_MAX = 700; // a canvas cannot be higher

export interface Box {
  node: TreeNode;
  row: number;
  x: number; // px
  width: number;
  above: boolean; // a caller of the zoomed node
}

export interface Layout {
  rows: Box[][]; // of each row, from left to right
  rowsLeftOut: boolean;
}

export function layOut(zoomed: TreeNode, unit: Unit, width: number): Layout {
  const path = pathTo(zoomed);
  const rows: Box[][] = path
    .slice(-ROWS_MAX / 2)
    .map((node, row) => [{ node, row, x: 0, width, above: node !== zoomed }]);
  let rowsLeftOut = false;
  for (let row = rows.length; ; row++) {
    const boxes = rows[row - 1]!.flatMap(box => (box.above ? [] : boxesBelow(box, unit, row)));
    if (!boxes.length) break;
    rowsLeftOut = row >= ROWS_MAX;
    if (rowsLeftOut) break;
    rows.push(boxes);
  }
  return { rows, rowsLeftOut };
}

function boxesBelow(box: Box, unit: Unit, row: number): Box[] {
  const scale = box.width / (box.node[unit] || 1);
  const boxes: Box[] = [];
  let x = box.x;
  for (const node of box.node.children) {
    const width = node[unit] * scale;
    if (width >= NARROWEST) boxes.push({ node, row, x, width, above: false });
    x += width;
  }
  return boxes;
}

// The box at a place; undefined: none.
export function boxAt(layout: Layout, row: number, x: number): Box | undefined {
  const boxes = layout.rows[row] ?? [];
  let low = 0;
  let high = boxes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (boxes[middle]!.x + boxes[middle]!.width <= x) low = middle + 1;
    else high = middle;
  }
  const box = boxes[low];
  return box && box.x <= x ? box : undefined;
}

export function boxOf(layout: Layout, node: TreeNode): Box | undefined {
  for (const row of layout.rows) {
    const box = row.find(one => one.node === node);
    if (box) return box;
  }
  return undefined;
}

export type Step = 'caller' | 'callee' | 'left' | 'right';

// The box that a key leads to: only those that are drawn.
export function boxBeside(layout: Layout, from: Box, step: Step): Box | undefined {
  if (step === 'caller') return layout.rows[from.row - 1]?.find(box => box.node === from.node.parent);
  if (step === 'callee') return layout.rows[from.row + 1]?.find(box => box.node.parent === from.node);
  const row = layout.rows[from.row]!;
  return row[row.indexOf(from) + (step === 'left' ? -1 : 1)];
}
