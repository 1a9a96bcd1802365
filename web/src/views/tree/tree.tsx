// SPDX-License-Identifier: Apache-2.0
// tree.tsx - the tree of all frames as a table.
import { FOLLOWS_ALL, type View } from '../view';
import { treeParams } from './tree_request';

function Tree() {
  return <p>soon</p>;
}

export const tree: View = {
  key: 'tree',
  title: 'Tree',
  hint: 'the frames of all stacks, from either end',
  follows: FOLLOWS_ALL,
  request: (state, selected) => ({ view: 'tree', params: { ...treeParams(state, selected), 'max-rows': 5000 } }),
  component: Tree,
};
