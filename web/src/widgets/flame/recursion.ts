// SPDX-License-Identifier: Apache-2.0
// recursion.ts - a function that calls itself as one frame. Nothing is added up: the outer call has the numbers of the
// inner ones, and what the inner ones call is beside what the outer one calls.

import type { TreeNode } from '../../data/tree';

export function mergeRecursion(root: TreeNode, unit: 'bytes' | 'blocks'): TreeNode {
  const top = { ...root };
  const pending = [top];
  while (pending.length) {
    const node = pending.pop()!;
    node.children = calleesOf(node, unit).map(child => ({ ...child, parent: node, depth: node.depth + 1 }));
    pending.push(...node.children);
  }
  return top;
}

function calleesOf(node: TreeNode, unit: 'bytes' | 'blocks'): TreeNode[] {
  const callees: TreeNode[] = [];
  const pending = [node.children];
  let merged = false;
  while (pending.length) {
    for (const child of pending.pop()!) {
      if (isSameFunction(node, child)) {
        pending.push(child.children);
        merged = true;
      } else callees.push(child);
    }
  }
  return merged ? callees.sort((a, b) => b[unit] - a[unit]) : callees;
}

function isSameFunction(a: TreeNode, b: TreeNode): boolean {
  return a.frame !== null && a.frame.function === b.frame!.function && a.frame.module === b.frame!.module;
}
