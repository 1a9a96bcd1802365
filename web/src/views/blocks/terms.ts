// SPDX-License-Identifier: Apache-2.0
// terms.ts - the text of a filter as a list of terms, and the terms that the form has a field for. The text in the
// filter box is the only state: the form reads it and writes it, and leaves alone what it has no field for.

export interface Term {
  text: string; // as it is in the filter
  negated: boolean;
  key: string; // "size"; '': a word without a key
  value: string; // behind the colon
}

// Terms are separated by spaces. Spaces within quotes, and within a regular expression, are of the value.
export function splitFilter(filter: string): Term[] {
  const terms: Term[] = [];
  for (let at = 0; at < filter.length; ) {
    if (filter[at] === ' ' || filter[at] === '\t') {
      at++;
      continue;
    }
    const end = endOfTerm(filter, at);
    terms.push(termOf(filter.slice(at, end)));
    at = end;
  }
  return terms;
}

const KEY = /^([-!]?)([a-z]+(?:-[a-z]+)*)(:(?!:)|=|(?=[<>]))/;

function termOf(text: string): Term {
  const found = KEY.exec(text);
  if (!found) return { text, negated: /^[-!]/.test(text), key: '', value: text.replace(/^[-!]/, '') };
  return { text, negated: found[1] !== '', key: found[2]!, value: text.slice(found[0].length) };
}

function endOfTerm(s: string, from: number): number {
  const key = KEY.exec(s.slice(from));
  let at = from + (key ? key[0].length : /^[-!]/.test(s.slice(from)) ? 1 : 0);
  const isPath = key !== null && /^(freed-)?(file|module)$/.test(key[2]!);
  for (let begin = true; at < s.length && s[at] !== ' ' && s[at] !== '\t'; ) {
    if (s[at] === '"') {
      const close = s.indexOf('"', at + 1);
      at = close < 0 ? s.length : close + 1;
    } else if (begin && s[at] === '/') {
      at = endOfRegex(s, at, isPath) ?? at + 1;
    } else {
      begin = s[at] === ',';
      at++;
      continue;
    }
    begin = false;
  }
  return at;
}

// A regular expression ends at a / before a space, a comma or the end. A path begins with a / as well.
function endOfRegex(s: string, from: number, isPath: boolean): number | null {
  for (let at = from + 1; at < s.length; at++) {
    if (s[at] === '\\') at++;
    else if (isPath && s[at] === ' ') return null;
    else if (s[at] === '/' && (at + 1 === s.length || ' \t,'.includes(s[at + 1]!))) return at + 1;
  }
  return null;
}

export function joinFilter(terms: readonly string[]): string {
  return terms.filter(one => one !== '').join(' ');
}

export function withoutTerm(filter: string, index: number): string {
  return joinFilter(splitFilter(filter).flatMap((term, i) => (i === index ? [] : [term.text])));
}

// --- the fields of the form ---

export type Kind = 'range' | 'names' | 'moment' | 'numbers';

export interface TermField {
  key: string;
  title: string;
  kind: Kind;
  hint: string; // an example
}

export interface TermGroup {
  title: string;
  fields: readonly TermField[];
}

const field = (key: string, title: string, kind: Kind, hint: string): TermField => ({ key, title, kind, hint });

export const TERM_GROUPS: readonly TermGroup[] = [
  {
    title: 'Time',
    fields: [
      field('time', 'allocated between', 'range', '1.5s, 50%, @mark:login'),
      field('life', 'lifetime', 'range', '10us, 2s'),
      field('alive', 'live at', 'moment', 'end, 50%, 1.5s, @mark:login'),
    ],
  },
  {
    title: 'Size and place',
    fields: [
      field('size', 'size', 'range', '64, 4K, 1M'),
      field('addr', 'address', 'range', '0x7f1200001000'),
      field('thread', 'thread', 'names', '0 or worker*'),
      field('tag', 'tag', 'names', 'render/*'),
      field('call', 'called function', 'names', 'malloc, realloc'),
    ],
  },
  {
    title: 'Stack',
    fields: [
      field('fn', 'function', 'names', 'parse* or /^parse_/'),
      field('file', 'source file', 'names', '/usr/include/*'),
      field('module', 'library', 'names', 'libfoo.so'),
      field('depth', 'frames', 'range', '20'),
      field('stack', 'number of the stack', 'numbers', '7'),
    ],
  },
  {
    title: 'All blocks of the stack',
    fields: [
      field('group-allocated', 'how many', 'range', '100'),
      field('group-leaked', 'of them leaked', 'range', '5 or 50%'),
      field('group-interval', 'first to last', 'range', '10s or 50%'),
      field('group-peak', 'most live at', 'range', '1.5s, 50%'),
    ],
  },
  {
    title: 'Realloc chain',
    fields: [
      field('chain-length', 'blocks', 'range', '3'),
      field('chain-position', 'position', 'range', '1, last'),
      field('chain-first', 'first size', 'range', '1K'),
      field('chain-last', 'last size', 'range', '1M'),
      field('chain-life', 'lifetime', 'range', '1s'),
      field('chain-alive', 'live at', 'moment', 'end, 50%'),
    ],
  },
  {
    title: 'Free',
    fields: [
      field('freed-fn', 'function', 'names', 'destroy*'),
      field('freed-file', 'source file', 'names', 'pool.c'),
      field('freed-module', 'library', 'names', 'libfoo.so'),
      field('freed-stack', 'number of the stack', 'numbers', '9'),
      field('freed-thread', 'thread', 'names', '1'),
    ],
  },
];

// Which blocks were freed: terms that are chosen by name.
export const FREED_CHOICES = [
  { title: 'any', term: '' },
  { title: 'never freed', term: 'alive:end' },
  { title: 'freed', term: '-alive:end' },
  { title: 'chain never freed', term: 'chain-alive:end' },
  { title: 'whole group never freed', term: 'group-leaked:100%' },
] as const;

export interface Range {
  min: string;
  max: string;
}

// null: it is not a range that two fields can show.
export function parseRange(value: string): Range | null {
  if (/[,"<>]/.test(value.replace(/^[<>]=/, ''))) return null;
  if (value.startsWith('>=')) return { min: value.slice(2), max: '' };
  if (value.startsWith('<=')) return { min: '', max: value.slice(2) };
  const dots = value.indexOf('..');
  return dots < 0 ? { min: value, max: value } : { min: value.slice(0, dots), max: value.slice(dots + 2) };
}

export function writeRange({ min, max }: Range): string {
  if (min === '' && max === '') return '';
  return min === max ? min : `${min}..${max}`;
}

// Time has no single moments: 5s is 5s..5s.
export function rangeTerm(key: string, range: Range): string {
  const value = writeRange(range);
  if (value === '') return '';
  const isTime = key === 'time' || key === 'group-peak';
  return `${key}:${isTime && !value.includes('..') ? `${value}..${value}` : value}`;
}

export function namesTerm(key: string, names: string, negated: boolean): string {
  return names.trim() === '' ? '' : `${negated ? '-' : ''}${key}:${quoteName(names.trim())}`;
}

// A name with a space is quoted, unless it is a regular expression or a list.
function quoteName(name: string): string {
  return /[ \t]/.test(name) && !/^\/.*\/$/.test(name) && !/[",]/.test(name) ? `"${name}"` : name;
}

// The first term that the field shows.
export function findTerm(filter: string, key: string, negated: boolean): Term | undefined {
  return splitFilter(filter).find(term => term.key === key && term.negated === negated);
}

// Replaces the first term of the key; '' removes it.
export function replaceTerm(filter: string, key: string, negated: boolean, term: string): string {
  const terms = splitFilter(filter);
  const at = terms.findIndex(one => one.key === key && one.negated === negated);
  if (at < 0) return joinFilter([...terms.map(one => one.text), term]);
  return joinFilter(terms.map((one, i) => (i === at ? term : one.text)));
}
