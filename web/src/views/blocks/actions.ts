// SPDX-License-Identifier: Apache-2.0
// actions.ts - what can be done with a row: each narrows the selection by one term of the filter.

import type { Frame } from '../../data/types';
import type { State } from '../../state/fields';
import { addTerm, functionTerm } from '../../state/filter';

export interface Action {
  title: string;
  changes: Partial<State>;
}

interface Subject {
  frame: Frame;
  stack: number | null;
  thread?: number;
  address?: string;
  freedStack?: number | null;
}

export function actionsOf(filter: string, subject: Subject): Action[] {
  const actions: Action[] = [];
  const narrow = (title: string, term: string, more: Partial<State> = {}) =>
    actions.push({ title, changes: { filter: addTerm(filter, term), ...more } });
  if (subject.stack !== null) narrow('Only this stack', `stack:${subject.stack}`);
  if (subject.stack !== null) narrow('Not this stack', `-stack:${subject.stack}`);
  if (subject.freedStack != null) narrow('Only freed by this stack', `freed-stack:${subject.freedStack}`);
  if (subject.frame.function !== null) {
    narrow('Only this function', functionTerm(subject.frame));
    narrow('Not this function', `-${functionTerm(subject.frame)}`);
  }
  if (subject.thread !== undefined) narrow('Only this thread', `thread:${subject.thread}`);
  // The whole run: each block that ever contained the address.
  if (subject.address !== undefined)
    actions.push({
      title: 'History of this address',
      changes: { filter: `addr:${subject.address}`, quantity: 'allocated', time: '', sort: '', grouped: 'no' },
    });
  return actions;
}
