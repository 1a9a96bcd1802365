// SPDX-License-Identifier: Apache-2.0
// filter.ts - terms of the filter language of `report`, for links that narrow the selection.

import type { RowName } from '../data/series';
import type { Frame } from '../data/types';
import { frameText } from '../widgets/frame_name';

// Exactly this function: a regular expression of its whole name.
export function functionTerm(frame: Frame): string {
  return nameTerm('fn', frameText(frame));
}

function nameTerm(key: string, name: string): string {
  if (/^\w+$/.test(name)) return `${key}:/^${name}$/`;
  const pattern = name.replace(/[\\^$.|?*+()[\]{}/]/g, '\\$&').replaceAll('"', '\\x22');
  return `${key}:"/^${pattern}$/"`;
}

// The blocks of a row of a table; of a row of code, the stacks with its function, file or module. '': the language has no
// term for it. Each is one term, so a - before it selects all others.
export function rowTerm(group: string, row: RowName): string {
  const known = !row.name.startsWith('[');
  switch (group) {
    case 'function':
      return known ? nameTerm('fn', row.name.replace(/^(0x[\da-f]+) +\[.*\]$/, '$1')) : '';
    case 'site':
    case 'stack':
      return row.function ? nameTerm('fn', row.function) : '';
    case 'file':
    case 'module':
      return known ? nameTerm(group, row.name) : '';
    case 'tag':
      return known ? nameTerm('tag', row.name) : '-tag:*';
    case 'thread':
      return row.thread === undefined ? '' : `thread:${row.thread}`;
    case 'call':
      return `call:"${row.name}"`;
    case 'size':
      return rangeTerm('size', row.from_bytes, row.below_bytes, '');
    case 'life':
      return row.from_ns == null && row.below_ns == null
        ? 'alive:end'
        : rangeTerm('life', row.from_ns, row.below_ns, 'ns');
    default:
      return '';
  }
}

function rangeTerm(
  key: string,
  from: number | null | undefined,
  below: number | null | undefined,
  unit: string,
): string {
  if (below == null) return `${key}:>=${from ?? 0}${unit}`;
  return `${key}:${from ?? 0}${unit}..${below - 1}${unit}`;
}

// The term for everything else.
export function negated(term: string): string {
  return term.startsWith('-') ? term.slice(1) : `-${term}`;
}

// A term is there once; terms of a filter must all match.
export function addTerm(filter: string, term: string): string {
  const parts = filter.trim();
  return parts === term || parts.endsWith(` ${term}`) ? parts : `${parts} ${term}`.trim();
}
