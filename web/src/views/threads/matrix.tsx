// SPDX-License-Identifier: Apache-2.0
// matrix.tsx - which thread freed the blocks of which. The colour of a cell is its share of what the thread of the row
// allocated; one hue from light to dark, and the number is in the cell.

import { addTerm } from '../../state/filter';
import { linkTo, state } from '../../state/store';
import { percentText, plural, type Unit, unitText } from '../../text/text';
import { type Pair, type ThreadRow, type ThreadsAnswer, threadText } from './threads_types';

const THREADS_SHOWN = 24;
const PAIRS_SHOWN = 300;
// The darkest cell: text on it must be readable.
const COLOR_MAX = 45;

interface Props {
  value: ThreadsAnswer;
  unit: Unit;
}

export function Matrix({ value, unit }: Props) {
  const pairs = value.freed_by_another;
  if (!pairs.length) return <p class="empty">Every freed block was freed by the thread that allocated it.</p>;
  const involved = involvedThreads(value);
  const shown = involved.slice(0, THREADS_SHOWN).sort((a, b) => a.thread - b.thread);
  return (
    <>
      <p class="total">
        A row is the thread that allocated, a column the thread that freed. The colour is the share of what the thread
        of the row allocated.
      </p>
      <div class="scroll">
        <table class="matrix" id="matrix">
          <thead>
            <tr>
              <th scope="col">allocated by ↓ freed by →</th>
              {shown.map(row => (
                <th scope="col" class="number" key={row.thread}>
                  {threadText(row)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map(row => (
              <tr key={row.thread}>
                <th scope="row">{threadText(row)}</th>
                {shown.map(column => (
                  <Cell key={column.thread} row={row} column={column} pairs={pairs} unit={unit} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {involved.length > shown.length && <PairList pairs={pairs} unit={unit} />}
    </>
  );
}

// Those of the largest pairs first: the answer has them in this order.
function involvedThreads({ threads, freed_by_another }: ThreadsAnswer): ThreadRow[] {
  const numbers = new Set(freed_by_another.flatMap(pair => [pair.allocated_by, pair.freed_by]));
  const known = new Map(threads.map(row => [row.thread, row]));
  return [...numbers].flatMap(number => known.get(number) ?? []);
}

interface CellProps {
  row: ThreadRow;
  column: ThreadRow;
  pairs: readonly Pair[];
  unit: Unit;
}

function Cell({ row, column, pairs, unit }: CellProps) {
  const own = row.thread === column.thread;
  const pair = pairs.find(one => one.allocated_by === row.thread && one.freed_by === column.thread);
  const number = own ? row[`freed_own_${unit}`] : (pair?.[unit] ?? 0);
  const all = row[`allocated_${unit}`];
  if (!own && !pair) return <td class="number" data-value={0} />;
  return (
    <td
      class={own ? 'number own' : 'number'}
      data-value={number}
      title={`${percentText(number, all)} of what ${threadText(row)} allocated`}
      style={{ background: `color-mix(in srgb, var(--live) ${all ? (number * COLOR_MAX) / all : 0}%, var(--card))` }}
    >
      <a href={pairLink(row.thread, column.thread)}>{unitText(number, unit)}</a>
    </td>
  );
}

function pairLink(from: number, to: number): string {
  return linkTo({ filter: addTerm(addTerm(state.value.filter, `thread:${from}`), `freed-thread:${to}`) });
}

function PairList({ pairs, unit }: { pairs: readonly Pair[]; unit: Unit }) {
  return (
    <details>
      <summary>
        The threads of the largest pairs are shown; {plural(pairs.length, 'pair')}, the first {PAIRS_SHOWN} as a list
      </summary>
      <table class="rows" id="pairs">
        <thead>
          <tr>
            <th scope="col">allocated by</th>
            <th scope="col">freed by</th>
            <th scope="col" class="number">
              {unit}
            </th>
          </tr>
        </thead>
        <tbody>
          {pairs.slice(0, PAIRS_SHOWN).map(pair => (
            <tr key={`${pair.allocated_by} ${pair.freed_by}`}>
              <td>{pair.allocated_by}</td>
              <td>
                <a href={pairLink(pair.allocated_by, pair.freed_by)}>{pair.freed_by}</a>
              </td>
              <td class="number" data-value={pair[unit]}>
                {unitText(pair[unit], unit)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
