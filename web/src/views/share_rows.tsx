// SPDX-License-Identifier: Apache-2.0
// share_rows.tsx - the rows of a group as a table with bars; each narrows the selection to its own blocks.

import { addTerm, rowTerm } from '../state/filter';
import { linkTo, state } from '../state/store';
import { bytesText, countText, exactBytesText, percentText, plural } from '../text/text';
import { Bar } from '../widgets/bar';
import type { ClassAnswer, ClassRow } from './histograms/class_types';

const ROWS_SHOWN = 300;

// The address with only the blocks of a row. '': the filter language has no term for it.
// With a filter the default moment is another one, the peak of the matching blocks: the time is then named, so that the
// numbers of the row stay.
export function rowLink(group: string, row: ClassRow): string {
  const { filter, quantity, time } = state.value;
  const term = rowTerm(group, row);
  const moment = quantity === 'live' && time === '' && filter === '' ? { time: '@peak' } : {};
  return term && linkTo({ filter: addTerm(filter, term), ...moment });
}

export function ShareTotal({ value }: { value: ClassAnswer }) {
  return (
    <p class="total" data-bytes={value.total_bytes} data-blocks={value.total_blocks}>
      {bytesText(value.total_bytes)} in {plural(value.total_blocks, 'block')}
    </p>
  );
}

export function ShareRows({ value, id }: { value: ClassAnswer; id: string }) {
  const { unit } = state.value;
  const total = unit === 'bytes' ? value.total_bytes : value.total_blocks;
  const rows = value.rows.slice(0, ROWS_SHOWN);
  return (
    <>
      <div class="scroll">
        <table class="rows" id={id}>
          <thead>
            <tr>
              <th scope="col" colSpan={2}>
                Share of {unit}
              </th>
              <th scope="col" class="number">
                Bytes
              </th>
              <th scope="col" class="number">
                Blocks
              </th>
              <th scope="col">{value.group}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row, i) => (
              <ShareRow key={i} group={value.group} row={row} total={total} part={row[unit]} />
            ))}
          </tbody>
        </table>
      </div>
      {value.rows.length > rows.length && <p class="note">The first {countText(rows.length)} rows are shown.</p>}
    </>
  );
}

function ShareRow({ group, row, part, total }: { group: string; row: ClassRow; part: number; total: number }) {
  const href = rowLink(group, row);
  return (
    <tr>
      <td class="number">{percentText(part, total)}</td>
      <td class="bar-cell">
        <Bar part={part} whole={total} />
      </td>
      <td class="number" data-bytes={row.bytes} title={exactBytesText(row.bytes)}>
        {bytesText(row.bytes)}
      </td>
      <td class="number" data-blocks={row.blocks}>
        {countText(row.blocks)}
      </td>
      <th scope="row" class="name">
        {href ? <a href={href}>{row.name}</a> : row.name}
      </th>
    </tr>
  );
}
