// SPDX-License-Identifier: Apache-2.0
// path.ts - a path of frames as text for the address: names, so that it stays valid when the trace grows, and when
// other frames are left out.

import { pathTo, type TreeNode } from '../../data/tree';
import { frameText } from '../frame_name';

// With its line, which siblings of one name differ by.
function nameOf(node: TreeNode): string {
  const { line } = node.frame!;
  return `${frameText(node.frame!)}${line ? `:${line}` : ''}`.replace(/[\\;]/g, '\\$&');
}

export function writePath(node: TreeNode): string {
  return pathTo(node).slice(1).map(nameOf).join(';');
}

// The node of a path, or the last one on it that the tree has.
export function findPath(root: TreeNode, path: string): TreeNode {
  let at = root;
  for (const name of path.match(/(?:\\.|[^\\;])+/gs) ?? []) {
    const next = at.children.find(child => nameOf(child) === name);
    if (!next) break;
    at = next;
  }
  return at;
}
