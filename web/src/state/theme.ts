// SPDX-License-Identifier: Apache-2.0
// theme.ts - dark or light: what the system says, or what the user chose, which the browser keeps.

import { computed, effect, signal } from '@preact/signals';

export type Theme = 'dark' | 'light';
const KEY = 'heaplapse.theme';

const system = window.matchMedia('(prefers-color-scheme: dark)');
const systemTheme = signal<Theme>(system.matches ? 'dark' : 'light');
const chosen = signal<Theme | null>(null);
export const theme = computed<Theme>(() => chosen.value ?? systemTheme.value);

export function startTheme(): void {
  system.addEventListener('change', () => {
    systemTheme.value = system.matches ? 'dark' : 'light';
  });
  chosen.value = readKept();
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
  });
}

export function setTheme(next: Theme): void {
  chosen.value = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // a browser may forbid it
  }
}

function readKept(): Theme | null {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === 'dark' || kept === 'light' ? kept : null;
  } catch {
    return null;
  }
}
