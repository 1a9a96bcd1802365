// SPDX-License-Identifier: Apache-2.0
// over_time.tsx - live bytes of each row of a table over the visible time: stacked areas, lines, or a table of the same
// values. The selected time is drawn over it, and can be changed in it.

import { useMemo, useState } from 'preact/hooks';
import { momentNear, type SeriesAnswer } from '../../data/series';
import { type Point, TimePlot } from '../../shell/timebar/time_plot';
import { defaultMoment, selected, visible } from '../../shell/timebar/use_time';
import { FORMS, type Form, GROUPS, type Group } from '../../state/fields';
import { go, state } from '../../state/store';
import { bytesText, durationText, plural } from '../../text/text';
import { AnswerBox } from '../../widgets/answer_box';
import { Choice } from '../../widgets/choice';
import { Downloads } from '../../widgets/downloads';
import { GroupSelect } from '../../widgets/group_select';
import type { Curve } from '../../widgets/plot';
import { requestOf, useViewAnswer } from '../use_view';
import type { View } from '../view';
import { type Band, bandAt, bandsOf, edgesOf } from './bands';
import { Legend } from './legend';
import { Moments } from './moments';

const HEIGHT = 340;
const LIMITS = [5, 10, 20, 50];
const FORM_TITLES: Record<Form, string> = { stacked: 'Stacked', lines: 'Lines', table: 'Table' };
const FORM_OPTIONS = FORMS.map(value => ({ value, title: FORM_TITLES[value] }));
// Pools are not of the heap, whose bytes over time these are.
const TIMED_GROUPS = GROUPS.filter(group => group !== 'pool');

function timedGroup(group: Group): Group {
  return group === 'pool' ? 'site' : group;
}

function OverTime() {
  const answer = useViewAnswer<SeriesAnswer>(overTime);
  const { group, limit, form } = state.value;
  return (
    <section class="card" aria-labelledby="over-time-heading">
      <h2 id="over-time-heading">Live bytes over time, by {timedGroup(group)}</h2>
      <div class="tools">
        <GroupSelect
          groups={TIMED_GROUPS}
          value={timedGroup(group)}
          onChange={next => go({ group: next, hidden: [], plotted: [], sort: '' })}
        />
        <label>
          rows{' '}
          <select id="limit" value={limit} onChange={event => go({ limit: Number(event.currentTarget.value) })}>
            {[...new Set([...LIMITS, limit])].map(one => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
        <Choice id="form" label="Form" options={FORM_OPTIONS} value={form} onChange={next => go({ form: next })} />
        <Downloads json={requestOf(overTime)} />
      </div>
      <AnswerBox answer={answer}>{value => <Shown answer={value} />}</AnswerBox>
    </section>
  );
}

interface Cursor {
  moment: number;
  band: string; // its key; '': none
}

function Shown({ answer }: { answer: SeriesAnswer }) {
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

export const overTime: View = {
  key: 'over-time',
  title: 'Over time',
  hint: 'live bytes over time, by site, function, thread, size and more',
  follows: { time: false, quantity: false, unit: false, filter: true },
  request: ({ group, limit, window }, chosen) => {
    const { from, to } = visible.value;
    const range = window ? { range: `${from}ns..${to}ns` } : {};
    return { view: `timeline/${timedGroup(group)}`, params: { ...chosen, ...range, limit } };
  },
  component: OverTime,
};
