// SPDX-License-Identifier: Apache-2.0
// histograms.tsx - sizes and lifetimes of the selected blocks, in logarithmic classes.

import { CLASSES } from '../../state/fields';
import { go, question, state } from '../../state/store';
import { AnswerBox } from '../../widgets/answer_box';
import { Choice } from '../../widgets/choice';
import { Downloads } from '../../widgets/downloads';
import { ShareRows, ShareTotal } from '../share_rows';
import { requestOf, useViewAnswer } from '../use_view';
import { FOLLOWS_ALL, type View } from '../view';
import { Bars } from './bars';
import type { ClassAnswer } from './class_types';

const TITLES = { size: 'Sizes', life: 'Lifetimes' };
const OPTIONS = CLASSES.map(value => ({ value, title: TITLES[value] }));

function Histograms() {
  const answer = useViewAnswer<ClassAnswer>(histograms);
  const { classes } = state.value;
  return (
    <section class="card" aria-labelledby="histograms-heading">
      <h2 id="histograms-heading">
        {question.value.heading}, by {classes === 'size' ? 'size' : 'lifetime'}
      </h2>
      <div class="tools">
        <Choice
          id="classes"
          label="Histogram"
          options={OPTIONS}
          value={classes}
          onChange={next => go({ classes: next })}
        />
        <Downloads json={requestOf(histograms)} />
      </div>
      <AnswerBox answer={answer}>{value => <Shown value={value} />}</AnswerBox>
    </section>
  );
}

function Shown({ value }: { value: ClassAnswer }) {
  return (
    <>
      <ShareTotal value={value} />
      {value.rows.length ? (
        <>
          <div class="histograms">
            <Bars value={value} unit="bytes" />
            <Bars value={value} unit="blocks" />
          </div>
          <ShareRows value={value} id="classes-table" />
        </>
      ) : (
        <p class="empty">No block is selected. Select another time or quantity, or remove the filter.</p>
      )}
    </>
  );
}

export const histograms: View = {
  key: 'histograms',
  title: 'Histograms',
  hint: 'sizes and lifetimes of the selected blocks',
  follows: FOLLOWS_ALL,
  request: ({ classes }, selected) => ({ view: `table/${classes}`, params: selected }),
  component: Histograms,
};
