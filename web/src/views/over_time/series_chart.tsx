// SPDX-License-Identifier: Apache-2.0
// series_chart.tsx - live bytes of some rows over the visible time: stacked areas or lines with a legend, or a table of
// the same values. The selected time is drawn over it, and can be changed in it.

import { useMemo, useState } from 'preact/hooks';
import { momentNear, type SeriesAnswer } from '../../data/series';
import { type Point, TimePlot } from '../../shell/timebar/time_plot';
import { defaultMoment, selected, visible } from '../../shell/timebar/use_time';
import { state } from '../../state/store';
import { bytesText, durationText, plural } from '../../text/text';
import type { Curve } from '../../widgets/plot';
import { type Band, bandAt, bandsOf, edgesOf } from './bands';
import { Legend } from './legend';
import { Moments } from './moments';

const HEIGHT = 340;

interface Cursor {
  moment: number;
  band: string; // its key; '': none
}

// The form is that of the address, the group that of the answer.
export function SeriesChart({ answer }: { answer: SeriesAnswer }) {
  const { form } = state.value;
  const [cursor, setCursor] = useState<Cursor | null>(null);
  const bands = useMemo(() => bandsOf(answer), [answer]);
  const moments = answer.moments_ns;
  const moment = Math.min(cursor?.moment ?? momentNear(moments, restTime()), moments.length - 1);
  if (!bands.length || moment < 0)
    return <p class="empty">No block is live in this time. Zoom out, or remove the filter.</p>;
  return (
    <>
      <Remarks answer={answer} />
      {form === 'table' ? (
        <Moments answer={answer} bands={bands} />
      ) : (
        <>
          <Chart answer={answer} bands={bands} onCursor={setCursor} />
          <Legend answer={answer} bands={bands} moment={moment} pointed={cursor?.band ?? ''} />
        </>
      )}
    </>
  );
}

// The moment whose values are shown while the pointer is elsewhere.
function restTime(): number {
  return selected.value?.to ?? defaultMoment.value ?? visible.value.to;
}

function Remarks({ answer }: { answer: SeriesAnswer }) {
  return (
    <>
      {answer.estimated && <p class="note">Some values are estimated from samples.</p>}
      {answer.before_damage && <p class="note">A part of the trace is lost; the last moments are not known.</p>}
    </>
  );
}

interface ChartProps {
  answer: SeriesAnswer;
  bands: readonly Band[];
  onCursor: (cursor: Cursor | null) => void;
}

function Chart({ answer, bands, onCursor }: ChartProps) {
  const { hidden, form } = state.value;
  const stacked = form === 'stacked';
  const drawn = useMemo(() => bands.filter(band => !hidden.includes(band.key)), [bands, hidden]);
  const heights = useMemo(() => (stacked ? edgesOf(drawn) : drawn.map(band => band.values)), [drawn, stacked]);
  const curves = useMemo(() => curvesOf(answer.moments_ns, drawn, heights, stacked), [answer, drawn, heights, stacked]);
  const find = ({ ns, y }: Point) => {
    const moment = momentNear(answer.moments_ns, ns);
    return { moment, band: drawn[bandAt(heights, moment, (1 - y) * topOf(heights), stacked)] };
  };
  return (
    <TimePlot
      testid="chart"
      curves={curves}
      height={HEIGHT}
      label={`live bytes over time of ${plural(drawn.length, 'row')}; the form Table has the values`}
      cursorText={point => {
        const { moment, band } = find(point);
        const value = band?.values[moment];
        return `${durationText(answer.moments_ns[moment]!)}${band && value != null ? `, ${bytesText(value)} ${shorten(band.name)}` : ''}`;
      }}
      onPoint={point => {
        const found = point && find(point);
        onCursor(found && { moment: found.moment, band: found.band?.key ?? '' });
      }}
    />
  );
}

// The value at the upper edge of the picture, as plot.tsx has it.
function topOf(heights: readonly (readonly (number | null)[])[]): number {
  let most = 0;
  for (const values of heights) for (const value of values) most = Math.max(most, value ?? 0);
  return most * 1.06 || 1;
}

// Of a stack the highest edge is drawn first: each area covers the lower part of the one behind it.
function curvesOf(times: number[], bands: Band[], heights: (number | null)[][], stacked: boolean): Curve[] {
  const few = times.length <= 30;
  const curves = bands.map((band, i) => ({
    color: band.color,
    times,
    values: heights[i]!,
    stepped: false,
    points: few,
    ...(stacked ? { fill: band.color } : {}),
  }));
  return stacked ? curves.reverse() : curves;
}

function shorten(name: string): string {
  return name.length > 60 ? `${name.slice(0, 59)}…` : name;
}
