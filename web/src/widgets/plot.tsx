// SPDX-License-Identifier: Apache-2.0
// plot.tsx - curves over time, drawn by uPlot. It only draws; elements above the plot take clicks and keys.

import { useLayoutEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { theme } from '../state/theme';
import { bytesText } from '../text/text';
import { axisTimes } from './axis';

export interface Curve {
  color: string; // a custom property of the style sheet: "--live"
  fill?: string;
  times: number[]; // ns, ascending
  values: (number | null)[]; // null: not known
  stepped: boolean; // a value holds until the next time
  points?: boolean; // each value is marked
}

interface Props {
  curves: Curve[];
  from: number;
  to: number;
  width: number; // px
  height: number;
  label: string; // for people who cannot see it
}

// The area of the curves within the canvas; other elements are placed over it.
export const PLOT_LEFT = 72;
export const PLOT_RIGHT = 24;
const BINARY_STEPS = Array.from({ length: 54 }, (_, i) => 2 ** i);

export function Plot({ curves, from, to, width, height, label }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const shownTheme = theme.value;
  useLayoutEffect(() => {
    if (width <= 0) return;
    const plot = new uPlot(optionsOf({ curves, from, to, width, height }), dataOf(curves), box.current!);
    return () => plot.destroy();
  }, [curves, from, to, width, height, shownTheme]);
  return <div class="plot" role="img" aria-label={label} ref={box} style={{ height: `${height}px` }} />;
}

function dataOf(curves: Curve[]): uPlot.AlignedData {
  if (!curves.length) return [[]];
  return uPlot.join(curves.map(curve => [curve.times, curve.values] as uPlot.AlignedData));
}

function optionsOf({ curves, from, to, width, height }: Omit<Props, 'label'>): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const axis: uPlot.Axis = {
    stroke: color('--dim'),
    grid: { stroke: color('--rule'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  };
  return {
    width,
    height,
    padding: [8, PLOT_RIGHT, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, range: [from, Math.max(to, from + 1)] },
      y: { range: (_, _min, max) => [0, max * 1.06 || 1] },
    },
    axes: [
      { ...axis, size: 26, space: 90, values: (_, times) => axisTimes(times) },
      { ...axis, size: PLOT_LEFT, space: 28, incrs: BINARY_STEPS, values: (_, values) => values.map(bytesText) },
    ],
    series: [{}, ...curves.map(curve => seriesOf(curve, color))],
  };
}

function seriesOf(curve: Curve, color: (name: string) => string): uPlot.Series {
  return {
    stroke: color(curve.color),
    width: 1.5,
    points: { show: curve.points ?? false },
    spanGaps: false,
    ...(curve.fill ? { fill: color(curve.fill) } : {}),
    ...(curve.stepped ? { paths: uPlot.paths.stepped!({ align: 1 }) } : {}),
  };
}
