// SPDX-License-Identifier: Apache-2.0
// filter_box.tsx - the filter as text, with completion: terms of the language, and names of the trace.

import { useEffect, useRef, useState } from 'preact/hooks';
import { useAnswer } from '../data/answers';
import type { RowName } from '../data/series';
import type { Answer } from '../data/types';
import {
  complete,
  groupOfKey,
  type Suggestion,
  suggestKeys,
  suggestNames,
  type Word,
  wordAt,
} from '../state/completion';
import { go, state } from '../state/store';

const NAMES_MAX = 500;

export function FilterBox({ disabled }: { disabled: boolean }) {
  const { filter } = state.value;
  const [text, setText] = useState(filter);
  const [caret, setCaret] = useState(-1); // -1: nothing is suggested
  const [chosen, setChosen] = useState(-1);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => setText(filter), [filter]);
  const word = caret < 0 ? null : wordAt(text, caret);
  const suggestions = useSuggestions(word);
  const apply = (next: string) => {
    setText(next);
    setCaret(-1);
    go({ filter: next.trim() });
  };
  const take = (suggestion: Suggestion) => {
    const next = complete(text, word!, suggestion);
    setText(next.text);
    setCaret(next.caret);
    setChosen(-1);
    input.current!.value = next.text;
    input.current!.setSelectionRange(next.caret, next.caret);
    input.current!.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step && suggestions.length) {
      const count = suggestions.length;
      setChosen(chosen < 0 ? (step > 0 ? 0 : count - 1) : (chosen + step + count) % count);
    } else if ((event.key === 'Enter' || event.key === 'Tab') && suggestions[chosen]) {
      take(suggestions[chosen]);
    } else if (event.key === 'Escape') {
      if (suggestions.length) setCaret(-1);
      else {
        setText(filter);
        input.current!.blur();
      }
    } else return;
    event.preventDefault();
  };
  const onInput = (element: HTMLInputElement) => {
    setText(element.value);
    setCaret(element.selectionStart ?? element.value.length);
    setChosen(-1);
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
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={suggestions.length > 0}
        aria-controls="filter-list"
        aria-activedescendant={suggestions[chosen] ? `filter-option-${chosen}` : undefined}
        onInput={event => onInput(event.currentTarget)}
        onKeyDown={onKeyDown}
        onBlur={() => setCaret(-1)}
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
      <List suggestions={suggestions} chosen={chosen} onTake={take} />
    </form>
  );
}

interface ListProps {
  suggestions: readonly Suggestion[];
  chosen: number;
  onTake: (suggestion: Suggestion) => void;
}

function List({ suggestions, chosen, onTake }: ListProps) {
  return (
    <div class="suggestions" id="filter-list" role="listbox" aria-label="Completions" hidden={!suggestions.length}>
      {suggestions.map((one, i) => (
        // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the box, which names the chosen option
        <div
          key={one.text}
          id={`filter-option-${i}`}
          role="option"
          aria-selected={i === chosen}
          onPointerDown={event => {
            event.preventDefault();
            onTake(one);
          }}
        >
          <span class="name">{one.title}</span> <small>{one.hint}</small>
        </div>
      ))}
    </div>
  );
}

// Names are asked for when a term needs them: those of all allocations of the run.
function useSuggestions(word: Word | null): Suggestion[] {
  const group = word ? groupOfKey(word.key) : '';
  const wanted = group || (word && word.key === '' && word.value.length > 1 ? 'function' : '');
  const names = useAnswer<Answer & { group: string; rows: RowName[] }>(
    wanted ? { view: `table/${wanted}`, params: { allocated: true, 'max-rows': NAMES_MAX } } : null,
  );
  if (!word) return [];
  const rows = names.value?.group === wanted ? names.value.rows : [];
  if (word.key !== '') return group ? suggestNames(word, group, rows) : [];
  const functions = wanted ? suggestNames(word, 'function', rows) : [];
  return [...suggestKeys(word), ...functions.map(one => ({ ...one, text: `fn:${one.text} `, hint: 'function' }))];
}
