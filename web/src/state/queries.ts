// SPDX-License-Identifier: Apache-2.0
// queries.ts - named queries of the user: addresses of this page, kept in the browser. They hold for every trace.

import { signal } from '@preact/signals';
import { parseState, type State, writeState } from './fields';

export interface Query {
  name: string;
  address: string; // what comes after # in the address, without the trace
}

const KEY = 'heaplapse.queries';
const NAME_MAX = 80;
const QUERIES_MAX = 100;

export const queries = signal<readonly Query[]>([]);

export function startQueries(): void {
  queries.value = readQueries(storage(() => localStorage.getItem(KEY)) ?? '');
  window.addEventListener('storage', event => {
    if (event.key === KEY) queries.value = readQueries(event.newValue ?? '');
  });
}

// What was kept may be of another version, or of another page of this address.
export function readQueries(text: string): Query[] {
  try {
    const found: unknown = JSON.parse(text);
    if (!Array.isArray(found)) return [];
    return found.filter(isQuery).slice(0, QUERIES_MAX);
  } catch {
    return [];
  }
}

function isQuery(one: unknown): one is Query {
  const { name, address } = (one ?? {}) as Partial<Query>;
  return typeof name === 'string' && typeof address === 'string' && name !== '' && name.length <= NAME_MAX;
}

// A query of the same name is replaced. false: the browser keeps nothing.
export function saveQuery(name: string, state: State): boolean {
  const query = { name: name.trim().slice(0, NAME_MAX), address: addressOf(state) };
  return keep([...queries.value.filter(one => one.name !== query.name), query].slice(-QUERIES_MAX));
}

export function deleteQuery(name: string): void {
  keep(queries.value.filter(one => one.name !== name));
}

function addressOf(state: State): string {
  return writeState({ ...state, trace: 1 }).replace(/^#/, '');
}

// The state of a query, for the trace that is shown.
export function stateOf(query: Query, trace: number): State {
  return { ...parseState(query.address), trace };
}

function keep(next: readonly Query[]): boolean {
  queries.value = next;
  return storage(() => localStorage.setItem(KEY, JSON.stringify(next))) !== null;
}

// null: the browser refuses.
function storage<T>(use: () => T): T | null {
  try {
    return use();
  } catch {
    return null;
  }
}
