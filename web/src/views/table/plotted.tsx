// SPDX-License-Identifier: Apache-2.0
// plotted.tsx - the checked rows of the table over time.

import { useMemo } from 'preact/hooks';
import { momentNear, type SeriesAnswer } from '../../data/series';
import { TimePlot } from '../../shell/timebar/time_plot';
import { state } from '../../state/store';
import { durationText, plural } from '../../text/text';
import type { Line } from './columns';

const HEIGHT = 170;
const COLORS = 10;

export function plotColor(key: string): string {
  const place = state.value.plotted.indexOf(key);
  return place < 0 ? '' : `--row-${place % COLORS}`;
}

export function Plotted({ series, lines }: { series: SeriesAnswer; lines: readonly Line[] }) {
  const { plotted } = state.value;
  const shown = useMemo(() => lines.filter(line => line.series && plotted.includes(line.key)), [lines, plotted]);
  const curves = useMemo(
    () =>
      shown.map(line => ({
        color: plotColor(line.key),
        times: series.moments_ns,
        values: line.series!.live_bytes,
        stepped: false,
        points: series.moments_ns.length <= 30,
      })),
    [series, shown, plotted],
  );
  if (!shown.length) return null;
  return (
    <TimePlot
      testid="plotted"
      curves={curves}
      height={HEIGHT}
      label={`live bytes over time of ${plural(shown.length, 'row')}; the view Over time has the values`}
      cursorText={({ ns }) => durationText(series.moments_ns[momentNear(series.moments_ns, ns)] ?? Math.round(ns))}
    />
  );
}
