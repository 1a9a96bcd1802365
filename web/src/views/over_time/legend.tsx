// SPDX-License-Identifier: Apache-2.0
// legend.tsx - the rows of the chart with their values at one moment: under the pointer, or the selected one.

import type { SeriesAnswer } from '../../data/series';
import { addTerm, rowTerm } from '../../state/filter';
import { go, linkTo, state } from '../../state/store';
import { bytesText, durationText, exactBytesText, percentText } from '../../text/text';
import { RowLabel } from '../../widgets/row_label';
import type { Band } from './bands';

interface Props {
  answer: SeriesAnswer;
  bands: readonly Band[];
  moment: number;
  pointed: string;
}

export function Legend({ answer, bands, moment, pointed }: Props) {
  const total = answer.total_live_bytes[moment] ?? null;
  const { hidden } = state.value;
  return (
    <div class="scroll">
      <table class="rows legend-rows" id="legend">
        <thead>
          <tr>
            <th scope="col">
              <button type="button" onClick={() => go({ hidden: [] })} disabled={!hidden.length}>
                Show all
              </button>
            </th>
            <th scope="col" class="number" data-moment={answer.moments_ns[moment]}>
              at {durationText(answer.moments_ns[moment]!)}
            </th>
            <th scope="col" class="number">
              Share
            </th>
            <th scope="col" class="number">
              Highest
            </th>
            <th scope="col">{answer.group}</th>
          </tr>
        </thead>
        <tbody>
          {bands.map(band => (
            <LegendRow
              key={band.key}
              band={band}
              moment={moment}
              total={total}
              pointed={band.key === pointed}
              group={answer.group}
            />
          ))}
        </tbody>
        <tfoot>
          <tr data-row="total">
            <td />
            <Bytes value={total} />
            <td />
            <td />
            <th scope="row">all</th>
          </tr>
        </tfoot>
      </table>
    </div>
  );
}

function Bytes({ value }: { value: number | null }) {
  return (
    <td class="number" data-value={value ?? ''} title={value === null ? undefined : exactBytesText(value)}>
      {value === null ? 'not known' : bytesText(value)}
    </td>
  );
}

interface RowProps {
  group: string;
  band: Band;
  moment: number;
  total: number | null;
  pointed: boolean;
}

function LegendRow({ group, band, moment, total, pointed }: RowProps) {
  const { filter, hidden } = state.value;
  const value = band.values[moment] ?? null;
  const term = band.row ? rowTerm(group, band.row) : '';
  const isHidden = hidden.includes(band.key);
  const toggle = () => go({ hidden: isHidden ? hidden.filter(one => one !== band.key) : [...hidden, band.key] });
  return (
    <tr class={`${pointed ? 'pointed' : ''}${isHidden ? ' hidden-row' : ''}`} data-row={band.row ? 'row' : 'others'}>
      <td>
        <label class="swatch">
          <input type="checkbox" checked={!isHidden} onChange={toggle} aria-label={`draw ${band.name}`} />
          <span style={{ background: `var(${band.color})` }} />
        </label>
      </td>
      <Bytes value={value} />
      <td class="number">{value === null || total === null ? '' : percentText(value, total)}</td>
      <td class="number" data-max={band.max ?? ''}>
        {band.max === null ? '' : bytesText(band.max)}
      </td>
      <th scope="row">
        {band.row && term ? (
          <a href={linkTo({ filter: addTerm(filter, term) })} title={`show only this: ${term}`}>
            <RowLabel row={band.row} />
          </a>
        ) : (
          <span class="name">{band.name}</span>
        )}
      </th>
    </tr>
  );
}
