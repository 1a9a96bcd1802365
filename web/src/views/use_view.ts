// SPDX-License-Identifier: Apache-2.0
// use_view.ts - the answer to the main question of a view.

import { useEffect } from 'preact/hooks';
import { type Answered, useAnswer } from '../data/answers';
import type { Params, Request } from '../data/source';
import { question, shownError, state } from '../state/store';
import type { View } from './view';

// Only the selections that the view follows are part of its question.
export function requestOf(view: View): Request {
  const { params } = question.value;
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
