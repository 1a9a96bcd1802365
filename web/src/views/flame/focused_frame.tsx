// SPDX-License-Identifier: Apache-2.0
// focused_frame.tsx - the facts about the focused frame of a flame graph or row of a tree, and what can be done with it.

import { useEffect, useState } from 'preact/hooks';
import { useAnswer } from '../../data/answers';
import type { Params } from '../../data/source';
import type { TreeNode } from '../../data/tree';
import type { Answer } from '../../data/types';
import { addTerm, functionTerm } from '../../state/filter';
import { linkTo, state } from '../../state/store';
import { baseName, bytesText, countText, exactBytesText, percentText, plural, type Unit } from '../../text/text';
import { frameText, placeText } from '../../widgets/frame_name';
import { Sparkline } from '../../widgets/sparkline';

// Folded frames and stacks without names have no function that a filter could name.
export function isFunction(node: TreeNode): boolean {
  const name = node.frame?.function;
  return name != null && !name.startsWith('[');
}

export function nodeText(node: TreeNode, root: TreeNode, unit: Unit): string {
  const { frame } = node;
  const share = node.parent ? `, ${percentText(node[unit], root[unit])} of all` : '';
  const lines = [
    frame ? frameText(frame) : 'all',
    `${bytesText(node.bytes)} in ${plural(node.blocks, 'block')}${share}`,
    frame?.file ? `${frame.file}${frame.line ? `:${frame.line}` : ''}` : '',
    frame?.module ?? '',
  ];
  return lines.filter(line => line).join('\n');
}

export function FocusedFrame({ node, root }: { node: TreeNode; root: TreeNode }) {
  const { unit } = state.value;
  const { frame } = node;
  const place = frame ? placeText(frame) : '';
  const module = frame?.module ? baseName(frame.module) : '';
  return (
    <div class="focused-frame" data-testid="focused" data-bytes={node.bytes} data-blocks={node.blocks}>
      <p aria-live="polite">
        <strong class="name">{frame ? frameText(frame) : 'all'}</strong>{' '}
        {place && (
          <span class="name dim" title={frame!.file ?? ''}>
            {place}
          </span>
        )}{' '}
        {module && module !== place && (
          <span class="name dim" title={frame!.module!}>
            {module}
          </span>
        )}{' '}
        <span class="facts">
          <span title={exactBytesText(node.bytes)}>{bytesText(node.bytes)}</span>
          <span>{plural(node.blocks, 'block')}</span>
          <span>{percentText(node[unit], root[unit])} of all</span>
          {node.self_blocks > 0 && (
            <span title={exactBytesText(node.self_bytes)}>
              itself {bytesText(node.self_bytes)} in {countText(node.self_blocks)}
            </span>
          )}
        </span>
      </p>
      {isFunction(node) && <Actions node={node} />}
    </div>
  );
}

function Actions({ node }: { node: TreeNode }) {
  const { filter } = state.value;
  const term = functionTerm(node.frame!);
  const { file } = node.frame!;
  const name = node.frame!.function!;
  return (
    <div class="actions">
      <a href={linkTo({ filter: addTerm(filter, term), zoom: '' })} data-action="only">
        only this
      </a>
      <a href={linkTo({ filter: addTerm(filter, `-${term}`), zoom: '' })} data-action="exclude">
        exclude
      </a>
      <a href={linkTo({ view: 'flame', around: name, zoom: '' })} data-action="around" title="key s">
        callers and callees
      </a>
      <a href={linkTo({ view: 'table', group: 'stack', sort: '', filter: addTerm(filter, term) })} data-action="table">
        its stacks as a table
      </a>
      {file && (
        <a href={linkTo({ view: 'source', file })} data-action="source">
          its source file
        </a>
      )}
      <OverTime term={term} />
    </div>
  );
}

const PAUSE_MS = 250; // while the focus moves, nothing is asked

function OverTime({ term }: { term: string }) {
  const [asked, setAsked] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setAsked(term), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [term]);
  return <span class="over-time">{asked === term && <Curve key={term} term={term} />}</span>;
}

const COLUMNS = 120;

interface TimelineAnswer extends Answer {
  peak_bytes: number;
  columns: { max_live_bytes: number }[];
}

function Curve({ term }: { term: string }) {
  const { filter } = state.value;
  const params: Params = { width: COLUMNS, filter: filter.trim() ? [filter.trim(), term] : [term] };
  const answer = useAnswer<TimelineAnswer>({ view: 'timeline', params });
  const { value } = answer;
  return (
    <span data-ready={!answer.waiting} data-testid="over-time" data-value={value?.peak_bytes ?? ''}>
      {value && (
        <>
          <Sparkline values={value.columns.map(column => column.max_live_bytes)} /> over the run, at most{' '}
          {bytesText(value.peak_bytes)}
        </>
      )}
      {answer.error}
    </span>
  );
}
