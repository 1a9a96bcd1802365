// SPDX-License-Identifier: Apache-2.0
// moments.tsx - the values of the chart as a table: a line for each moment.

import type { SeriesAnswer } from '../../data/series';
import { bytesText, durationText, exactBytesText } from '../../text/text';
import type { Band } from './bands';

export function Moments({ answer, bands }: { answer: SeriesAnswer; bands: readonly Band[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
    <section class="scroll tall" tabIndex={0} aria-label="values at each moment">
      <table class="rows moments" id="moments">
        <thead>
          <tr>
            <th scope="col" class="number">
              Time
            </th>
            <th scope="col" class="number">
              All
            </th>
            {bands.map(band => (
              <th scope="col" class="number" key={band.key} title={band.name}>
                <span class="short">{band.name}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {answer.moments_ns.map((ns, k) => (
            <tr key={k}>
              <th scope="row" class="number" data-ns={ns}>
                {durationText(ns)}
              </th>
              <Value value={answer.total_live_bytes[k] ?? null} />
              {bands.map(band => (
                <Value key={band.key} value={band.values[k] ?? null} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Value({ value }: { value: number | null }) {
  if (value === null) return <td class="number">not known</td>;
  return (
    <td class="number" data-value={value} title={exactBytesText(value)}>
      {bytesText(value)}
    </td>
  );
}
