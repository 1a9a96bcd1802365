// SPDX-License-Identifier: Apache-2.0
// mmaps.tsx - the mappings that the program made itself, in the order of the answer.

import { bytesText, countText, durationText, plural } from '../../text/text';
import { FrameName } from '../../widgets/frame_name';
import type { Mmap, Mmaps } from './memory_types';
import { Size } from './size';

const ROWS_SHOWN = 500;
const TITLES = ['Size', 'Left at the end', 'Mapped', 'Unmapped', 'Thread'];

export function MmapsPart({ value }: { value: Mmaps }) {
  const rows = value.mmaps.slice(0, ROWS_SHOWN);
  return (
    <>
      <p class="total" data-bytes={value.bytes} data-blocks={value.mappings}>
        {bytesText(value.bytes)} in {plural(value.mappings, 'mapping')}; {bytesText(value.left_bytes)} in{' '}
        {countText(value.left_mappings)} left at the end. At most {bytesText(value.peak_bytes)} were mapped, at{' '}
        {durationText(value.peak_ns)}.
      </p>
      {!rows.length && <p class="empty">The program mapped nothing that matches.</p>}
      {rows.length > 0 && (
        <div class="scroll">
          <table class="rows" id="mmaps">
            <thead>
              <tr>
                <th scope="col">Address</th>
                {TITLES.map(title => (
                  <th scope="col" class="number" key={title}>
                    {title}
                  </th>
                ))}
                <th scope="col">Arguments</th>
                <th scope="col">Mapped by</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(row => (
                <Row key={row.id} row={row} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {value.mmaps.length > rows.length && <p class="note">The first {countText(rows.length)} mappings are shown.</p>}
    </>
  );
}

function Row({ row }: { row: Mmap }) {
  const frame = row.stack[0];
  return (
    <tr>
      <td class="address">{row.address}</td>
      <Size bytes={row.size} />
      <Size bytes={row.left_bytes} />
      <td class="number">{durationText(row.mapped_ns)}</td>
      <td class="number">{row.unmapped_ns === null ? '' : durationText(row.unmapped_ns)}</td>
      <td class="number">{row.thread}</td>
      <td>{[row.protection, row.flags].filter(one => one !== null).join(' ')}</td>
      <th scope="row" class="name">
        {frame ? <FrameName frame={frame} /> : 'not known'}
      </th>
    </tr>
  );
}
