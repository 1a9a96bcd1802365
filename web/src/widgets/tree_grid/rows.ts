// SPDX-License-Identifier: Apache-2.0
// rows.ts - the rows of a tree whose nodes are open or closed. Pure functions.

import type { TreeNode } from '../../data/tree';

export type Open = ReadonlySet<TreeNode>;

// Nodes whose callers are all open, callers first.
export function openRows(root: TreeNode, open: Open): TreeNode[] {
  const rows: TreeNode[] = [];
  const pending = [...root.children].reverse();
  while (pending.length) {
    const node = pending.pop()!;
    rows.push(node);
    if (open.has(node)) for (let i = node.children.length; i-- > 0; ) pending.push(node.children[i]!);
  }
  return rows;
}

// With a node, the nodes below it are opened up to the first branch.
export function openChain(open: Open, from: TreeNode): Set<TreeNode> {
  const next = new Set(open);
  for (let node = from; ; node = node.children[0]!) {
    if (node.parent && node.children.length) next.add(node);
    if (node.children.length !== 1) return next;
  }
}

export function close(open: Open, node: TreeNode): Set<TreeNode> {
  const next = new Set(open);
  next.delete(node);
  return next;
}

// All nodes below the caller of one node; key *.
export function openBeside(open: Open, node: TreeNode): Set<TreeNode> {
  const next = new Set(open);
  for (const one of node.parent?.children ?? []) if (one.children.length) next.add(one);
  return next;
}

// What is shown of a tree.
export interface Shown {
  root: TreeNode;
  open: Open;
  focused: TreeNode | null;
}

export function firstShown(root: TreeNode): Shown {
  return { root, open: openChain(new Set(), root.children[0] ?? root), focused: null };
}

// The same rows in the tree of another answer. Of rows that are in sight all callers are open.
export function carryOver(before: Shown, root: TreeNode): Shown {
  const open = new Set<TreeNode>();
  let focused: TreeNode | null = null;
  const pending: [TreeNode, TreeNode][] = [[before.root, root]];
  while (pending.length) {
    const [old, now] = pending.pop()!;
    const children = new Map(now.children.map(child => [keyOf(child), child]));
    for (const child of old.children) {
      const same = children.get(keyOf(child));
      if (!same) continue;
      if (child === before.focused) focused = same;
      if (!before.open.has(child)) continue;
      open.add(same);
      pending.push([child, same]);
    }
  }
  return open.size ? { root, open, focused } : firstShown(root);
}

function keyOf(node: TreeNode): string {
  const { function: name, file, line, module } = node.frame!;
  return JSON.stringify([name, file, line, module]);
}

export interface Moved {
  open: Open;
  focused: TreeNode;
}

// The rows after a key; null: it is not one of a tree.
export function pressTree(
  key: string,
  rows: readonly TreeNode[],
  open: Open,
  focused: TreeNode,
  page: number,
): Moved | null {
  const at = rows.indexOf(focused);
  const to = (row: number): Moved => ({ open, focused: rows[Math.max(0, Math.min(row, rows.length - 1))] ?? focused });
  const opens = focused.children.length > 0;
  switch (key) {
    case 'ArrowDown':
      return to(at + 1);
    case 'ArrowUp':
      return to(at - 1);
    case 'PageDown':
      return to(at + page);
    case 'PageUp':
      return to(at - page);
    case 'Home':
      return to(0);
    case 'End':
      return to(rows.length - 1);
    case 'ArrowRight':
      return open.has(focused) ? to(at + 1) : { open: opens ? openChain(open, focused) : open, focused };
    case 'ArrowLeft':
      if (open.has(focused)) return { open: close(open, focused), focused };
      return { open, focused: focused.parent?.parent ? focused.parent : focused };
    case 'Enter':
    case ' ':
      if (open.has(focused)) return { open: close(open, focused), focused };
      return { open: opens ? openChain(open, focused) : open, focused };
    case '*':
      return { open: openBeside(open, focused), focused };
    default:
      return null;
  }
}
