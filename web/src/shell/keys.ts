// SPDX-License-Identifier: Apache-2.0
// keys.ts - the keys of the whole page. Elements that use a key themselves stop it.

import { go, run, state } from '../state/store';
import { views } from '../views/views';
import { pan } from './timebar/span';
import { show, visible } from './timebar/use_time';

const TYPED = /^(input|textarea|select)$/i;

export function startKeys(): void {
  document.addEventListener('keydown', event => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || TYPED.test(target.tagName)) return;
    if (press(event.key)) event.preventDefault();
  });
}

function press(key: string): boolean {
  if (key === '/') {
    const filter = document.querySelector<HTMLInputElement>('#filter');
    filter?.focus();
    filter?.select();
    return true;
  }
  if (key === '[' || key === ']') {
    if (state.peek().window) show(pan(visible.peek(), key === '[' ? -0.25 : 0.25, run.peek().duration_ns));
    return true;
  }
  const view = /^[1-9]$/.test(key) ? views[Number(key) - 1] : undefined;
  if (view) go({ view: view.key });
  return view !== undefined;
}
