// SPDX-License-Identifier: Apache-2.0
// table.tsx - a flat table of any group: each block is in one row.

import { GROUPS, type Group } from '../../state/fields';
import { go, linkTo, question, state } from '../../state/store';
import { countText, exactBytesText, percentText, plural, unitText } from '../../text/text';
import { AnswerBox } from '../../widgets/answer_box';
import { Bar } from '../../widgets/bar';
import { useViewAnswer } from '../use_view';
import { FOLLOWS_ALL, type View } from '../view';
import type { TableAnswer, TableRow } from './table_types';

const ROWS_SHOWN = 300;

function Table() {
  const answer = useViewAnswer<TableAnswer>(table);
  const { group } = state.value;
  return (
    <section class="card" aria-labelledby="table-heading">
      <h2 id="table-heading">{question.value.heading}</h2>
      <div class="tools">
        <label>
          group by{' '}
          <select value={group} onChange={event => go({ group: event.currentTarget.value as Group })} id="group">
            {GROUPS.map(one => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
      </div>
      <AnswerBox answer={answer}>{value => <Rows value={value} />}</AnswerBox>
    </section>
  );
}

function Rows({ value }: { value: TableAnswer }) {
  const { unit } = state.value;
  const total = unit === 'bytes' ? value.total_bytes : value.total_blocks;
  const rows = value.rows.slice(0, ROWS_SHOWN);
  return (
    <>
      <p class="total" data-bytes={value.total_bytes} data-blocks={value.total_blocks}>
        {unitText(value.total_bytes, 'bytes')} in {plural(value.total_blocks, 'block')},{' '}
        {plural(value.rows.length, 'row')}
      </p>
      {!rows.length && (
        <p class="empty">No block is selected. Select another time or quantity, or remove the filter.</p>
      )}
      {rows.length > 0 && (
        <div class="scroll">
          <table class="rows" id="rows">
            <thead>
              <tr>
                <th scope="col" colSpan={2}>
                  Share
                </th>
                <th scope="col" class="number" aria-sort={unit === 'bytes' ? 'descending' : 'none'}>
                  <button type="button" onClick={() => go({ unit: 'bytes' })}>
                    Bytes
                  </button>
                </th>
                <th scope="col" class="number" aria-sort={unit === 'blocks' ? 'descending' : 'none'}>
                  <button type="button" onClick={() => go({ unit: 'blocks' })}>
                    Blocks
                  </button>
                </th>
                <th scope="col">{value.group}</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row, i) => (
                <Row key={i} row={row} part={unit === 'bytes' ? row.bytes : row.blocks} total={total} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {value.rows.length > rows.length && <p class="note">The first {countText(rows.length)} rows are shown.</p>}
    </>
  );
}

function Row({ row, part, total }: { row: TableRow; part: number; total: number }) {
  return (
    <tr>
      <td class="number">{percentText(part, total)}</td>
      <td class="bar-cell">
        <Bar part={part} whole={total} />
      </td>
      <td class="number" data-value={row.bytes} title={exactBytesText(row.bytes)}>
        {unitText(row.bytes, 'bytes')}
      </td>
      <td class="number" data-value={row.blocks}>
        {countText(row.blocks)}
      </td>
      <th scope="row" class="name">
        {row.name}
        {row.file && (
          <a class="to-source" href={linkTo({ view: 'source', file: row.file })} title={`the lines of ${row.file}`}>
            source
          </a>
        )}
      </th>
    </tr>
  );
}

export const table: View = {
  key: 'table',
  title: 'Table',
  hint: 'each block in one row: by site, function, thread, size and more',
  follows: FOLLOWS_ALL,
  request: ({ group, unit }, selected) => ({ view: `table/${group}`, params: { ...selected, sort: unit } }),
  component: Table,
};
