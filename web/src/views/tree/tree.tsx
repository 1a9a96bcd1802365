// SPDX-License-Identifier: Apache-2.0
// tree.tsx - the tree of all frames as a table, from either end.

import { useMemo, useState } from 'preact/hooks';
import { pathTo, type TreeAnswer, type TreeNode, treeOf } from '../../data/tree';
import { linkTo, question, state } from '../../state/store';
import { plural, unitText } from '../../text/text';
import { AnswerBox } from '../../widgets/answer_box';
import { TreeGrid } from '../../widgets/tree_grid/tree_grid';
import { FocusedFrame } from '../flame/focused_frame';
import { useViewAnswer } from '../use_view';
import { FOLLOWS_ALL, type View } from '../view';
import { rowsMost, useFewer } from './tree_limit';
import { treeParams } from './tree_request';
import { DirectionChoice, LibrariesBox } from './tree_tools';

function Tree() {
  const answer = useViewAnswer<TreeAnswer>(tree);
  useFewer(answer);
  return (
    <section class="card" aria-labelledby="tree-heading">
      <h2 id="tree-heading">{question.value.heading}</h2>
      <div class="tools">
        <DirectionChoice />
        <LibrariesBox />
        <a class="as-table" href={linkTo({ view: 'flame' })}>
          view as picture
        </a>
      </div>
      <AnswerBox answer={answer}>{value => <Rows value={value} />}</AnswerBox>
    </section>
  );
}

function Rows({ value }: { value: TreeAnswer }) {
  const { unit, direction } = state.value;
  const root = useMemo(() => treeOf(value), [value]);
  const [focused, setFocused] = useState<TreeNode | null>(null);
  const down = direction === 'down';
  return (
    <>
      <p class="total" data-bytes={value.total_bytes} data-blocks={value.total_blocks}>
        {unitText(value.total_bytes, 'bytes')} in {plural(value.total_blocks, 'block')}
      </p>
      {root.children.length ? (
        <TreeGrid
          key={direction}
          onFocus={setFocused}
          root={root}
          unit={unit}
          label={down ? 'Tree from the outermost frames' : 'Tree from the frames that allocate'}
          nameTitle={down ? 'Function and what it calls' : 'Function and its callers'}
          withSelf={down}
        />
      ) : (
        <p class="empty">No block is selected. Select another time or quantity, or remove the filter.</p>
      )}
      {focused && pathTo(focused)[0] === root && <FocusedFrame node={focused} root={root} />}
    </>
  );
}

export const tree: View = {
  key: 'tree',
  title: 'Tree',
  hint: 'the frames of all stacks, from either end, as a table',
  follows: FOLLOWS_ALL,
  request: (state, selected) => ({
    view: 'tree',
    params: { ...treeParams(state, selected), 'max-rows': rowsMost.value },
  }),
  component: Tree,
};
