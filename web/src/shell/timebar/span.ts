// SPDX-License-Identifier: Apache-2.0
// span.ts - places of the time bar: ns to a share of what is visible, and what a drag or the wheel does.

import type { Span } from '../../state/time';

export type Grip = 'from' | 'to' | 'new';

export function shareOf(ns: number, visible: Span): number {
  const length = Math.max(1, visible.to - visible.from);
  return Math.min(1, Math.max(0, (ns - visible.from) / length));
}

export function timeAt(share: number, visible: Span): number {
  return visible.from + Math.min(1, Math.max(0, share)) * (visible.to - visible.from);
}

// The part of the selection that a press moves: an end of the selection that is near enough, or else a new selection.
export function gripAt(share: number, selected: Span | null, visible: Span, near: number): Grip {
  if (!selected) return 'new';
  const from = Math.abs(share - shareOf(selected.from, visible));
  const to = Math.abs(share - shareOf(selected.to, visible));
  if (Math.min(from, to) > near) return 'new';
  return from < to ? 'from' : 'to';
}

// Zooms around a place, which stays where it is. null: the whole run.
export function zoom(visible: Span, share: number, factor: number, duration: number): Span | null {
  const length = Math.max(100, (visible.to - visible.from) * factor);
  if (length >= duration) return null;
  const from = Math.min(duration - length, Math.max(0, timeAt(share, visible) - share * length));
  return { from: Math.round(from), to: Math.round(from + length) };
}

// Moves what is visible by a part of its length.
export function pan(visible: Span, part: number, duration: number): Span {
  const length = visible.to - visible.from;
  const from = Math.min(duration - length, Math.max(0, visible.from + part * length));
  return { from: Math.round(from), to: Math.round(from + length) };
}
