// SPDX-License-Identifier: Apache-2.0
// use_time.ts - what the time bar shows and selects, from the shared state.

import { computed } from '@preact/signals';
import { go, run, running, state } from '../../state/store';
import { parseSelection, resolveSelection, type Span, writeTime } from '../../state/time';

export const visible = computed<Span>(() => {
  const all = { from: 0, to: run.value.duration_ns };
  const window = parseSelection(state.value.window);
  const span = window.kind === 'range' ? resolveSelection(window, run.value) : null;
  return span && span.to > span.from ? { from: span.from, to: Math.min(span.to, all.to) } : all;
});

// The selected time; a moment has the same ends. null: nothing is selected.
export const selected = computed<Span | null>(() => resolveSelection(parseSelection(state.value.time), run.value));

// The moment that "live" is about while nothing is selected.
export const defaultMoment = computed<number | null>(() => (running.value ? run.value.duration_ns : run.value.peak_ns));

export function select(span: Span, replace: boolean): void {
  const from = Math.min(span.from, span.to);
  const to = Math.max(span.from, span.to);
  go({ time: from === to ? writeTime(to) : `${writeTime(from)}..${writeTime(to)}` }, { replace });
}

export function show(span: Span | null): void {
  go({ window: span ? `${span.from}ns..${span.to}ns` : '' }, { replace: true });
}
