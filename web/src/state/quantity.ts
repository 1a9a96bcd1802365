// SPDX-License-Identifier: Apache-2.0
// quantity.ts - the rule that makes a question of a quantity and a selected time. The whole page has it from here.
//
//              nothing selected           a moment T                    a range A..B
//   live       at the peak; of a running  live at T                     live at B
//              program: now
//   growth     of the whole run           allocated up to T, live at T  allocated in A..B, live at B
//   allocated  in the whole run           up to T                       in A..B
//   temporary  in the whole run           up to T                       in A..B
//   leaked     live at the end            allocated up to T, and        allocated in A..B, and
//                                         live at the end               live at the end

import type { Params } from '../data/source';
import { durationText } from '../text/text';
import type { Quantity } from './fields';
import { parseSelection, type Run, resolveTime } from './time';

export interface Question {
  params: Params; // options of `report`
  heading: string; // what the numbers are: "Live at the peak"
}

export interface Asked {
  quantity: Quantity;
  time: string;
  filter: string;
  running: boolean;
}

export const QUANTITY_NAMES: Record<Quantity, string> = {
  live: 'Live',
  growth: 'Growth',
  allocated: 'Allocated',
  temporary: 'Temporary',
  leaked: 'Leaked',
};

export const QUANTITY_HINTS: Record<Quantity, string> = {
  live: 'memory that is allocated and not yet freed at a moment',
  growth: 'memory that was allocated in the range and is live at its end',
  allocated: 'everything that was allocated in the range, freed or not',
  temporary: 'blocks that were freed by the very next event',
  leaked: 'memory that is live at the end of the run',
};

export function questionOf(asked: Asked, run: Run): Question {
  const { params, filters, heading } = quantityPart(asked, run);
  const all = [asked.filter.trim(), ...filters].filter(one => one !== '');
  return { params: all.length ? { ...params, filter: all } : params, heading };
}

interface Part {
  params: Params;
  filters: string[];
  heading: string;
}

function quantityPart(asked: Asked, run: Run): Part {
  const selection = parseSelection(asked.time);
  const ends =
    selection.kind === 'none'
      ? { from: '', to: '' }
      : selection.kind === 'moment'
        ? { from: '', to: selection.at }
        : selection;
  const range = `${ends.from}..${ends.to}`;
  const when = selection.kind === 'none' ? 'in the whole run' : rangeText(ends, run);
  const whole = ends.from === '' && ends.to === '';
  switch (asked.quantity) {
    case 'live':
      return selection.kind === 'none' ? liveByDefault(asked) : liveAt(selection.kind, ends.to || '@end', run);
    case 'growth':
      return part(
        { growth: range },
        `Allocated ${when}, and live at ${whole ? 'its end' : timeText(ends.to || '@end', run)}`,
      );
    case 'allocated':
      return part(whole ? { allocated: true } : { allocated: true, range }, `Allocated ${when}`);
    case 'temporary':
      return part(whole ? { temporary: true } : { temporary: true, range }, `Allocated ${when} and freed at once`);
    case 'leaked':
      return whole
        ? part({ leaks: true }, 'Live at the end of the run')
        : part({ leaks: true }, `Allocated ${when}, and live at the end of the run`, [`time:${range}`]);
  }
}

function part(params: Params, heading: string, filters: string[] = []): Part {
  return { params, filters, heading };
}

function liveByDefault(asked: Asked): Part {
  if (asked.running) return part({ at: '@end' }, 'Live now');
  return part({ peak: true }, asked.filter.trim() ? 'Live at the peak of the matching blocks' : 'Live at the peak');
}

function liveAt(kind: 'moment' | 'range', at: string, run: Run): Part {
  const text = timeText(at, run);
  return part({ at }, kind === 'moment' ? `Live at ${text}` : `Live at the end of the selection: ${text}`);
}

export function timeText(time: string, run: Run): string {
  const ns = resolveTime(time, run);
  const exact = ns === null ? '' : durationText(ns);
  if (time === '@peak') return exact ? `the peak (${exact})` : 'the peak';
  if (time === '@end') return exact ? `the end (${exact})` : 'the end';
  if (time.startsWith('@mark:')) return `${time.slice(6)}${exact && ` (${exact})`}`;
  return exact || time;
}

function rangeText(ends: { from: string; to: string }, run: Run): string {
  if (ends.from === '') return ends.to === '' ? 'in the whole run' : `up to ${timeText(ends.to, run)}`;
  return ends.to === ''
    ? `from ${timeText(ends.from, run)} on`
    : `from ${timeText(ends.from, run)} to ${timeText(ends.to, run)}`;
}
