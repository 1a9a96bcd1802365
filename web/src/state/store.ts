// SPDX-License-Identifier: Apache-2.0
// store.ts - the state that all parts of the page share, as signals.
//
// `state` is what the address says; it changes only by go(). Everything else is known from the server: the traces, and
// the facts of the run that the time bar needs.

import { batch, computed, signal } from '@preact/signals';
import type { Request } from '../data/source';
import type { Curve, Trace } from '../data/types';
import { initialState, parseState, type State, writeState } from './fields';
import { type Question, questionOf } from './quantity';
import type { Run } from './time';

export const state = signal<State>(initialState);

export const traces = signal<Trace[]>([]);
export const problem = signal(''); // why there are no traces; '': there are
export const connected = signal(true);

// Counts the changes of each trace while its program runs; answers are kept for one revision.
export const revisions = signal<Record<number, number>>({});

// The curve of the whole run, of the trace that is shown.
export const curve = signal<Curve | null>(null);

export const trace = computed(() => traces.value.find(one => one.id === state.value.trace) ?? null);
export const running = computed(() => trace.value?.running ?? false);
export const revision = computed(() => revisions.value[state.value.trace] ?? 0);

// Answers change with a running program only while no time is selected.
export const following = computed(() => running.value && state.value.time === '');
let frozen = { trace: 0, time: '', revision: 0 };
export const shownRevision = computed(() => {
  const { trace: id, time } = state.value;
  if (following.value) return revision.value;
  if (!running.value) return revision.peek();
  if (frozen.trace !== id || frozen.time !== time) frozen = { trace: id, time, revision: revision.peek() };
  return frozen.revision;
});

export const run = computed<Run>(() => ({
  duration_ns: trace.value?.duration_ns ?? 0,
  peak_ns: trace.value?.totals?.peak_time_ns ?? null,
  marks: curve.value?.marks ?? [],
}));

// The quantity, the time and the filter that are selected, as options of `report`.
export const question = computed<Question>(() => {
  const { quantity, time, filter } = state.value;
  return questionOf({ quantity, time, filter, running: running.value }, run.value);
});

// Is anything selected that the lists of the overview do not show?
export const isSelected = computed(() => state.value.time !== '' || state.value.quantity !== 'live');

// The request of the view that is shown; for "copy as command".
export const shownRequest = signal<Request | null>(null);

// Why the server refused the main question of the view; '': it did not.
export const shownError = signal('');

export interface GoOptions {
  replace?: boolean; // no step of its own in the history: while something is dragged
}

// Changes the state, and the address with it.
export function go(changes: Partial<State>, options: GoOptions = {}): void {
  const next = { ...state.peek(), ...changes };
  const hash = writeState(next);
  if (hash === writeState(state.peek())) return;
  const address = hash || location.pathname + location.search;
  if (options.replace) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  batch(() => {
    state.value = next;
  });
}

// An address of this page with changes, for links.
export function linkTo(changes: Partial<State>): string {
  return writeState({ ...state.value, ...changes }) || '#';
}

export function startAddress(): void {
  const read = () => {
    state.value = parseState(location.hash);
  };
  window.addEventListener('popstate', read);
  window.addEventListener('hashchange', read);
  read();
}
