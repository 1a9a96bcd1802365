// SPDX-License-Identifier: Apache-2.0
// flame_request.ts - the question of the flame graph: the nodes that can be seen in this window.

import { effect, signal } from '@preact/signals';
import type { Params, Request } from '../../data/source';
import type { State } from '../../state/fields';
import { functionTerm } from '../../state/filter';
import { state } from '../../state/store';
import { rowsMost } from '../tree/tree_limit';
import { treeParams, withTerm } from '../tree/tree_request';

const WIDTH_STEP = 400;
const WIDTH_MAX = 65536;
const windowWidth = signal(roundedWidth());
// How many times wider than the window the whole graph would be, while a frame is zoomed.
export const magnified = signal(1);

function roundedWidth(): number {
  return Math.ceil(window.innerWidth / WIDTH_STEP) * WIDTH_STEP;
}
window.addEventListener('resize', () => {
  windowWidth.value = roundedWidth();
});
effect(() => {
  if (!state.value.zoom) magnified.value = 1;
});

export function flameRequest(state: State, selected: Params): Request {
  const { around } = state;
  const width = Math.min(WIDTH_MAX, windowWidth.value * magnified.value);
  const params = { ...treeParams(state, selected), width, 'max-rows': rowsMost.value };
  if (!around) return { view: 'flame', params };
  const { 'bottom-up': _, ...down } = params as Params;
  return { view: 'flame', params: { ...withTerm(down, nameTerm(around)), function: around } };
}

function nameTerm(name: string): string {
  return functionTerm({ function: name, file: null, line: 0, module: null });
}
