// SPDX-License-Identifier: Apache-2.0
// time.ts - the selected time. It is written as for `heaplapse report`: '' (nothing is selected), a moment (TIME) or a
// range (A..B, where A or B may be missing). TIME is 12.5s, 50%, @peak, @end or @mark:NAME.

export type Selection = { kind: 'none' } | { kind: 'moment'; at: string } | { kind: 'range'; from: string; to: string };

// What is known about the run, to place a time on the time bar.
export interface Run {
  duration_ns: number;
  peak_ns: number | null;
  marks: readonly { name: string; time_ns: number }[];
}

const UNITS: Record<string, number> = { ns: 1, us: 1e3, ms: 1e6, s: 1e9, min: 60e9, h: 3600e9 };

export function parseSelection(text: string): Selection {
  if (!text) return { kind: 'none' };
  const dots = text.indexOf('..');
  if (dots < 0) return { kind: 'moment', at: text };
  return { kind: 'range', from: text.slice(0, dots), to: text.slice(dots + 2) };
}

export function writeSelection(selection: Selection): string {
  if (selection.kind === 'none') return '';
  return selection.kind === 'moment' ? selection.at : `${selection.from}..${selection.to}`;
}

// The moment of a time; null if it is not a time, or not of this run.
export function resolveTime(text: string, run: Run): number | null {
  if (text === '@end') return run.duration_ns;
  if (text === '@peak') return run.peak_ns;
  if (text.startsWith('@mark:')) return run.marks.find(mark => mark.name === text.slice(6))?.time_ns ?? null;
  const parts = /^(\d{1,16}(?:\.\d{1,18})?)(%|[a-z]+)$/.exec(text);
  if (!parts) return null;
  const value = Number(parts[1]);
  if (parts[2] === '%') return Math.floor((run.duration_ns * Math.min(value, 100)) / 100);
  const unit = UNITS[parts[2]!];
  return unit === undefined ? null : Math.floor(value * unit);
}

export interface Span {
  from: number;
  to: number;
}

// The ends of a selection; for a moment both are the same. null: none, or not of this run.
export function resolveSelection(selection: Selection, run: Run): Span | null {
  if (selection.kind === 'none') return null;
  if (selection.kind === 'moment') {
    const at = resolveTime(selection.at, run);
    return at === null ? null : { from: at, to: at };
  }
  const from = selection.from === '' ? 0 : resolveTime(selection.from, run);
  const to = selection.to === '' ? run.duration_ns : resolveTime(selection.to, run);
  return from === null || to === null ? null : { from: Math.min(from, to), to: Math.max(from, to) };
}

// An exact time, in the largest unit that needs at most three digits after the point, or else in ns.
export function writeTime(ns: number): string {
  const whole = Math.max(0, Math.round(ns));
  for (const unit of ['s', 'ms', 'us']) {
    const size = UNITS[unit]!;
    if (whole >= size && whole % (size / 1000) === 0) return `${whole / size}${unit}`;
  }
  return `${whole}ns`;
}

// A time that a pointer chose: to a thousandth of what is visible, which is less than a pixel.
export function roundTime(ns: number, visible: number): number {
  const step = 10 ** Math.floor(Math.log10(Math.max(visible / 1000, 1)));
  return Math.round(ns / step) * step;
}
