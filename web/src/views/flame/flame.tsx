// SPDX-License-Identifier: Apache-2.0
// flame.tsx - the flame graph, or icicle: the whole tree, or the callers and callees of one function.

import { type Answered, useAnswer } from '../../data/answers';
import type { TreeAnswer } from '../../data/tree';
import { go, question, state } from '../../state/store';
import { plural, unitText } from '../../text/text';
import { AnswerBox } from '../../widgets/answer_box';
import { useFewer } from '../tree/tree_limit';
import { requestOf, useViewAnswer } from '../use_view';
import { FOLLOWS_ALL, type View } from '../view';
import { flameRequest } from './flame_request';
import { FlameTools } from './flame_tools';
import { type Part, ZoomedGraph } from './zoomed_graph';

function Flame() {
  const answer = useViewAnswer<TreeAnswer>(flame);
  const { around } = state.value;
  return (
    <section class="card" aria-labelledby="flame-heading">
      <h2 id="flame-heading">{question.value.heading}</h2>
      <FlameTools />
      {around ? <Sandwich callees={answer} name={around} /> : <Graph answer={answer} part="whole" />}
    </section>
  );
}

function Sandwich({ callees, name }: { callees: Answered<TreeAnswer>; name: string }) {
  const down = requestOf(flame);
  const callers = useAnswer<TreeAnswer>({ ...down, params: { ...down.params, 'bottom-up': true } });
  return (
    <>
      <p class="around">
        Stacks with <strong class="name">{name}</strong>, which is counted once in each{' '}
        <button type="button" id="around-end" onClick={() => go({ around: '', zoom: '' })}>
          Show all stacks
        </button>
      </p>
      <h3>Its callers</h3>
      <Graph answer={callers} part="callers" />
      <h3>What it calls</h3>
      <Graph answer={callees} part="callees" />
    </>
  );
}

function Graph({ answer, part }: { answer: Answered<TreeAnswer>; part: Part }) {
  const { value } = answer;
  useFewer(answer);
  return (
    <AnswerBox answer={{ ...answer, value: withoutBounds(value) }}>
      {shown => (
        <>
          <p class="total" data-bytes={shown.total_bytes} data-blocks={shown.total_blocks}>
            {unitText(shown.total_bytes, 'bytes')} in {plural(shown.total_blocks, 'block')}
            {leftOut(value!) > 0 && `; ${plural(leftOut(value!), 'small frame')} not drawn`}
          </p>
          {shown.total_blocks === 0 ? (
            <p class="empty">No block is selected. Select another time or quantity, or remove the filter.</p>
          ) : (
            <ZoomedGraph value={shown} part={part} />
          )}
        </>
      )}
    </AnswerBox>
  );
}

function leftOut(value: TreeAnswer): number {
  return value.nodes_left_out ?? value.truncated?.rows_left_out ?? 0;
}

// A graph never has all frames, and says so beside its total.
const bounded = new WeakMap<TreeAnswer, TreeAnswer>();
function withoutBounds(value: TreeAnswer | null): TreeAnswer | null {
  if (!value?.truncated) return value;
  const known = bounded.get(value);
  if (known) return known;
  const { truncated: _, ...rest } = value;
  bounded.set(value, rest);
  return rest;
}

export const flame: View = {
  key: 'flame',
  title: 'Flame graph',
  hint: 'who allocates, by stack: a frame is as wide as its memory',
  follows: FOLLOWS_ALL,
  request: flameRequest,
  component: Flame,
};
