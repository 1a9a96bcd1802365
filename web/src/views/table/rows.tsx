// SPDX-License-Identifier: Apache-2.0
// rows.tsx - the rows of the table. Only those that can be seen are in the document. The name of a row opens what can be
// done with it.

import { useRef, useState } from 'preact/hooks';
import type { Group } from '../../state/fields';
import { go, linkTo, state } from '../../state/store';
import { bytesText, countText, durationText, exactBytesText, percentText } from '../../text/text';
import { Bar } from '../../widgets/bar';
import { RowLabel } from '../../widgets/row_label';
import { Sparkline } from '../../widgets/sparkline';
import { useHeight, useWidth } from '../../widgets/use_width';
import { partOf } from '../../widgets/virtual';
import { Actions } from './actions';
import { averageOf, type Column, type Line, nextSort, type Order } from './columns';
import { plotColor } from './plotted';

const ROW_PX = 27; // as in table.css
const OPEN_PX = 84;
const NARROW_PX = 600;

interface Props {
  lines: readonly Line[];
  columns: readonly Column[];
  order: Order | null;
  group: Group;
  total: number;
}

export function Rows({ lines, columns, order, group, total }: Props) {
  const box = useRef<HTMLElement>(null);
  const visible = useHeight(box);
  const shown = useWidth(box) < NARROW_PX ? nameFirst(columns) : columns;
  const [scrolled, setScrolled] = useState(0);
  const [openKey, setOpenKey] = useState('');
  const open = openKey ? lines.findIndex(line => line.key === openKey) : -1;
  const part = partOf({ count: lines.length, height: ROW_PX, open, openHeight: OPEN_PX }, scrolled, visible);
  const width = columns.length + 3;
  return (
    <section
      class="scroll tall"
      ref={box}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
      tabIndex={0}
      aria-label="rows"
      onScroll={event => setScrolled(event.currentTarget.scrollTop)}
    >
      <table class={`rows virtual ${group}`} id="rows" aria-rowcount={lines.length + 1}>
        <Head columns={shown} order={order} group={group} />
        <tbody>
          <Space px={part.before} width={width} />
          {lines.slice(part.first, part.end).map((line, i) => (
            <Row
              key={line.key}
              line={line}
              index={part.first + i}
              columns={shown}
              group={group}
              total={total}
              isOpen={part.first + i === open}
              onOpen={() => setOpenKey(line.key === openKey ? '' : line.key)}
              width={width}
            />
          ))}
          <Space px={part.after} width={width} />
        </tbody>
      </table>
    </section>
  );
}

// On a narrow page the name would be beyond the edge.
function nameFirst(columns: readonly Column[]): readonly Column[] {
  return [columns[0]!, ...columns.filter(one => one.key === 'name'), ...columns.slice(1, -1)];
}

function Space({ px, width }: { px: number; width: number }) {
  if (px <= 0) return null;
  return (
    <tr class="space">
      <td colSpan={width} style={{ height: `${px}px` }} />
    </tr>
  );
}

function Head({ columns, order, group }: { columns: readonly Column[]; order: Order | null; group: Group }) {
  return (
    <thead>
      <tr aria-rowindex={1}>
        <th scope="col" class="check" title="draw the row above the table">
          <span class="visually-hidden">plot</span>
        </th>
        <th scope="col" colSpan={2} class="share">
          Share
        </th>
        {columns.map(column => (
          <th
            key={column.key}
            scope="col"
            class={`${column.key}${column.number ? ' number' : ''}`}
            title={column.hint}
            aria-sort={order?.column !== column ? 'none' : order.falling ? 'descending' : 'ascending'}
          >
            <button type="button" data-sort={column.key} onClick={() => go({ sort: nextSort(column, order) })}>
              {column.title || group}
            </button>
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface RowProps {
  line: Line;
  index: number;
  columns: readonly Column[];
  group: Group;
  total: number;
  isOpen: boolean;
  onOpen: () => void;
  width: number;
}

function Row({ line, index, columns, group, total, isOpen, onOpen, width }: RowProps) {
  const { row } = line;
  const part = state.value.unit === 'bytes' ? row.bytes : row.blocks;
  return (
    <>
      <tr aria-rowindex={index + 2} class={isOpen ? 'open' : ''} data-index={index}>
        <td class="check">
          <Check line={line} />
        </td>
        <td class="number">{percentText(part, total)}</td>
        <td class="bar-cell">
          <Bar part={part} whole={total} />
        </td>
        {columns.map(column =>
          column.key === 'name' ? (
            <th key="name" scope="row" class="name">
              <span class="name-cell">
                <button type="button" class="open-row" aria-expanded={isOpen} onClick={onOpen}>
                  <RowLabel row={row} group={group} />
                </button>
                {row.file && (
                  <a
                    class="to-source"
                    href={linkTo({ view: 'source', file: row.file })}
                    title={`the lines of ${row.file}`}
                  >
                    source
                  </a>
                )}
              </span>
            </th>
          ) : (
            <Cell key={column.key} column={column} line={line} />
          ),
        )}
      </tr>
      {isOpen && (
        <tr class="actions-row">
          <td colSpan={width}>
            <Actions row={row} group={group} />
          </td>
        </tr>
      )}
    </>
  );
}

function Check({ line }: { line: Line }) {
  const { plotted } = state.value;
  if (!line.series) return null;
  const color = plotColor(line.key);
  const toggle = () => go({ plotted: color ? plotted.filter(one => one !== line.key) : [...plotted, line.key] });
  return (
    <label class="swatch">
      <input type="checkbox" checked={color !== ''} onChange={toggle} aria-label={`plot ${line.row.name}`} />
      {color && <span style={{ background: `var(${color})` }} />}
    </label>
  );
}

function Cell({ column, line }: { column: Column; line: Line }) {
  if (column.key === 'highest')
    return <td class="highest">{line.series && <Sparkline values={line.series.live_bytes} />}</td>;
  const value = column.value(line);
  return (
    <td class="number" data-value={value ?? ''} data-column={column.key} title={titleOf(column, line)}>
      {textOf(column, line)}
    </td>
  );
}

function titleOf(column: Column, { row, temporary }: Line): string | undefined {
  if (column.key === 'bytes') return exactBytesText(row.bytes);
  if (column.key === 'temporary' && temporary)
    return `${countText(temporary.part)} of ${countText(temporary.whole)} allocations`;
  return undefined;
}

function textOf(column: Column, { row, facts, temporary }: Line): string {
  switch (column.key) {
    case 'bytes':
      return bytesText(row.bytes);
    case 'blocks':
      return countText(row.blocks);
    case 'average':
      return averageOf(row) === null ? '' : bytesText(averageOf(row)!);
    case 'freed':
      return facts?.freed_blocks === undefined ? '' : countText(facts.freed_blocks);
    case 'life':
      return facts?.median_lifetime_ns == null ? '' : durationText(facts.median_lifetime_ns);
    case 'temporary':
      return temporary ? percentText(temporary.part, temporary.whole) : '';
    default:
      return '';
  }
}
