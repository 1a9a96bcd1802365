// SPDX-License-Identifier: Apache-2.0
// traces.ts - keeps the list of traces up to date while their programs run.

import { batch } from '@preact/signals';
import type { Source } from '../data/source';
import type { Change, Control, Trace } from '../data/types';
import { connected, problem, revisions, traces } from './store';

// Answers are asked again at most this often.
const PERIOD_MS = 400;

export async function startTraces(source: Source): Promise<void> {
  const found = await source.traces();
  if (!found.ok) {
    problem.value = found.error;
    return;
  }
  batch(() => {
    traces.value = found.value;
    problem.value = found.value.length ? '' : 'There are no traces here.';
  });
  const waiting = new Map<number, Change>();
  let timer = 0;
  const apply = () => {
    timer = 0;
    applyChanges(source, [...waiting.values()]);
    waiting.clear();
  };
  source.follow(
    change => {
      // The first event of a connection repeats what is known.
      if (change.kind === 'trace' && isKnown(change)) return;
      waiting.set(change.id, change);
      if (!timer) timer = window.setTimeout(apply, PERIOD_MS);
    },
    now => {
      connected.value = now;
    },
  );
}

export async function refreshTraces(source: Source): Promise<void> {
  const found = await source.traces();
  if (found.ok) traces.value = found.value;
}

// The answer to a command is newer than the list.
export function setControl(id: number, control: Control): void {
  traces.value = traces.peek().map(one => (one.id === id ? { ...one, control } : one));
}

function isKnown(change: Change): boolean {
  const known = traces.peek().find(one => one.id === change.id);
  return (
    known !== undefined &&
    known.error === change.error &&
    known.duration_ns === change.duration_ns &&
    known.running === change.running
  );
}

// The list has all numbers; an event has only some, which are used if the list cannot be read.
async function applyChanges(source: Source, changes: Change[]): Promise<void> {
  const found = await source.traces();
  batch(() => {
    if (found.ok) traces.value = found.value;
    else traces.value = traces.peek().map(one => merge(one, changes));
    const next = { ...revisions.peek() };
    for (const change of changes) next[change.id] = (next[change.id] ?? 0) + 1;
    revisions.value = next;
  });
}

function merge(one: Trace, changes: Change[]): Trace {
  const change = changes.find(c => c.id === one.id);
  if (!change) return one;
  const next: Trace = { ...one, deleted: change.deleted, error: change.error };
  if (change.running !== undefined) next.running = change.running;
  if (change.duration_ns !== undefined) next.duration_ns = change.duration_ns;
  return next;
}
