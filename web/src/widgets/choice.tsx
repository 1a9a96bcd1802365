// SPDX-License-Identifier: Apache-2.0
// choice.tsx - one of a few: a row of buttons, operated by arrow keys like radio buttons.

import { useRef } from 'preact/hooks';

export interface Option<T extends string> {
  value: T;
  title: string;
  hint?: string;
}

interface Props<T extends string> {
  label: string;
  options: readonly Option<T>[];
  value: T;
  onChange: (value: T) => void;
  disabled?: boolean;
  id?: string;
}

const STEPS: Record<string, number> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export function Choice<T extends string>({ label, options, value, onChange, disabled = false, id }: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const at = (options.findIndex(option => option.value === value) + step + options.length) % options.length;
    (box.current!.children[at] as HTMLElement).focus();
    onChange(options[at]!.value);
  };
  return (
    <div class="choice" role="radiogroup" aria-label={label} ref={box} onKeyDown={onKeyDown} id={id}>
      {options.map(option => (
        // biome-ignore lint/a11y/useSemanticElements: an input of type radio has no text of its own
        <button
          key={option.value}
          type="button"
          role="radio"
          aria-checked={option.value === value}
          tabIndex={option.value === value ? 0 : -1}
          title={option.hint}
          disabled={disabled}
          data-value={option.value}
          onClick={() => onChange(option.value)}
        >
          {option.title}
        </button>
      ))}
    </div>
  );
}
