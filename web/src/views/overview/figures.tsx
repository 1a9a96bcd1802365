// SPDX-License-Identifier: Apache-2.0
// figures.tsx - the headline numbers of the overview.

import type { ComponentChildren } from 'preact';
import { bytesText, countText, durationText, exactBytesText, percentText, plural } from '../../text/text';
import type { OverviewAnswer } from './overview_types';

interface FigureProps {
  id: string;
  title: string;
  value: number | null; // exact, for tests and tooltips
  text: string;
  hint?: string;
  children?: ComponentChildren;
}

function Figure({ id, title, value, text, hint, children }: FigureProps) {
  return (
    <div class="figure" data-figure={id}>
      <dt>{title}</dt>
      <dd>
        <data value={value ?? ''} title={hint}>
          {text}
        </data>
        <small>{children}</small>
      </dd>
    </div>
  );
}

function bytesFigure(bytes: number | null) {
  return {
    value: bytes,
    text: bytes === null ? 'not known' : bytesText(bytes),
    ...(bytes === null ? {} : { hint: exactBytesText(bytes) }),
  };
}

export function Figures({ value }: { value: OverviewAnswer }) {
  const ended = value.end_is_leaked ? 'Not freed' : 'Live at the end';
  return (
    <dl class="figures">
      <Figure id="peak" title="Peak" {...bytesFigure(value.peak_bytes)}>
        {value.peak_bytes !== null &&
          `${plural(value.peak_blocks ?? 0, 'block')}, at ${durationText(value.peak_time_ns ?? 0)}`}
      </Figure>
      <Figure id="end" title={ended} {...bytesFigure(value.end_bytes)}>
        {plural(value.end_blocks, 'block')}
        {value.suppressed_bytes > 0 && `, plus ${bytesText(value.suppressed_bytes)} held by the runtime`}
      </Figure>
      <Figure
        id="allocations"
        title="Allocations"
        value={value.allocated_blocks}
        text={countText(value.allocated_blocks)}
      >
        {bytesText(value.allocated_bytes)} in total{value.estimated && ', estimated from samples'}
      </Figure>
      <ShortLived value={value} />
      <Figure id="resident" title="Resident, highest" {...residentFigure(value)}>
        {residentText(value)}
      </Figure>
    </dl>
  );
}

function ShortLived({ value }: { value: OverviewAnswer }) {
  const { short_lived, short_lived_blocks = 0, short_lived_of_blocks = 0, short_lived_below = '' } = value;
  if (short_lived !== 'known')
    return (
      <Figure id="short_lived" title="Short-lived" value={null} text={short_lived}>
        {short_lived === 'left out' && 'the trace is long; the lifetimes view shows it'}
      </Figure>
    );
  return (
    <Figure
      id="short_lived"
      title="Short-lived"
      value={short_lived_blocks}
      text={percentText(short_lived_blocks, short_lived_of_blocks)}
      hint={plural(short_lived_blocks, 'block')}
    >
      of allocations live less than {short_lived_below}
    </Figure>
  );
}

function residentFigure(value: OverviewAnswer) {
  if (value.resident_bytes === null) return { value: null, text: '–' };
  return bytesFigure(value.resident_bytes);
}

function residentText(value: OverviewAnswer): string {
  if (value.resident_bytes === null)
    return value.filter ? 'not known for a part of the heap' : 'no sample: runs below 0.1 s have none';
  const live = value.resident_live_bytes;
  return `at ${durationText(value.resident_time_ns ?? 0)}${live == null ? '' : `, when ${bytesText(live)} were live`}`;
}
