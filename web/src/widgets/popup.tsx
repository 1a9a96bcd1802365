// SPDX-License-Identifier: Apache-2.0
// popup.tsx - a button with a box below it. Escape and a click elsewhere close it.

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface Props {
  title: string;
  id: string;
  children: ComponentChildren;
  onToggle?: (open: boolean) => void;
}

export function Popup({ title, id, children, onToggle }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  const change = (next: boolean) => {
    setOpen(next);
    onToggle?.(next);
  };
  useEffect(() => {
    if (!open) return;
    const onPress = (event: PointerEvent) => {
      if (!box.current?.contains(event.target as Node)) change(false);
    };
    document.addEventListener('pointerdown', onPress);
    return () => document.removeEventListener('pointerdown', onPress);
  }, [open]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !open) return;
    event.stopPropagation();
    change(false);
    box.current!.querySelector('button')!.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the elements in it
    <div class="popup" ref={box} onKeyDown={onKeyDown}>
      <button type="button" id={`${id}-button`} aria-expanded={open} aria-controls={id} onClick={() => change(!open)}>
        {title} ▾
      </button>
      <div class="popup-box" id={id} hidden={!open}>
        {open && children}
      </div>
    </div>
  );
}
