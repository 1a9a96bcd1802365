// SPDX-License-Identifier: Apache-2.0
// answers.ts - answers for components. While a new answer is on its way the old one stays on the page, so that nothing
// jumps; only that of another trace goes at once.

import { createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { shownRevision, state } from '../state/store';
import { type Answered, Asking, nothingYet } from './asking';
import { type Request, requestKey, type Source } from './source';

export type { Answered } from './asking';

export const SourceContext = createContext<Source | null>(null);

export function useSource(): Source {
  const source = useContext(SourceContext);
  if (!source) throw new Error('no source');
  return source;
}

interface AnswerOptions {
  revision?: number; // instead of the one that is shown
}

// Asks about the trace that is shown. null: nothing is asked.
export function useAnswer<T>(request: Request | null, options: AnswerOptions = {}): Answered<T> {
  const source = useSource();
  const trace = state.value.trace;
  const revision = options.revision ?? shownRevision.value;
  const [, redraw] = useState<object>();
  const asking = useRef<Asking<T> | null>(null);
  const asked = useRef(trace);
  asking.current ??= new Asking<T>(source, () => redraw({}));

  useEffect(() => {
    asked.current = trace;
    asking.current!.ask(trace, revision, request);
  }, [trace, revision, request && requestKey(request)]);
  useEffect(() => () => asking.current!.stop(), []);

  const { answered } = asking.current;
  return asked.current !== trace || answered.request === null ? nothingYet(request) : answered;
}
