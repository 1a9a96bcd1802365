// SPDX-License-Identifier: Apache-2.0
// search.tsx - a search in the flame graph: how many frames match, and how much memory is in stacks with a match. That
// is the total of a question with the same term as a filter, so each block counts once.

import { useEffect, useState } from 'preact/hooks';
import { useAnswer } from '../../data/answers';
import type { TreeAnswer, TreeNode } from '../../data/tree';
import type { QuantityAnswer } from '../../data/types';
import { go, question, state } from '../../state/store';
import { percentText, plural, unitText } from '../../text/text';
import { searchTerm } from '../../widgets/flame/search';
import { withTerm } from '../tree/tree_request';

const TYPING_MS = 250;

interface Props {
  value: TreeAnswer;
  found: readonly TreeNode[];
  onNext: (key: 'n' | 'N') => void;
}

export function Search({ value, found, onNext }: Props) {
  const { find } = state.value;
  const [text, setText] = useState(find);
  useEffect(() => setText(find), [find]);
  useEffect(() => {
    const timer = setTimeout(() => go({ find: text.trim() }, { replace: true }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      event.stopPropagation();
      setText('');
    } else if (event.key === 'Enter') onNext(event.shiftKey ? 'N' : 'n');
  };
  return (
    <div class="flame-search">
      <input
        id="find"
        type="search"
        value={text}
        placeholder="search functions"
        aria-label="Search functions"
        autocomplete="off"
        spellcheck={false}
        onInput={event => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {find && <Matches value={value} found={found} />}
      {find && found.length > 0 && (
        <>
          <button type="button" aria-label="Previous match" onClick={() => onNext('N')}>
            ‹
          </button>
          <button type="button" aria-label="Next match" onClick={() => onNext('n')}>
            ›
          </button>
        </>
      )}
    </div>
  );
}

function Matches({ value, found }: { value: TreeAnswer; found: readonly TreeNode[] }) {
  const { find, unit } = state.value;
  const params = { ...withTerm(question.value.params, searchTerm(find), value), 'max-rows': 1 };
  const answer = useAnswer<QuantityAnswer>({ view: 'table/module', params });
  const matched = answer.value?.[`total_${unit}`] ?? null;
  return (
    <span role="status" data-ready={!answer.waiting} data-testid="matches" data-value={matched ?? ''}>
      {plural(found.length, 'frame')}
      {matched !== null && (
        <>
          {', '}
          {unitText(matched, unit)} ({percentText(matched, value[`total_${unit}`])}) in stacks with a match
        </>
      )}
      {answer.error}
    </span>
  );
}
