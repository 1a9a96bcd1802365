// SPDX-License-Identifier: Apache-2.0
// bars.tsx - a histogram. The table below it has the same numbers and links, so that its bars are not read aloud and
// have no place among the keys.

import { type Unit, unitText } from '../../text/text';
import { rowLink } from '../share_rows';
import type { ClassAnswer, ClassRow } from './class_types';
import { slotsOf } from './slots';

export function Bars({ value, unit }: { value: ClassAnswer; unit: Unit }) {
  const most = value.rows.reduce((max, row) => Math.max(max, row[unit]), 0);
  return (
    <figure class="histogram" data-bars={unit}>
      <figcaption>
        {unit === 'bytes' ? 'Bytes' : 'Blocks'}
        <span>highest {unitText(most, unit)}</span>
      </figcaption>
      <div class="bars" aria-hidden="true">
        {slotsOf(value.group, value.rows).map((row, i) =>
          row ? <OneBar key={i} group={value.group} row={row} unit={unit} most={most} /> : <span key={i} class="gap" />,
        )}
      </div>
    </figure>
  );
}

function OneBar({ group, row, unit, most }: { group: string; row: ClassRow; unit: Unit; most: number }) {
  return (
    <a
      href={rowLink(group, row)}
      tabIndex={-1}
      data-value={row[unit]}
      title={`${row.name}: ${unitText(row.bytes, 'bytes')} in ${unitText(row.blocks, 'blocks')} blocks`}
    >
      <span class="column">
        <span style={{ height: `${most ? (row[unit] * 100) / most : 0}%` }} />
      </span>
      <span class="class-name">{shortName(row)}</span>
    </a>
  );
}

// The lower bound is enough below a bar: "4.0 KiB - < 8.0 KiB" is "4 KiB".
function shortName({ name }: ClassRow): string {
  return name.split(' - ')[0]!.replace(/\.0 /, ' ');
}
