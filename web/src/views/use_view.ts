// SPDX-License-Identifier: Apache-2.0
// use_view.ts - the answer to the main question of a view.

import { useEffect } from 'preact/hooks';
import { type Answered, useAnswer } from '../data/answers';
import type { Params, Request } from '../data/source';
import { type Question, questionOf } from '../state/quantity';
import { run, running, shownError, state } from '../state/store';
import type { View } from './view';

// The question that a view answers: one that does not follow the quantity shows live memory.
export function questionOfView(view: View): Question {
  const { quantity, time, filter } = state.value;
  const asked = view.follows.quantity ? quantity : 'live';
  return questionOf({ quantity: asked, time, filter, running: running.value }, run.value);
}

// Only the selections that the view follows are part of its question.
export function requestOf(view: View): Request {
  const { params } = questionOfView(view);
  const selected: Params = {};
  if (view.follows.time || view.follows.quantity) Object.assign(selected, params);
  else if (view.follows.filter && state.value.filter) selected.filter = [state.value.filter];
  if (!view.follows.filter) delete selected.filter;
  return view.request(state.value, selected);
}

export function useViewAnswer<T>(view: View): Answered<T> {
  const answer = useAnswer<T>(requestOf(view));
  const refused = answer.status === 400 ? answer.error : '';
  useEffect(() => {
    shownError.value = refused;
    return () => {
      shownError.value = '';
    };
  }, [refused]);
  return answer;
}
