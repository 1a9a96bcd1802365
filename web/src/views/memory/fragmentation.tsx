// SPDX-License-Identifier: Apache-2.0
// fragmentation.tsx - how full the pages of the heap are, and the sites that hold nearly empty ones.

import { addTerm, functionTerm } from '../../state/filter';
import { linkTo, state } from '../../state/store';
import { bytesText, countText, durationText, exactBytesText, plural } from '../../text/text';
import { FrameName } from '../../widgets/frame_name';
import type { Fragmentation } from './memory_types';
import { Size } from './size';

const ROWS_SHOWN = 300;

export function FragmentationPart({ value }: { value: Fragmentation }) {
  const rows = value.holders.slice(0, ROWS_SHOWN);
  return (
    <>
      <p class="total" data-bytes={value.live_bytes} data-blocks={value.live_blocks}>
        {bytesText(value.live_bytes)} live in {plural(value.live_blocks, 'block')} at {durationText(value.time_ns)}.
      </p>
      <dl class="amounts" id="pages">
        <Count title="Pages with blocks" count={value.pages} />
        <Count title={`Pages with less than ${bytesText(value.sparse_below_bytes)}`} count={value.sparse_pages} />
        <Bytes title="Live on these" bytes={value.sparse_bytes} />
        <Bytes title="Largest gap" bytes={value.largest_gap_bytes} />
        <Bytes title="Mapped, at least" bytes={value.mapped_bytes_at_least} />
        {value.resident_bytes !== null && <Bytes title="Resident, whole process" bytes={value.resident_bytes} />}
      </dl>
      <h3>Sites that hold nearly empty pages</h3>
      {!rows.length && <p class="empty">No page is nearly empty at this moment.</p>}
      {rows.length > 0 && (
        <div class="scroll">
          <table class="rows" id="holders">
            <thead>
              <tr>
                {['Pages', 'Bytes', 'Blocks'].map(title => (
                  <th scope="col" class="number" key={title}>
                    {title}
                  </th>
                ))}
                <th scope="col">Site</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row, i) => (
                <tr key={i}>
                  <td class="number" data-pages={row.pages}>
                    {countText(row.pages)}
                  </td>
                  <Size bytes={row.bytes} />
                  <td class="number">{countText(row.blocks)}</td>
                  <th scope="row">
                    <a href={linkTo({ filter: addTerm(state.value.filter, functionTerm(row)) })}>
                      <FrameName frame={row} />
                    </a>
                  </th>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {value.holders.length > rows.length && <p class="note">The first {countText(rows.length)} sites are shown.</p>}
    </>
  );
}

function Count({ title, count }: { title: string; count: number }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd data-value={count}>{countText(count)}</dd>
    </div>
  );
}

function Bytes({ title, bytes }: { title: string; bytes: number }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd data-value={bytes} title={exactBytesText(bytes)}>
        {bytesText(bytes)}
      </dd>
    </div>
  );
}
