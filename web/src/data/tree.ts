// SPDX-License-Identifier: Apache-2.0
// tree.ts - the answer of the endpoints tree and flame (docs/json.md), and its nodes with their children.

import type { Frame, QuantityAnswer } from './types';

export type Owner = 'program' | 'library' | 'runtime' | 'called' | 'unknown' | 'group';

export interface AnswerNode extends Frame {
  parent: number | null;
  owner: Owner;
  bytes: number;
  blocks: number;
  self_bytes: number;
  self_blocks: number;
}

export interface TreeAnswer extends QuantityAnswer {
  nodes: AnswerNode[];
  nodes_left_out?: number;
}

// A frame on its path from the root; the root is no frame.
export interface TreeNode {
  frame: AnswerNode | null;
  parent: TreeNode | null;
  children: TreeNode[]; // largest first, as in the answer
  depth: number; // 0: the root
  bytes: number;
  blocks: number;
  self_bytes: number;
  self_blocks: number;
}

// Nodes follow their parents.
export function treeOf(answer: TreeAnswer): TreeNode {
  const { total_bytes: bytes, total_blocks: blocks } = answer;
  const root: TreeNode = {
    frame: null,
    parent: null,
    children: [],
    depth: 0,
    bytes,
    blocks,
    self_bytes: 0,
    self_blocks: 0,
  };
  const nodes: TreeNode[] = [];
  for (const frame of answer.nodes) {
    const parent = frame.parent === null ? root : nodes[frame.parent]!;
    const { self_bytes, self_blocks } = frame;
    const depth = parent.depth + 1;
    const node = {
      frame,
      parent,
      children: [],
      depth,
      bytes: frame.bytes,
      blocks: frame.blocks,
      self_bytes,
      self_blocks,
    };
    parent.children.push(node);
    nodes.push(node);
  }
  return root;
}

export function pathTo(node: TreeNode): TreeNode[] {
  const path: TreeNode[] = [];
  for (let at: TreeNode | null = node; at; at = at.parent) path.unshift(at);
  return path;
}
