// SPDX-License-Identifier: Apache-2.0
// view.ts - what a view of the page is. views.ts lists all.

import type { ComponentType } from 'preact';
import type { Params, Request } from '../data/source';
import type { State } from '../state/fields';

// The selections that a view follows. The page disables the others, and says so.
export interface Follows {
  time: boolean;
  quantity: boolean;
  unit: boolean;
  filter: boolean;
}

export interface View {
  key: string; // in the address
  title: string;
  hint: string;
  follows: Follows;
  // The main question of the view: the params of the selections are given. It is also what "copy as command" prints.
  request(state: State, selected: Params): Request;
  // Shows the answer. It asks with useRequest() of this directory, so that the question is the one above.
  component: ComponentType;
}

export const FOLLOWS_ALL: Follows = { time: true, quantity: true, unit: true, filter: true };
