// SPDX-License-Identifier: Apache-2.0
// sparkline.tsx - a small plot of one row over time, in a scale of its own.

import { type Unit, unitText } from '../text/text';

export function Sparkline({ values, unit = 'bytes' }: { values: readonly (number | null)[]; unit?: Unit }) {
  const most = values.reduce<number>((max, value) => Math.max(max, value ?? 0), 0);
  const steps = values.map((value, i) => `V${(10 - ((value ?? 0) * 9.5) / (most || 1)).toFixed(2)}H${i + 1}`);
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${values.length} 10`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`over time, at most ${unitText(most, unit)}`}
    >
      <path d={`M0 10${steps.join('')}V10Z`} />
    </svg>
  );
}
