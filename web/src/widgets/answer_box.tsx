// SPDX-License-Identifier: Apache-2.0
// answer_box.tsx - what surrounds every answer: its progress, its error, its notes, the rows that it lacks.

import type { ComponentChildren } from 'preact';
import type { Answered } from '../data/answers';
import type { Answer, Truncated } from '../data/types';
import { go, state } from '../state/store';
import { percentText, plural } from '../text/text';

interface Props<T> {
  answer: Answered<T>;
  children: (value: T) => ComponentChildren;
}

export function AnswerBox<T extends Answer>({ answer, children }: Props<T>) {
  const { value, error, waiting } = answer;
  return (
    <div class={`answer${waiting ? ' waiting' : ''}`} aria-busy={waiting} data-ready={!waiting}>
      <ProgressBar answer={answer} />
      {error && <Failure answer={answer} />}
      {answer.notes.map(note => (
        <p class="note" key={note}>
          {note}
        </p>
      ))}
      {value?.truncated && <LeftOut truncated={value.truncated} />}
      {value !== null && children(value)}
    </div>
  );
}

function ProgressBar({ answer }: { answer: Answered<unknown> }) {
  const { progress, waiting } = answer;
  const share = progress?.total ? progress.done / progress.total : 0;
  return (
    <div class="progress" role="status">
      {waiting && (
        <>
          <span class="progress-bar" style={{ width: progress ? `${share * 100}%` : '0' }} />
          {progress && (
            <span class="progress-text">
              {progress.what}, {percentText(progress.done, progress.total)}
            </span>
          )}
        </>
      )}
    </div>
  );
}

function Failure({ answer }: { answer: Answered<unknown> }) {
  const { filter, time } = state.value;
  return (
    <div class="failure" role="alert">
      <p>{answer.error}</p>
      {answer.status === 400 && filter && (
        <button type="button" onClick={() => go({ filter: '' })}>
          Remove the filter
        </button>
      )}
      {answer.status === 400 && time && (
        <button type="button" onClick={() => go({ time: '' })}>
          Remove the time selection
        </button>
      )}
    </div>
  );
}

function LeftOut({ truncated }: { truncated: Truncated }) {
  const { rows_left_out } = truncated;
  return (
    <p class="note">
      {plural(rows_left_out, 'smaller row')} {rows_left_out === 1 ? 'is' : 'are'} left out.
    </p>
  );
}
