// SPDX-License-Identifier: Apache-2.0
// site_row.tsx - a site in a card: its value, a bar, its course over time, its name as a link.

import type { Frame } from '../../data/types';
import { exactBytesText, plural, type Unit, unitText } from '../../text/text';
import { Bar } from '../../widgets/bar';
import { FrameName } from '../../widgets/frame_name';
import { Sparkline } from '../../widgets/sparkline';

interface Props {
  row: Frame & { bytes: number; blocks: number; caller?: (Frame & { percent: number }) | null };
  unit: Unit;
  total: number;
  trend: (number | null)[] | undefined;
  href: string;
}

export function SiteRow({ row, unit, total, trend, href }: Props) {
  const value = unit === 'bytes' ? row.bytes : row.blocks;
  return (
    <tr>
      <td class="number" data-value={value} title={`${exactBytesText(row.bytes)} in ${plural(row.blocks, 'block')}`}>
        {unitText(value, unit)}
      </td>
      <td class="bar-cell">
        <Bar part={value} whole={total} />
      </td>
      <td class="trend">{trend && <Sparkline values={trend} />}</td>
      <th scope="row">
        <a href={href}>
          <FrameName frame={row} />
        </a>
        {row.caller && (
          <small class="caller">
            {row.caller.percent < 99.5 && `${row.caller.percent} % `}from <FrameName frame={row.caller} />
          </small>
        )}
      </th>
    </tr>
  );
}
