// SPDX-License-Identifier: Apache-2.0
// ranges.tsx - the address space at a moment: the mappings of the process, how full of blocks each is, and the gaps.

import { addTerm } from '../../state/filter';
import { linkTo, state } from '../../state/store';
import { bytesText, countText, durationText, plural } from '../../text/text';
import type { AddressRange, AddressSpace } from './memory_types';
import { Size } from './size';

export function Ranges({ value }: { value: AddressSpace }) {
  const used = value.ranges.filter(range => range.fill);
  const other = value.ranges.filter(range => !range.fill);
  return (
    <>
      <p class="total" data-bytes={value.live_bytes} data-blocks={value.live_blocks}>
        {bytesText(value.live_bytes)} live in {plural(value.live_blocks, 'block')} at {durationText(value.time_ns)}.{' '}
        {value.sample_ns === null
          ? 'Mappings are not known (record --mmap): a row is a group of blocks less than 1 MiB apart.'
          : `Mappings as sampled at ${durationText(value.sample_ns)}.`}
      </p>
      {!used.length && <p class="empty">No block is live at this moment. Select another time.</p>}
      <RangeTable ranges={used} id="ranges" />
      {other.length > 0 && (
        <details>
          <summary>{plural(other.length, 'mapping')} without blocks</summary>
          <RangeTable ranges={other} id="other-ranges" />
        </details>
      )}
    </>
  );
}

function RangeTable({ ranges, id }: { ranges: AddressRange[]; id: string }) {
  if (!ranges.length) return null;
  return (
    <div class="scroll">
      <table class="rows" id={id}>
        <thead>
          <tr>
            <th scope="col">Address</th>
            {['Size', 'Resident', 'Live', 'Blocks', 'Free', 'Largest gap'].map(title => (
              <th scope="col" class="number" key={title}>
                {title}
              </th>
            ))}
            <th scope="col">Occupied, from start to end</th>
            <th scope="col">Mapping</th>
          </tr>
        </thead>
        <tbody>
          {ranges.map((range, i) => (
            <RangeRow key={range.start} range={range} begins={i > 0 && range.cluster !== ranges[i - 1]!.cluster} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function RangeRow({ range, begins }: { range: AddressRange; begins: boolean }) {
  const filter = addTerm(state.value.filter, `addr:${range.start}..${range.end}`);
  return (
    <tr class={begins ? 'cluster' : ''}>
      <td class="address">
        <a href={linkTo({ view: 'table', filter })} title="the blocks in it">
          {range.start}
        </a>
      </td>
      <Size bytes={range.size} />
      <Size bytes={range.resident} />
      <Size bytes={range.fill && range.live_bytes} />
      <td class="number">{range.fill ? countText(range.live_blocks) : ''}</td>
      <Size bytes={range.free_bytes} />
      <Size bytes={range.largest_gap_bytes} />
      <td class="fill">{range.fill && <Fill fill={range.fill} size={range.size} />}</td>
      <th scope="row" class="name">
        {range.permissions} {range.name === null ? 'blocks' : range.name || 'anonymous'}
      </th>
    </tr>
  );
}

// Each step as a bar as high as it is full; the numbers are in the row.
function Fill({ fill, size }: { fill: { step: number; bytes: number[] }; size: number }) {
  const n = fill.bytes.length;
  return (
    <svg class="fill-plot" viewBox={`0 0 ${n} 1`} preserveAspectRatio="none" aria-hidden="true">
      {fill.bytes.map((bytes, i) => {
        const height = bytes / Math.max(1, Math.min(fill.step, size - i * fill.step));
        return <rect key={i} x={i} y={1 - height} width={1} height={height} />;
      })}
    </svg>
  );
}
