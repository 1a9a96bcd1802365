// SPDX-License-Identifier: Apache-2.0
// blocks.tsx - single blocks: a list, or the stacks of the blocks with a graph each; a form for the filter; downloads.

import { useState } from 'preact/hooks';
import { type Answered, useAnswer, useSource } from '../../data/answers';
import type { Params, Request } from '../../data/source';
import { go, question, state } from '../../state/store';
import { bytesText, plural } from '../../text/text';
import { AnswerBox } from '../../widgets/answer_box';
import { Choice } from '../../widgets/choice';
import { requestOf, useViewAnswer } from '../use_view';
import { FOLLOWS_ALL, type View } from '../view';
import { BlockDetails } from './block_details';
import { BlockList } from './block_list';
import type { BlockRow, BlocksAnswer, GroupsAnswer } from './blocks_types';
import { FilterForm } from './filter_form';
import { GroupList } from './group_list';
import { GROUP_ROWS, orderParams, PAGE_ROWS, parseOrder } from './order';

function Blocks() {
  const { grouped } = state.value;
  return (
    <section class="card" aria-labelledby="blocks-heading">
      <h2 id="blocks-heading">{question.value.heading}</h2>
      <Tools />
      <details class="filter-details">
        <summary>Filter form</summary>
        <FilterForm />
      </details>
      {grouped === 'no' ? <List /> : <Groups />}
    </section>
  );
}

function Tools() {
  const { grouped, graphs } = state.value;
  return (
    <div class="tools">
      <Choice
        id="grouped"
        label="Rows"
        options={[
          { value: 'no', title: 'Blocks', hint: 'a row for each block' },
          { value: 'stack', title: 'Stacks', hint: 'a row for each stack, with all of its blocks' },
        ]}
        value={grouped}
        onChange={value => go({ grouped: value, sort: '' })}
      />
      {grouped === 'stack' && (
        <label>
          <input
            type="checkbox"
            id="graphs"
            checked={graphs === 'yes'}
            onChange={event => go({ graphs: event.currentTarget.checked ? 'yes' : 'no' })}
          />{' '}
          graphs
        </label>
      )}
      <Downloads />
    </div>
  );
}

// The page as it is, and all blocks of the question in one file.
function Downloads() {
  const source = useSource();
  const { trace } = state.value;
  const { params } = question.value;
  const files = [
    { title: 'JSON of this page', name: 'blocks.json', request: requestOf(blocks) },
    { title: 'all as JSON', name: 'allocations.json', request: { view: 'export/json', params } },
    { title: 'all as CSV', name: 'allocations.csv', request: { view: 'export/csv', params } },
  ];
  return (
    <p class="downloads">
      Download:{' '}
      {files.map(({ title, name, request }) => {
        const address = source.address(trace, request);
        return (
          address && (
            <a key={name} href={address} download={name}>
              {title}
            </a>
          )
        );
      })}
    </p>
  );
}

function Total({ value, count }: { value: BlocksAnswer | GroupsAnswer; count: string }) {
  return (
    <p class="total" data-bytes={value.total_bytes} data-blocks={value.total_blocks}>
      {bytesText(value.total_bytes)} in {plural(value.total_blocks, 'block')}
      {count}
    </p>
  );
}

const NOTHING = 'No block is selected. Select another time or quantity, or remove a term of the filter.';

function List() {
  const answer = useViewAnswer<BlocksAnswer>(blocks);
  const [selected, setSelected] = useState<BlockRow | null>(null);
  return (
    <>
      <AnswerBox answer={answer}>
        {value =>
          'row_count' in value && (
            <>
              <Total value={value} count="" />
              {value.rows.length ? (
                <BlockList
                  key={JSON.stringify(answer.request)}
                  first={value}
                  request={answer.request!}
                  selected={selected?.id ?? null}
                  onSelect={setSelected}
                />
              ) : (
                <p class="empty">{NOTHING}</p>
              )}
            </>
          )
        }
      </AnswerBox>
      {selected && <BlockDetails row={selected} onClose={() => setSelected(null)} />}
    </>
  );
}

function Groups() {
  const request = requestOf(blocks);
  const [at, setAt] = useState({ of: '', page: 0 });
  const of = JSON.stringify(request);
  const page = at.of === of ? at.page : 0;
  const answer: Answered<GroupsAnswer> = useAnswer<GroupsAnswer>(withOffset(request, page * GROUP_ROWS));
  return (
    <AnswerBox answer={answer}>
      {value =>
        'groups' in value && (
          <>
            <Total value={value} count={`, ${plural(value.groups, 'stack')}`} />
            {value.groups ? (
              <GroupList value={value} page={page} onPage={next => setAt({ of, page: next })} />
            ) : (
              <p class="empty">{NOTHING}</p>
            )}
          </>
        )
      }
    </AnswerBox>
  );
}

function withOffset(request: Request, offset: number): Request {
  return offset ? { ...request, params: { ...request.params, offset } } : request;
}

function paramsOf(sort: string, grouped: boolean): Params {
  const order = orderParams(parseOrder(sort, grouped), grouped);
  return grouped
    ? { group: 'stack', ...order, limit: GROUP_ROWS, folded: true }
    : { ...order, limit: PAGE_ROWS, folded: true };
}

export const blocks: View = {
  key: 'blocks',
  title: 'Blocks',
  hint: 'single allocations, or the stacks that made them, with every filter',
  follows: { ...FOLLOWS_ALL, unit: false },
  request: ({ sort, grouped }, selected) => ({
    view: 'blocks',
    params: { ...selected, ...paramsOf(sort, grouped === 'stack') },
  }),
  component: Blocks,
};
