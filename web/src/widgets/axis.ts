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
  const digits = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9)));
  return times.map(time => `${(time / size).toFixed(digits)} ${name}`);
}
