// SPDX-License-Identifier: Apache-2.0
// completion.ts - what may be written at a place of the filter: terms of its language, and names of the trace.

import type { RowName } from '../data/series';
import { TERM_GROUPS } from '../views/blocks/terms';
import { rowTerm } from './filter';

export interface Word {
  start: number; // the part of the text that is completed
  end: number;
  key: string; // of the term; '': the key itself is being written
  value: string;
}

export interface Suggestion {
  text: string; // replaces the word
  title: string;
  hint: string;
}

export const SUGGESTIONS_MAX = 12;

// Terms whose values are names of the trace, and the group of the table that has these.
const NAMES: Record<string, string> = {
  fn: 'function',
  function: 'function',
  file: 'file',
  module: 'module',
  thread: 'thread',
  tag: 'tag',
  call: 'call',
};

export function groupOfKey(key: string): string {
  return NAMES[key.replace(/^freed-/, '')] ?? '';
}

// The word that ends at the caret. null: nothing can be completed there.
export function wordAt(text: string, caret: number): Word | null {
  const head = text.slice(0, caret);
  const value = /(?:^|\s)[-!]?([a-z]+(?:-[a-z]+)*):(?!:)(?:[^\s"]*,)?(?:"([^"]*)|([^\s",]*))$/.exec(head);
  if (value) {
    const typed = value[2] ?? value[3]!;
    return { start: caret - typed.length - (value[2] === undefined ? 0 : 1), end: caret, key: value[1]!, value: typed };
  }
  const key = /(?:^|\s)[-!]?([\w-]*)$/.exec(head);
  return key ? { start: caret - key[1]!.length, end: caret, key: '', value: key[1]! } : null;
}

export function suggestKeys(word: Word): Suggestion[] {
  const fields = TERM_GROUPS.flatMap(group => group.fields);
  return fields
    .filter(field => field.key.startsWith(word.value))
    .map(field => ({ text: `${field.key}:`, title: `${field.key}:`, hint: `${field.title}: ${field.hint}` }))
    .slice(0, SUGGESTIONS_MAX);
}

// Names that have the value in them, largest first as in the table.
export function suggestNames(word: Word, group: string, rows: readonly RowName[]): Suggestion[] {
  const wanted = word.value.toLowerCase();
  const found: Suggestion[] = [];
  const seen = new Set<string>();
  for (const row of rows) {
    const title = row.name;
    const term = rowTerm(group, row);
    const text = term.slice(term.indexOf(':') + 1);
    if (!term || term.startsWith('-') || seen.has(text) || !title.toLowerCase().includes(wanted)) continue;
    seen.add(text);
    found.push({ text: simpleText(title, group) ?? text, title, hint: '' });
    if (found.length === SUGGESTIONS_MAX) break;
  }
  return found;
}

// A name that has no special meaning in the language is written as it is.
function simpleText(title: string, group: string): string | null {
  if (group === 'thread') return null;
  return /^[\w.:~/+-]+$/.test(title) && !title.startsWith('/') ? title : null;
}

export function complete(text: string, word: Word, suggestion: Suggestion): { text: string; caret: number } {
  const space = word.key && text[word.end] !== ' ' ? ' ' : '';
  const before = text.slice(0, word.start) + suggestion.text + space;
  return { text: before + text.slice(word.end), caret: before.length };
}

export interface Refusal {
  reason: string;
  at: number; // of the filter, from 0
}

// The server's message about a wrong filter, with the place in it.
export function refusalOf(error: string, filter: string): Refusal | null {
  const found = /^filter: (.*), at character (\d+) of "(.*)"$/s.exec(error);
  return found && found[3] === filter.trim() ? { reason: found[1]!, at: Number(found[2]) - 1 } : null;
}
