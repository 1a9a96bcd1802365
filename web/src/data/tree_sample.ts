// SPDX-License-Identifier: Apache-2.0
// tree_sample.ts - small trees for unit tests.

import { type AnswerNode, type TreeAnswer, type TreeNode, treeOf } from './tree';

// "NAME BYTES BLOCKS" for each node, and their parents.
export function answerOf(text: string, parents: (number | null)[]): TreeAnswer {
  const nodes = text.split('; ').map((one, i): AnswerNode => {
    const [name, bytes, blocks] = one.split(' ');
    return {
      parent: parents[i]!,
      function: name!,
      file: null,
      line: 0,
      module: '/bin/app',
      owner: 'program',
      bytes: Number(bytes),
      blocks: Number(blocks),
      self_bytes: 0,
      self_blocks: 0,
    };
  });
  const total = (key: 'bytes' | 'blocks') =>
    nodes.filter(node => node.parent === null).reduce((sum, node) => sum + node[key], 0);
  return {
    quantity: 'live',
    from_ns: 0,
    to_ns: 0,
    total_bytes: total('bytes'),
    total_blocks: total('blocks'),
    nodes,
  };
}

export function sampleTree(text: string, parents: (number | null)[]): TreeNode {
  return treeOf(answerOf(text, parents));
}

export function namesOf(nodes: readonly TreeNode[]): string[] {
  return nodes.map(node => node.frame?.function ?? 'all');
}
