// SPDX-License-Identifier: Apache-2.0
// selection_bar.tsx - the quantity, its unit, and the filter. A selection that the view does not follow is disabled.

import { useEffect, useRef, useState } from 'preact/hooks';
import { QUANTITIES } from '../state/fields';
import { QUANTITY_HINTS, QUANTITY_NAMES } from '../state/quantity';
import { go, state } from '../state/store';
import type { View } from '../views/view';
import { Choice } from '../widgets/choice';

const QUANTITY_OPTIONS = QUANTITIES.map(value => ({
  value,
  title: QUANTITY_NAMES[value],
  hint: QUANTITY_HINTS[value],
}));
const UNIT_OPTIONS = [
  { value: 'bytes', title: 'bytes' },
  { value: 'blocks', title: 'blocks' },
] as const;

export function SelectionBar({ view }: { view: View }) {
  const { quantity, unit } = state.value;
  return (
    <div class="selection-bar">
      <Choice
        id="quantity"
        label="Quantity"
        options={QUANTITY_OPTIONS}
        value={quantity}
        onChange={next => go({ quantity: next })}
        disabled={!view.follows.quantity}
      />
      <Choice
        id="unit"
        label="Unit"
        options={UNIT_OPTIONS}
        value={unit}
        onChange={next => go({ unit: next })}
        disabled={!view.follows.unit}
      />
      <FilterBox disabled={!view.follows.filter} />
    </div>
  );
}

function FilterBox({ disabled }: { disabled: boolean }) {
  const { filter } = state.value;
  const [text, setText] = useState(filter);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => setText(filter), [filter]);
  const apply = (next: string) => {
    setText(next);
    go({ filter: next.trim() });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      setText(filter);
      input.current!.blur();
    }
  };
  return (
    <form
      class="filter"
      onSubmit={event => {
        event.preventDefault();
        apply(text);
      }}
    >
      <input
        id="filter"
        ref={input}
        type="text"
        value={text}
        disabled={disabled}
        placeholder="filter: fn:parse* size:>=4K -module:libc.so* alive:end"
        aria-label="Filter"
        title="the filter language of heaplapse report; key /"
        autocomplete="off"
        spellcheck={false}
        maxLength={4000}
        onInput={event => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {text === '' && (
        <span class="key-hint" aria-hidden="true">
          /
        </span>
      )}
      {(filter !== '' || text !== '') && (
        <button type="button" class="clear" aria-label="Remove the filter" onClick={() => apply('')}>
          ✕
        </button>
      )}
      {text.trim() !== filter && <button type="submit">Apply</button>}
    </form>
  );
}
