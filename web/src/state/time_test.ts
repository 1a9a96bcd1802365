// SPDX-License-Identifier: Apache-2.0
import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { parseSelection, type Run, resolveSelection, resolveTime, roundTime, writeSelection, writeTime } from './time';

const RUN: Run = { duration_ns: 10e9, peak_ns: 4e9, marks: [{ name: 'a..b', time_ns: 2e9 }] };

test('times of the command line', () => {
  const rows: [string, number | null][] = [
    ['12ns', 12],
    ['1.5us', 1500],
    ['0.25s', 250e6],
    ['2min', 120e9],
    ['50%', 5e9],
    ['@peak', 4e9],
    ['@end', 10e9],
    ['@mark:a..b', 2e9],
    ['@mark:none', null],
    ['1 s', null],
    ['-1s', null],
    ['1y', null],
    ['', null],
    [`${'9'.repeat(40)}s`, null],
  ];
  for (const [text, ns] of rows) equal(resolveTime(text, RUN), ns, text);
});

test('selections', () => {
  for (const text of ['', '1s', '1s..2s', '..2s', '1s..', '..', '@peak..@end'])
    equal(writeSelection(parseSelection(text)), text);
  deepEqual(resolveSelection(parseSelection('..2s'), RUN), { from: 0, to: 2e9 });
  deepEqual(resolveSelection(parseSelection('3s..2s'), RUN), { from: 2e9, to: 3e9 });
  deepEqual(resolveSelection(parseSelection('@peak'), RUN), { from: 4e9, to: 4e9 });
  equal(resolveSelection(parseSelection('soon'), RUN), null);
});

test('written times are exact', () => {
  for (const ns of [0, 1, 999, 1500, 13498176, 2.5e9, 14732864]) equal(resolveTime(writeTime(ns), RUN), ns, String(ns));
  equal(writeTime(1.5e9), '1.5s');
  equal(writeTime(13498176), '13498.176us');
  equal(roundTime(1234567, 1e7), 1230000);
});
