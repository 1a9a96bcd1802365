// SPDX-License-Identifier: Apache-2.0
// axis.ts - the labels of a time axis: one unit for all, and only the digits that differ.

const UNITS: [number, string][] = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'us'],
  [1, 'ns'],
];

export function axisTimes(times: readonly number[]): string[] {
  const last = times.at(-1) ?? 0;
  const step = times.length > 1 ? times[1]! - times[0]! : last || 1;
  const [size, name] = UNITS.find(([unit]) => last >= unit) ?? UNITS[3]!;
  let digits = 0;
  while (digits < 9 && !isWhole((step / size) * 10 ** digits)) digits++;
  return times.map(time => `${(time / size).toFixed(digits)} ${name}`);
}

function isWhole(value: number): boolean {
  return Math.abs(value - Math.round(value)) < 1e-6 * Math.max(1, value);
}
