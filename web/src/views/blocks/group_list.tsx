// SPDX-License-Identifier: Apache-2.0
// group_list.tsx - the stacks of the selected blocks: what matches beside all blocks of the run with the same stack, with
// a graph of each.

import { useState } from 'preact/hooks';
import type { Answer } from '../../data/types';
import { go, state } from '../../state/store';
import { bytesText, countText, durationText, exactBytesText, percentText, plural } from '../../text/text';
import { FrameName, frameText } from '../../widgets/frame_name';
import { Sparkline } from '../../widgets/sparkline';
import { actionsOf } from './actions';
import type { GroupFigures, GroupRow, GroupsAnswer } from './blocks_types';
import { Menu, MenuButton, type OpenMenu } from './menu';
import { GROUP_ROWS, nextOrder, parseOrder } from './order';
import { useTurn } from './use_turn';

const COLUMNS = [
  { title: 'Bytes' },
  { title: 'Blocks' },
  { title: 'Leaked' },
  { title: 'First' },
  { title: 'Last' },
  { title: 'Interval' },
] as const;

interface TimelineAnswer extends Answer {
  columns: { max_live_bytes: number }[];
}

interface Props {
  value: GroupsAnswer;
  page: number;
  onPage: (page: number) => void;
}

export function GroupList({ value, page, onPage }: Props) {
  const [menu, setMenu] = useState<OpenMenu | null>(null);
  const { filter, graphs } = state.value;
  const openMenu = (row: GroupRow, x: number, y: number, opener: HTMLElement | null) =>
    setMenu({
      x,
      y,
      opener,
      label: `stack ${row.stack}`,
      actions: [
        ...(row.stack === null ? [] : [{ title: 'List the blocks of this stack', changes: listOf(filter, row.stack) }]),
        ...actionsOf(filter, { frame: row, stack: row.stack }),
      ],
    });
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keys */}
      <section class="scroll" tabIndex={0} aria-label="stacks">
        <table class="groups rows">
          <Heads graphs={graphs === 'yes'} />
          {value.rows.map(row => (
            <Group key={row.stack ?? -1} row={row} graphs={graphs === 'yes'} onMenu={openMenu} />
          ))}
        </table>
      </section>
      {menu && <Menu menu={menu} onClose={() => setMenu(null)} />}
      <Pager page={page} pages={Math.ceil(value.groups / GROUP_ROWS)} onPage={onPage} groups={value.groups} />
    </>
  );
}

function listOf(filter: string, stack: number) {
  return { filter: `${filter} stack:${stack}`.trim(), grouped: 'no' as const, sort: '' };
}

function Heads({ graphs }: { graphs: boolean }) {
  const order = parseOrder(state.value.sort, true);
  const head = (title: string, sort: string) => (
    <th
      key={sort}
      scope="col"
      class="number"
      aria-sort={order.key !== sort ? 'none' : order.falling ? 'descending' : 'ascending'}
    >
      <button type="button" data-sort={sort} onClick={() => go({ sort: nextOrder(order, sort, true) })}>
        {title}
      </button>
    </th>
  );
  return (
    <thead>
      <tr>
        <th scope="col">matching</th>
        {COLUMNS.map(({ title }) => head(title, title.toLowerCase()))}
        {graphs && <th scope="col">Live bytes over time</th>}
        <td />
      </tr>
      <tr>
        <th scope="col">whole run</th>
        <td />
        {COLUMNS.slice(1).map(({ title }) => head(title, `run-${title.toLowerCase()}`))}
        {graphs && <td />}
        {head('Its peak', 'run-peak')}
      </tr>
    </thead>
  );
}

interface GroupProps {
  row: GroupRow;
  graphs: boolean;
  onMenu: (row: GroupRow, x: number, y: number, opener: HTMLElement | null) => void;
}

function Group({ row, graphs, onMenu }: GroupProps) {
  const { filter } = state.value;
  return (
    <tbody
      data-stack={row.stack}
      onContextMenu={event => {
        event.preventDefault();
        onMenu(row, event.clientX, event.clientY, null);
      }}
    >
      <tr class="group-head">
        <th scope="rowgroup" colSpan={graphs ? 8 : 7}>
          <FrameName frame={row} /> <span class="stack-number">{row.stack !== null && `stack ${row.stack}`}</span>
        </th>
        <td class="more">
          <MenuButton
            label={`actions for ${frameText(row)}, stack ${row.stack}`}
            onMenu={(x, y, opener) => onMenu(row, x, y, opener)}
          />
        </td>
      </tr>
      <tr>
        <th scope="row">matching</th>
        <Figures figures={row.matched} />
        {graphs && <td>{row.stack !== null && <Graph filter={`${filter} stack:${row.stack}`.trim()} />}</td>}
        <td />
      </tr>
      <tr>
        <th scope="row">whole run</th>
        <Figures figures={row.run} />
        {graphs && <td>{row.stack !== null && <Graph filter={`stack:${row.stack}`} />}</td>}
        <td title={`its peak, at ${durationText(row.run.peak_ns)}`} class="number">
          {bytesText(row.run.peak_bytes)}
        </td>
      </tr>
    </tbody>
  );
}

function Figures({ figures }: { figures: GroupFigures }) {
  return (
    <>
      <td class="number" title={exactBytesText(figures.bytes)} data-value={figures.bytes}>
        {bytesText(figures.bytes)}
      </td>
      <td class="number" data-value={figures.blocks}>
        {countText(figures.blocks)}
      </td>
      <td class="number" title={percentText(figures.leaked_blocks, figures.blocks)} data-value={figures.leaked_blocks}>
        {countText(figures.leaked_blocks)}
      </td>
      <td class="number">{durationText(figures.first_ns)}</td>
      <td class="number">{durationText(figures.last_ns)}</td>
      <td class="number">{durationText(figures.interval_ns)}</td>
    </>
  );
}

function Graph({ filter }: { filter: string }) {
  const value = useTurn<TimelineAnswer>({ view: 'timeline', params: { width: 80, filter: [filter] } });
  if (!value) return <span class="spark" />;
  return <Sparkline values={value.columns.map(column => column.max_live_bytes)} />;
}

function Pager({
  page,
  pages,
  groups,
  onPage,
}: {
  page: number;
  pages: number;
  groups: number;
  onPage: Props['onPage'];
}) {
  if (pages <= 1) return null;
  return (
    <nav class="pager" aria-label="Pages of stacks">
      <button type="button" disabled={page === 0} onClick={() => onPage(page - 1)}>
        Previous
      </button>
      <span>
        page {countText(page + 1)} of {countText(pages)} ({plural(groups, 'stack')})
      </span>
      <button type="button" disabled={page + 1 >= pages} onClick={() => onPage(page + 1)}>
        Next
      </button>
    </nav>
  );
}
