// SPDX-License-Identifier: Apache-2.0
// command.ts - the command that prints the same numbers as a question of the page.

import type { Request } from '../data/source';

// Endpoints that are no option of `report`, and the options that they stand for.
const OPTIONS: Record<string, string[]> = {
  tree: [],
  flame: [],
  curve: ['--timeline'],
  source: [],
  processes: ['-g', 'process'],
};
// Parameters that have no option, or mean only how much is sent.
const NOT_OPTIONS = new Set(['width', 'bottom-up', 'folded', 'max-rows', 'max-bytes', 'function']);
// Their value is attached: --temporary D would take D as a file.
const ATTACHED = new Set(['temporary']);

export function commandOf(trace: string, request: Request): string {
  const [view, group] = request.view.split('/');
  const words = ['heaplapse', 'report', ...optionsOf(view!, group)];
  if (view === 'tree' || view === 'flame') words.push(...treeWords(request));
  for (const [key, value] of Object.entries(request.params)) {
    if (NOT_OPTIONS.has(key)) continue;
    for (const one of Array.isArray(value) ? value : [value]) words.push(...optionWords(key, one));
  }
  return [...words, trace].map(quote).join(' ');
}

function optionsOf(view: string, group: string | undefined): string[] {
  const options = OPTIONS[view] ?? (view === 'table' ? [] : [`--${view}`]);
  return group === undefined ? options : [...options, '-g', group];
}

// `report` begins at the allocating frames and folds libraries, the endpoints do neither.
function treeWords({ params }: Request): string[] {
  return [...(params['bottom-up'] ? [] : ['--top-down']), ...(params.folded ? [] : ['--full-stacks'])];
}

function optionWords(key: string, value: string | number | true): string[] {
  if (key === 'file') return ['--source', String(value)];
  if (value === true) return [`--${key}`];
  return ATTACHED.has(key) ? [`--${key}=${value}`] : [`--${key}`, String(value)];
}

// The command that asks the server for the same answer. The page does not know the token.
export function curlOf(address: string): string {
  return `curl -H "Authorization: Bearer $TOKEN" ${quote(address)}`;
}

// For any shell: control characters cannot be typed, and are written as the shell's $'...'.
function quote(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  if (!/[\x00-\x1f\x7f]/.test(text)) return `'${text.replaceAll("'", `'\\''`)}'`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is replaced
  const escaped = text.replace(/[\\']/g, '\\$&').replace(/[\x00-\x1f\x7f]/g, hexOf);
  return `$'${escaped}'`;
}

function hexOf(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
}
