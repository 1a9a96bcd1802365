// SPDX-License-Identifier: Apache-2.0
// moment.ts - the one moment of a view that is about one: that of the selection, its end for a range, else the peak
// or, of a running program, now.

import type { Params } from '../data/source';
import { parseSelection } from './time';

export function momentParams(asked: { time: string; filter: string; running: boolean }): Params {
  const selection = parseSelection(asked.time);
  const params: Params = {};
  if (selection.kind === 'moment') params.at = selection.at;
  else if (selection.kind === 'range') params.at = selection.to || '@end';
  else if (asked.running) params.at = '@end';
  else params.peak = true;
  if (asked.filter.trim()) params.filter = [asked.filter.trim()];
  return params;
}
