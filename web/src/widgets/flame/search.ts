// SPDX-License-Identifier: Apache-2.0
// search.ts - frames whose function has a text in its name, and the term of a filter that matches the same frames.

import type { TreeNode } from '../../data/tree';
import { frameText } from '../frame_name';

export function findFrames(root: TreeNode, text: string): TreeNode[] {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const found: TreeNode[] = [];
  const pending = [...root.children].reverse();
  while (pending.length) {
    const node = pending.pop()!;
    if (frameText(node.frame!).toLowerCase().includes(wanted)) found.push(node);
    pending.push(...[...node.children].reverse());
  }
  return found;
}

export function searchTerm(text: string): string {
  const pattern = text
    .trim()
    .replace(/[\\^$.|?*+()[\]{}/]/g, '\\$&')
    .replaceAll('"', '\\x22');
  return `fn:"/(?i)${pattern}/"`;
}
