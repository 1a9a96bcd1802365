// SPDX-License-Identifier: Apache-2.0
// block_details.tsx - all that is known of the block that is selected, with its whole stack.

import { useEffect, useRef } from 'preact/hooks';
import { useAnswer } from '../../data/answers';
import type { Frame, QuantityAnswer } from '../../data/types';
import { bytesText, countText, durationText, exactBytesText } from '../../text/text';
import { AnswerBox } from '../../widgets/answer_box';
import { FrameName } from '../../widgets/frame_name';
import { endText } from './block_list';
import type { BlockRow } from './blocks_types';

interface TreeAnswer extends QuantityAnswer {
  nodes: (Frame & { parent: number | null; inlined: boolean })[];
}

export function BlockDetails({ row, onClose }: { row: BlockRow; onClose: () => void }) {
  // It is below the list, which may fill the window.
  const box = useRef<HTMLElement>(null);
  useEffect(() => box.current!.scrollIntoView({ block: 'nearest' }), [row.id]);
  return (
    <section ref={box} class="card details" aria-labelledby="block-heading" id="block-details">
      <div class="tools">
        <h2 id="block-heading">Block at {row.address}</h2>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
      <dl class="fields">
        {factsOf(row).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {row.stack !== null ? <Stack stack={row.stack} /> : <p class="empty">The trace has no stack of this block.</p>}
    </section>
  );
}

function factsOf(row: BlockRow): [string, string][] {
  const facts: [string, string][] = [
    ['size', `${bytesText(row.size)} (${exactBytesText(row.size)})`],
    ['allocated', `${durationText(row.allocated_ns)}, thread ${threadText(row.thread, row.thread_name)}`],
    ['by', row.call ?? 'not known'],
    ['ended', row.freed_ns === null ? 'not freed' : `${durationText(row.freed_ns)}: ${endText(row)}`],
  ];
  if (row.lifetime_ns !== null) facts.push(['lifetime', durationText(row.lifetime_ns)]);
  if (row.tag !== null) facts.push(['tag', row.tag]);
  if (row.chain_length !== null && row.chain_length > 1)
    facts.push([
      'realloc chain',
      `${row.chain_position} of ${countText(row.chain_length)}, from ${bytesText(row.chain_first_size!)} to ` +
        `${bytesText(row.chain_last_size!)}, ` +
        `${row.chain_lifetime_ns === null ? 'not freed' : `lifetime ${durationText(row.chain_lifetime_ns)}`}`,
    ]);
  if (row.blocks > 1) facts.push(['stands for', `${countText(row.blocks)} blocks`]);
  return facts;
}

function threadText(thread: number, name: string | null): string {
  return name === null ? String(thread) : `${thread} (${name})`;
}

// Sums answer it at once: the term is about the stack alone.
function Stack({ stack }: { stack: number }) {
  const answer = useAnswer<TreeAnswer>({ view: 'tree', params: { allocated: true, filter: [`stack:${stack}`] } });
  return (
    <AnswerBox answer={answer}>
      {value => (
        <ol class="stack" aria-label={`stack ${stack}, innermost frame first`}>
          {[...value.nodes].reverse().map((frame, i) => (
            <li key={i} class={frame.inlined ? 'inlined' : undefined}>
              <FrameName frame={frame} />
            </li>
          ))}
        </ol>
      )}
    </AnswerBox>
  );
}
