// SPDX-License-Identifier: Apache-2.0
// timebar.tsx - live heap and resident memory over the run, and the selected time, which applies to every view.

import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useAnswer } from '../../data/answers';
import type { Curve as CurveAnswer } from '../../data/types';
import { QUANTITY_NAMES } from '../../state/quantity';
import { curve, following, go, revision, run, running, state } from '../../state/store';
import { bytesText, durationText } from '../../text/text';
import type { Curve } from '../../widgets/plot';
import { useWidth } from '../../widgets/use_width';
import { type Point, TimePlot } from './time_plot';
import { selected, show, visible } from './use_time';

const HEIGHT = 132;

// heading: the question of the view.
export function Timebar({ heading }: { heading: string }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const shown = useCurve(width);
  const curves = useMemo(() => (shown ? curvesOf(shown) : []), [shown]);
  return (
    <section class="timebar" aria-label="Time selection">
      <Tools heading={heading} />
      <div ref={box}>
        <TimePlot testid="timebar" curves={curves} height={HEIGHT} label={labelOf(shown)} cursorText={cursorText} />
      </div>
    </section>
  );
}

// The curve of the whole run is kept for all; a part of the run has one of its own.
function useCurve(width: number): CurveAnswer | null {
  const columns = Math.min(2000, Math.max(200, Math.ceil(width / 200) * 100));
  const options = { revision: revision.value };
  const whole = useAnswer<CurveAnswer>(width ? { view: 'curve', params: { width: columns } } : null, options);
  const { window } = state.value;
  const { from, to } = visible.value;
  const params = { width: columns, range: `${from}ns..${to}ns` };
  const part = useAnswer<CurveAnswer>(width && window ? { view: 'curve', params } : null, options);
  useEffect(() => {
    curve.value = whole.value;
  }, [whole.value]);
  return (window && part.value) || whole.value;
}

function curvesOf(answer: CurveAnswer): Curve[] {
  const last = answer.columns.at(-1);
  const live: Curve = {
    color: '--live',
    fill: '--live-area',
    stepped: true,
    times: answer.columns.map(column => column.from_ns),
    values: answer.columns.map(column => (column.lost ? null : column.max_live_bytes)),
  };
  if (last) {
    live.times.push(last.to_ns);
    live.values.push(last.end_live_bytes);
  }
  const resident: Curve = {
    color: '--rss',
    stepped: false,
    times: answer.resident.map(sample => sample.time_ns),
    values: answer.resident.map(sample => sample.bytes),
  };
  return resident.times.length ? [live, resident] : [live];
}

function labelOf(answer: CurveAnswer | null): string {
  if (!answer) return 'live heap over time';
  const most = answer.columns.reduce((max, column) => Math.max(max, column.max_live_bytes), 0);
  return `live heap over time: at most ${bytesText(most)} in ${durationText(answer.duration_ns)}`;
}

function cursorText({ ns }: Point): string {
  const at = Math.round(ns);
  const column = curve.value?.columns.find(one => one.from_ns <= at && at <= one.to_ns);
  return `${durationText(at)}${column ? `, at most ${bytesText(column.max_live_bytes)}` : ''}`;
}

function Tools({ heading }: { heading: string }) {
  const { time, window, quantity } = state.value;
  const span = selected.value;
  const unknown = time !== '' && !span;
  return (
    <div class="tools">
      <strong class="asked" data-testid="asked">
        {unknown ? `This trace has no time ${time}` : heading}
      </strong>
      <span class="legend">
        <span class="key live">live heap</span>
        {(curve.value?.resident.length ?? 0) > 0 && <span class="key rss">resident memory (RSS)</span>}
      </span>
      <span class="buttons">
        {time !== '' && running.value && <span class="chip">{behindText()}</span>}
        <TimeButton time="@peak" title="Peak" disabled={run.value.peak_ns === null} />
        <TimeButton time="@end" title={running.value ? 'Now' : 'End'} />
        <TimeButton time=".." title="Whole run" />
        <button
          type="button"
          disabled={time === ''}
          onClick={() => go({ time: '' })}
          title={`nothing is selected: ${QUANTITY_NAMES[quantity].toLowerCase()} as the heading says`}
        >
          {running.value ? 'Follow' : 'Clear'}
        </button>
        <button
          type="button"
          disabled={!span || span.from === span.to}
          onClick={() => span && show({ from: Math.round(span.from), to: Math.round(span.to) })}
        >
          Zoom in
        </button>
        <button type="button" disabled={window === ''} onClick={() => show(null)}>
          Zoom out
        </button>
      </span>
      {following.value && <span class="visually-hidden">following the running program</span>}
    </div>
  );
}

function behindText(): string {
  const behind = run.value.duration_ns - (selected.value?.to ?? 0);
  return `paused, ${durationText(Math.max(0, behind))} behind`;
}

function TimeButton({ time, title, disabled = false }: { time: string; title: string; disabled?: boolean }) {
  return (
    <button
      type="button"
      disabled={disabled}
      aria-pressed={state.value.time === time}
      data-time={time}
      onClick={() => go({ time })}
    >
      {title}
    </button>
  );
}
