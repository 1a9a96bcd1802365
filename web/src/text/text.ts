// SPDX-License-Identifier: Apache-2.0
// text.ts - numbers as text, as `heaplapse report` writes them (src/util/safe_text.c), to the last digit.

export type Unit = 'bytes' | 'blocks';

// As printf("%.Nf"): a value that is exactly between two becomes the even one. toFixed() takes the larger.
export function fixedText(value: number, digits: number): string {
  const text = value.toFixed(digits);
  const beyond = value.toFixed(digits + 40).slice(-40);
  if (!/^50*$/.test(beyond)) return text;
  const down = value
    .toFixed(digits + 40)
    .slice(0, -40)
    .replace(/\.$/, '');
  return Number(down.at(-1)) % 2 === 0 ? down : text;
}

export function bytesText(bytes: number): string {
  if (bytes < 0) return `−${bytesText(-bytes)}`;
  if (bytes < 1024) return `${bytes} B`;
  let value = bytes;
  let unit = -1;
  // 1023.96 would be written as 1024.0 of the smaller unit.
  while (value >= 1023.95 && unit < 5) {
    value /= 1024;
    unit++;
  }
  if (unit < 0) {
    value /= 1024;
    unit = 0;
  }
  return `${fixedText(value, 1)} ${'KMGTPE'[unit]}iB`;
}

export function countText(count: number): string {
  return count.toLocaleString('en-US');
}

export function exactBytesText(bytes: number): string {
  return `${countText(bytes)} B`;
}

export function unitText(value: number, unit: Unit): string {
  return unit === 'bytes' ? bytesText(value) : countText(value);
}

export function durationText(ns: number): string {
  if (ns < 1e3) return `${ns} ns`;
  if (ns < 1e6) return `${fixedText(ns / 1e3, 1)} us`;
  if (ns < 1e9) return `${fixedText(ns / 1e6, 1)} ms`;
  return `${fixedText(ns / 1e9, 3)} s`;
}

// Of a part that is known to be at most the whole; without a whole 0.0%.
export function percentText(part: number, whole: number): string {
  return `${fixedText(whole ? (part * 100) / whole : 0, 1)}%`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1) || path;
}
