// SPDX-License-Identifier: Apache-2.0
// fields.ts - the state of the page that is in its address: one row for each field. A view that has a state of its own
// adds rows. Everything in an address is untrusted: a value that a field does not know is its default.

import type { Unit } from '../text/text';

export type Quantity = 'live' | 'growth' | 'allocated' | 'temporary' | 'leaked';
export const QUANTITIES: readonly Quantity[] = ['live', 'growth', 'allocated', 'temporary', 'leaked'];

export interface Field<T> {
  key: string; // in the address
  initial: T;
  parse(text: string): T | undefined; // undefined: not a value
  write(value: T): string;
}

const TEXT_MAX = 4000;

function text(key: string, initial = '', most = TEXT_MAX): Field<string> {
  return { key, initial, parse: s => (s.length <= most ? s : undefined), write: s => s };
}

function word<T extends string>(key: string, words: readonly T[], initial: NoInfer<T>): Field<T> {
  return { key, initial, parse: s => words.find(one => one === s), write: s => s };
}

function number(key: string, initial: number): Field<number> {
  return { key, initial, parse: s => (/^[1-9]\d{0,8}$/.test(s) ? Number(s) : undefined), write: String };
}

// Names, one on each line.
function names(key: string): Field<readonly string[]> {
  const none: readonly string[] = [];
  return {
    key,
    initial: none,
    parse: s => (s && s.length <= TEXT_MAX ? s.split('\n') : none),
    write: list => list.join('\n'),
  };
}

export const GROUPS = [
  'site',
  'function',
  'file',
  'module',
  'stack',
  'thread',
  'tag',
  'size',
  'life',
  'call',
  'pool',
  'snapshot',
] as const;
export type Group = (typeof GROUPS)[number];

// The classes of the histograms, and the parts of the views about threads, tags and the memory of the process.
export const CLASSES = ['size', 'life'] as const;
export const THREAD_PARTS = ['threads', 'tags'] as const;
export const MEMORY_PARTS = ['blocks', 'resident', 'mmaps', 'fragmentation'] as const;

// How the view over-time shows its rows.
export type Form = 'stacked' | 'lines' | 'table';
export const FORMS: readonly Form[] = ['stacked', 'lines', 'table'];

export const fields = {
  trace: number('r', 1),
  view: text('v', 'overview'), // a key of views.ts
  quantity: word<Quantity>('q', QUANTITIES, 'live'),
  unit: word<Unit>('u', ['bytes', 'blocks'], 'bytes'),
  time: text('t'), // see time.ts
  window: text('w'), // the part of the run that the time bar shows; '': all
  filter: text('f'), // the filter language of `report`
  group: word<Group>('g', GROUPS, 'site'),
  grouped: word<'no' | 'stack'>('b', ['no', 'stack'], 'no'), // single blocks, or their stacks
  graphs: word<'no' | 'yes'>('gr', ['no', 'yes'], 'yes'), // of stacks
  file: text('file'), // of the view of sources
  whole: word<'' | 'yes'>('whole', ['', 'yes'], ''), // the whole file
  sort: text('s'), // a column, with - before it for the largest first
  form: word<Form>('of', FORMS, 'stacked'), // of the view over-time
  limit: number('on', 10), // rows of the view over-time; the others are shown as one
  hidden: names('oh'), // rows that the view over-time does not draw
  plotted: names('tp'), // rows of the table that are drawn above it
  direction: word('dir', ['down', 'up'], 'down'), // of trees: from the outermost frames, or from those that allocate
  libraries: word('lib', ['fold', 'show'], 'fold'), // frames of libraries
  picture: word('pic', ['icicle', 'flame'], 'icicle'), // the root on top, or at the bottom
  recursion: word('rec', ['show', 'merge'], 'show'),
  zoom: text('z', '', 100_000), // the path to a frame of the flame graph: widgets/flame/path.ts
  find: text('find'), // part of a function's name, in the flame graph
  classes: word('hg', CLASSES, 'size'), // of the histograms
  threadPart: word('tt', THREAD_PARTS, 'threads'),
  memoryPart: word('mp', MEMORY_PARTS, 'blocks'),
  mapping: text('map'), // a name or 0xADDRESS: the mappings whose resident memory is shown; '': all
  around: text('fn'), // the function whose callers and callees the flame graph shows
};

type Fields = typeof fields;
export type State = { [K in keyof Fields]: Fields[K] extends Field<infer T> ? T : never };

const rows = Object.entries(fields) as [keyof State, Field<unknown>][];

export const initialState = Object.fromEntries(rows.map(([name, field]) => [name, field.initial])) as State;

export function parseState(hash: string): State {
  const found = new URLSearchParams(hash.replace(/^#/, ''));
  const state: Record<string, unknown> = { ...initialState };
  for (const [name, field] of rows) {
    const value = found.get(field.key);
    if (value !== null) state[name] = field.parse(value) ?? field.initial;
  }
  return state as State;
}

// Fields with their initial value are left out. Readable: only what would break the address is escaped.
export function writeState(state: State): string {
  const parts: string[] = [];
  for (const [name, field] of rows) {
    const value = field.write(state[name]);
    if (value !== field.write(field.initial)) parts.push(`${field.key}=${escapeValue(value)}`);
  }
  return parts.length ? `#${parts.join('&')}` : '';
}

function escapeValue(value: string): string {
  return encodeURIComponent(value).replace(/%(3A|2F|2C|40|3D)/g, decodeURIComponent);
}
