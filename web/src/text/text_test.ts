// SPDX-License-Identifier: Apache-2.0
import { equal } from 'node:assert/strict';
import { test } from 'node:test';
import { bytesText, countText, durationText, fixedText, percentText, plural } from './text';

test('bytes as in hl_text_bytes()', () => {
  const rows: [number, string][] = [
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1.0 KiB'],
    [1280, '1.2 KiB'], // 1.25: even
    [1792, '1.8 KiB'], // 1.75: even
    [1023 * 1024 + 972, '1023.9 KiB'],
    [1023 * 1024 + 973, '1.0 MiB'],
    [3210367, '3.1 MiB'],
  ];
  for (const [bytes, text] of rows) equal(bytesText(bytes), text);
});

test('durations as in hl_text_duration()', () => {
  const rows: [number, string][] = [
    [0, '0 ns'],
    [999, '999 ns'],
    [1250, '1.2 us'],
    [13498176, '13.5 ms'],
    [1062500000, '1.062 s'], // 1.0625: even
    [1187500000, '1.188 s'], // 1.1875: even
  ];
  for (const [ns, text] of rows) equal(durationText(ns), text);
});

test('counts, shares and plurals', () => {
  equal(countText(1234567), '1,234,567');
  equal(percentText(1, 3), '33.3%');
  equal(percentText(1, 0), '0.0%');
  equal(plural(1, 'block'), '1 block');
  equal(plural(2, 'allocation'), '2 allocations');
  equal(fixedText(0.5, 0), '0');
  equal(fixedText(1.5, 0), '2');
});
