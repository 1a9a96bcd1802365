// SPDX-License-Identifier: Apache-2.0
// filter.ts - terms of the filter language of `report`, for links that narrow the selection.

import type { Frame } from '../data/types';
import { frameText } from '../widgets/frame_name';

// Exactly this function: a regular expression of its whole name.
export function functionTerm(frame: Frame): string {
  const name = frameText(frame);
  if (/^\w+$/.test(name)) return `fn:/^${name}$/`;
  const pattern = name.replace(/[\\^$.|?*+()[\]{}/]/g, '\\$&').replaceAll('"', '\\x22');
  return `fn:"/^${pattern}$/"`;
}

// A term is there once; terms of a filter must all match.
export function addTerm(filter: string, term: string): string {
  const parts = filter.trim();
  return parts === term || parts.endsWith(` ${term}`) ? parts : `${parts} ${term}`.trim();
}
