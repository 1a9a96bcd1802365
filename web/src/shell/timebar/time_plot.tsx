// SPDX-License-Identifier: Apache-2.0
// time_plot.tsx - curves over the visible time, with the selection: what is dragged or clicked here is selected for the
// whole page. The time bar is one; views have others.

import { useRef } from 'preact/hooks';
import { type Curve, PLOT_LEFT, PLOT_RIGHT, Plot } from '../../widgets/plot';
import { useWidth } from '../../widgets/use_width';
import { Overlay, type Point } from './overlay';
import { visible } from './use_time';

export type { Point } from './overlay';

interface Props {
  testid: string;
  curves: Curve[];
  height: number;
  label: string;
  cursorText: (point: Point) => string;
  onPoint?: (point: Point | null) => void;
}

export function TimePlot({ testid, curves, height, label, cursorText, onPoint }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const { from, to } = visible.value;
  return (
    <div class="time-plot" ref={box} style={{ height: `${height}px` }}>
      <Plot curves={curves} from={from} to={to} width={width} height={height} label={label} />
      <div class="overlay-box" style={{ left: `${PLOT_LEFT}px`, right: `${PLOT_RIGHT}px` }}>
        <Overlay testid={testid} cursorText={cursorText} onPoint={onPoint} />
      </div>
    </div>
  );
}
