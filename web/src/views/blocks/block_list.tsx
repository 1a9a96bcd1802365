// SPDX-License-Identifier: Apache-2.0
// block_list.tsx - the rows of single blocks. All rows have one height, and only the pages that are visible are in the
// document and asked for: a list may have more rows than a document can hold.

import { useEffect, useRef, useState } from 'preact/hooks';
import { useAnswer } from '../../data/answers';
import type { Request } from '../../data/source';
import { go, state } from '../../state/store';
import { bytesText, countText, durationText, exactBytesText, plural } from '../../text/text';
import { FrameName, frameText } from '../../widgets/frame_name';
import { actionsOf } from './actions';
import type { BlockRow, BlocksAnswer } from './blocks_types';
import type { OpenMenu } from './menu';
import { Menu, MenuButton } from './menu';
import { nextOrder, OFFSET_MAX, PAGE_ROWS, parseOrder } from './order';

const ROW_HEIGHT = 28; // as in blocks.css
const REST_MS = 90; // pages that are only passed while scrolling are not asked for

const COLUMNS: { title: string; sort?: string; number?: boolean }[] = [
  { title: 'Allocated', sort: 'time', number: true },
  { title: 'Lifetime', sort: 'life', number: true },
  { title: 'Size', sort: 'size', number: true },
  { title: 'Address', sort: 'address', number: true },
  { title: 'Thread', number: true },
  { title: 'Chain', number: true },
  { title: 'Allocated at' },
  { title: 'Ended' },
  { title: '' },
];

interface Props {
  first: BlocksAnswer;
  request: Request;
  selected: number | null; // the id of a block
  onSelect: (row: BlockRow | null) => void;
}

export function BlockList({ first, request, selected, onSelect }: Props) {
  const { filter } = state.value;
  const box = useRef<HTMLElement>(null);
  const [shown, setShown] = useState({ from: 0, to: 0 });
  const [menu, setMenu] = useState<OpenMenu | null>(null);
  const count = Math.min(first.row_count, OFFSET_MAX);
  const pages = Math.ceil(count / PAGE_ROWS);
  useEffect(() => {
    const view = box.current!;
    let timer = 0;
    const look = () => {
      const from = Math.floor(view.scrollTop / ROW_HEIGHT / PAGE_ROWS);
      const to = Math.floor((view.scrollTop + view.clientHeight) / ROW_HEIGHT / PAGE_ROWS);
      setShown(now => (now.from === from && now.to === to ? now : { from, to }));
    };
    const onScroll = () => {
      clearTimeout(timer);
      timer = window.setTimeout(look, REST_MS);
    };
    look();
    view.addEventListener('scroll', onScroll);
    return () => {
      clearTimeout(timer);
      view.removeEventListener('scroll', onScroll);
    };
  }, [pages]);
  const openMenu = (row: BlockRow, x: number, y: number, opener: HTMLElement | null) =>
    setMenu({
      x,
      y,
      opener,
      label: `block at ${row.address}`,
      actions: actionsOf(filter, {
        frame: row,
        stack: row.stack,
        thread: row.thread,
        address: row.address,
        freedStack: row.freed_stack,
      }),
    });
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keys */}
      <section class="block-list scroll" ref={box} tabIndex={0} aria-label="single blocks">
        <table class="blocks rows" aria-rowcount={count + 1}>
          <Heads />
          {Array.from({ length: pages }, (_, page) => {
            const rows = Math.min(PAGE_ROWS, count - page * PAGE_ROWS);
            const visible = page >= shown.from && page <= shown.to;
            return visible ? (
              <Page
                key={page}
                page={page}
                rows={rows}
                known={page === 0 ? first : null}
                request={request}
                selected={selected}
                onSelect={onSelect}
                onMenu={openMenu}
              />
            ) : (
              <tbody key={page} aria-hidden="true">
                <tr style={{ height: `${rows * ROW_HEIGHT}px` }}>
                  <td colSpan={COLUMNS.length} />
                </tr>
              </tbody>
            );
          })}
        </table>
      </section>
      {menu && <Menu menu={menu} onClose={() => setMenu(null)} />}
      {first.row_count > OFFSET_MAX && (
        <p class="note">
          The first {countText(OFFSET_MAX)} of {plural(first.row_count, 'row')} can be shown in this order. Select a
          time or add a term to the filter to get to the others, or download all.
        </p>
      )}
    </>
  );
}

function Heads() {
  const order = parseOrder(state.value.sort, false);
  return (
    <thead>
      <tr>
        {COLUMNS.map(({ title, sort, number }) => (
          <th
            key={title}
            scope="col"
            class={number ? 'number' : undefined}
            aria-sort={sort ? (order.key !== sort ? 'none' : order.falling ? 'descending' : 'ascending') : undefined}
          >
            {sort ? (
              <button type="button" data-sort={sort} onClick={() => go({ sort: nextOrder(order, sort, false) })}>
                {title}
              </button>
            ) : (
              title || <span class="visually-hidden">Actions</span>
            )}
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface PageProps {
  page: number;
  rows: number;
  known: BlocksAnswer | null;
  request: Request;
  selected: number | null;
  onSelect: (row: BlockRow | null) => void;
  onMenu: (row: BlockRow, x: number, y: number, opener: HTMLElement | null) => void;
}

function Page({ page, rows, known, request, selected, onSelect, onMenu }: PageProps) {
  const wanted = known ? null : { ...request, params: { ...request.params, offset: page * PAGE_ROWS } };
  const answer = useAnswer<BlocksAnswer>(wanted);
  const value = known ?? answer.value;
  if (!value)
    return (
      <tbody>
        <tr style={{ height: `${rows * ROW_HEIGHT}px` }}>
          <td colSpan={COLUMNS.length} class="loading">
            {answer.error || 'loading …'}
          </td>
        </tr>
      </tbody>
    );
  return (
    <tbody>
      {value.rows.slice(0, rows).map((row, i) => (
        <Row
          key={row.id}
          row={row}
          index={page * PAGE_ROWS + i}
          selected={row.id === selected}
          onSelect={onSelect}
          onMenu={onMenu}
        />
      ))}
    </tbody>
  );
}

interface RowProps {
  row: BlockRow;
  index: number;
  selected: boolean;
  onSelect: PageProps['onSelect'];
  onMenu: PageProps['onMenu'];
}

function Row({ row, index, selected, onSelect, onMenu }: RowProps) {
  return (
    <tr
      aria-rowindex={index + 2}
      aria-selected={selected}
      data-id={row.id}
      onContextMenu={event => {
        event.preventDefault();
        onMenu(row, event.clientX, event.clientY, null);
      }}
    >
      <td class="number">{durationText(row.allocated_ns)}</td>
      <td class={`number${row.lifetime_ns === null ? ' kept' : ''}`}>
        {row.lifetime_ns === null ? 'not freed' : durationText(row.lifetime_ns)}
      </td>
      <td class="number" data-value={row.size} title={exactBytesText(row.size)}>
        {bytesText(row.size)}
      </td>
      <td class="number address">{row.address}</td>
      <td class="number" title={row.thread_name ?? undefined}>
        {row.thread}
      </td>
      <td class="number">
        {row.chain_length !== null && row.chain_length > 1 ? `${row.chain_position}/${row.chain_length}` : ''}
      </td>
      <th scope="row">
        <button type="button" class="plain" aria-expanded={selected} onClick={() => onSelect(selected ? null : row)}>
          <FrameName frame={row} />
        </button>
      </th>
      <td class="ended">{endText(row)}</td>
      <td class="more">
        <MenuButton
          label={`actions for the block at ${row.address}`}
          onMenu={(x, y, opener) => onMenu(row, x, y, opener)}
        />
      </td>
    </tr>
  );
}

export function endText(row: BlockRow): string {
  if (row.ended_by === 'none') return '';
  const how = { free: 'freed', realloc: 'realloc', unseen: 'address reused' }[row.ended_by];
  const where = row.freed_site ? ` in ${frameText(row.freed_site)}` : '';
  return `${how}${where}${row.freed_by !== row.thread ? `, thread ${row.freed_by}` : ''}`;
}
