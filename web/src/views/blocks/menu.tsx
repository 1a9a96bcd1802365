// SPDX-License-Identifier: Apache-2.0
// menu.tsx - the actions of a row, as a menu where it was asked for: a button, the right mouse button, or its key.

import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { go } from '../../state/store';
import type { Action } from './actions';

export interface OpenMenu {
  x: number; // in the window
  y: number;
  label: string;
  actions: Action[];
  opener: HTMLElement | null; // gets the focus again
}

interface ButtonProps {
  label: string;
  onMenu: (x: number, y: number, opener: HTMLElement) => void;
}

// The menu opens below its button.
export function MenuButton({ label, onMenu }: ButtonProps) {
  return (
    <button
      type="button"
      class="plain"
      aria-haspopup="menu"
      aria-label={label}
      onClick={event => {
        const { left, bottom } = event.currentTarget.getBoundingClientRect();
        onMenu(left, bottom, event.currentTarget);
      }}
    >
      ⋯
    </button>
  );
}

interface Props {
  menu: OpenMenu;
  onClose: () => void;
}

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };

export function Menu({ menu, onClose }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const close = () => {
    onClose();
    menu.opener?.focus();
  };
  useLayoutEffect(() => {
    const { width, height } = box.current!.getBoundingClientRect();
    box.current!.style.left = `${Math.max(4, Math.min(menu.x, innerWidth - width - 4))}px`;
    box.current!.style.top = `${Math.max(4, Math.min(menu.y, innerHeight - height - 4))}px`;
    (box.current!.children[0] as HTMLElement | undefined)?.focus();
  }, [menu]);
  useEffect(() => {
    const onPress = (event: PointerEvent) => {
      if (!box.current?.contains(event.target as Node)) onClose();
    };
    document.addEventListener('pointerdown', onPress);
    return () => document.removeEventListener('pointerdown', onPress);
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation();
    const items = [...box.current!.children] as HTMLElement[];
    const step = STEPS[event.key];
    if (event.key === 'Escape' || event.key === 'Tab') close();
    else if (step)
      items[(items.indexOf(document.activeElement as HTMLElement) + step + items.length) % items.length]!.focus();
    else return;
    event.preventDefault();
  };
  return (
    <div class="menu" role="menu" aria-label={menu.label} ref={box} onKeyDown={onKeyDown}>
      {menu.actions.map(action => (
        <button
          key={action.title}
          type="button"
          role="menuitem"
          onClick={() => {
            close();
            go(action.changes);
          }}
        >
          {action.title}
        </button>
      ))}
    </div>
  );
}
