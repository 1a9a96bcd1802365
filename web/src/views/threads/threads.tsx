// SPDX-License-Identifier: Apache-2.0
// threads.tsx - what each thread allocated and who freed it, or the blocks of each tag.

import { THREAD_PARTS } from '../../state/fields';
import { addTerm } from '../../state/filter';
import { go, linkTo, question, state } from '../../state/store';
import { countText, plural, unitText } from '../../text/text';
import { AnswerBox } from '../../widgets/answer_box';
import { Choice } from '../../widgets/choice';
import { Downloads } from '../../widgets/downloads';
import type { ClassAnswer } from '../histograms/class_types';
import { requestOf, useViewAnswer } from '../use_view';
import { FOLLOWS_ALL, type View } from '../view';
import { Matrix } from './matrix';
import { Tags } from './tags';
import { AMOUNTS, type Amount, type ThreadRow, type ThreadsAnswer, threadText } from './threads_types';

const ROWS_SHOWN = 500;
const TITLES = { threads: 'Threads', tags: 'Tags' };
const OPTIONS = THREAD_PARTS.map(value => ({ value, title: TITLES[value] }));
const AMOUNT_TITLES: Record<Amount, string> = {
  allocated: 'Allocated',
  freed: 'Freed',
  freed_own: 'Freed its own',
  freed_by_others: 'Freed by others',
  not_freed: 'Not freed',
};
const AMOUNT_HINTS: Record<Amount, string> = {
  allocated: 'allocated by the thread',
  freed: 'freed by the thread, whichever thread allocated it',
  freed_own: 'allocated and freed by the thread',
  freed_by_others: 'allocated by the thread, freed by another',
  not_freed: 'allocated by the thread, not freed by the end',
};

function Threads() {
  const { threadPart } = state.value;
  return (
    <section class="card" aria-labelledby="threads-heading">
      <h2 id="threads-heading">
        {threadPart === 'tags' ? `${question.value.heading}, by tag` : 'Threads, in the whole run'}
      </h2>
      <div class="tools">
        <Choice
          id="thread-part"
          label="Part"
          options={OPTIONS}
          value={threadPart}
          onChange={next => go({ threadPart: next })}
        />
        <Downloads json={requestOf(threads)} />
      </div>
      {threadPart === 'tags' ? <TagAnswer /> : <ThreadAnswer />}
    </section>
  );
}

function TagAnswer() {
  const answer = useViewAnswer<ClassAnswer>(threads);
  return <AnswerBox answer={answer}>{value => <Tags value={value} />}</AnswerBox>;
}

function ThreadAnswer() {
  const answer = useViewAnswer<ThreadsAnswer>(threads);
  return <AnswerBox answer={answer}>{value => <Shown value={value} />}</AnswerBox>;
}

function Shown({ value }: { value: ThreadsAnswer }) {
  const { unit } = state.value;
  const rows = value.threads.slice(0, ROWS_SHOWN);
  if (!rows.length) return <p class="empty">No thread has blocks that match. Remove the filter.</p>;
  return (
    <>
      <div class="scroll">
        <table class="rows" id="threads">
          <thead>
            <tr>
              {AMOUNTS.map(amount => (
                <th scope="col" class="number" key={amount} title={AMOUNT_HINTS[amount]}>
                  {AMOUNT_TITLES[amount]}
                </th>
              ))}
              <th scope="col" class="number">
                tid
              </th>
              <th scope="col">Thread</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(row => (
              <Row key={row.thread} row={row} />
            ))}
          </tbody>
        </table>
      </div>
      {value.threads.length > rows.length && (
        <p class="note">
          The first {countText(rows.length)} of {plural(value.threads.length, 'thread')} are shown.
        </p>
      )}
      <h3>Blocks that another thread freed, in {unit}</h3>
      <Matrix value={value} unit={unit} />
    </>
  );
}

function Row({ row }: { row: ThreadRow }) {
  const { filter, unit } = state.value;
  return (
    <tr>
      {AMOUNTS.map(amount => {
        const number = row[`${amount}_${unit}`];
        return (
          <td class="number" key={amount} data-value={number} title={countText(number)}>
            {unitText(number, unit)}
          </td>
        );
      })}
      <td class="number">{row.tid}</td>
      <th scope="row" class="name">
        <a href={linkTo({ filter: addTerm(filter, `thread:${row.thread}`) })} title="only the blocks that it allocated">
          {threadText(row)}
        </a>
      </th>
    </tr>
  );
}

export const threads: View = {
  key: 'threads',
  title: 'Threads and tags',
  hint: 'what each thread allocated and which thread freed it; the blocks of each tag',
  // The numbers of threads are those of the whole run.
  get follows() {
    return state.value.threadPart === 'tags' ? FOLLOWS_ALL : { time: false, quantity: false, unit: true, filter: true };
  },
  request: ({ threadPart, unit }, selected) =>
    threadPart === 'tags'
      ? { view: 'table/tag', params: { ...selected, sort: unit } }
      : { view: 'threads', params: selected },
  component: Threads,
};
