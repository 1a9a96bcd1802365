// SPDX-License-Identifier: Apache-2.0
import { deepEqual } from 'node:assert/strict';
import { test } from 'node:test';
import type { Params } from '../data/source';
import type { Quantity } from './fields';
import { questionOf } from './quantity';
import type { Run } from './time';

const RUN: Run = { duration_ns: 10e9, peak_ns: 4e9, marks: [{ name: 'login', time_ns: 2e9 }] };

type Row = [Quantity, string, Params, string];
const ROWS: Row[] = [
  ['live', '', { peak: true }, 'Live at the peak'],
  ['live', '1s', { at: '1s' }, 'Live at 1.000 s'],
  ['live', '@peak', { at: '@peak' }, 'Live at the peak (4.000 s)'],
  ['live', '@mark:login', { at: '@mark:login' }, 'Live at login (2.000 s)'],
  ['live', '1s..3s', { at: '3s' }, 'Live at the end of the selection: 3.000 s'],
  ['live', '1s..', { at: '@end' }, 'Live at the end of the selection: the end (10.000 s)'],
  ['growth', '', { growth: '..' }, 'Allocated in the whole run, and live at its end'],
  ['growth', '..', { growth: '..' }, 'Allocated in the whole run, and live at its end'],
  ['growth', '3s', { growth: '..3s' }, 'Allocated up to 3.000 s, and live at 3.000 s'],
  ['growth', '1s..3s', { growth: '1s..3s' }, 'Allocated from 1.000 s to 3.000 s, and live at 3.000 s'],
  ['allocated', '', { allocated: true }, 'Allocated in the whole run'],
  ['allocated', '3s', { allocated: true, range: '..3s' }, 'Allocated up to 3.000 s'],
  ['allocated', '1s..3s', { allocated: true, range: '1s..3s' }, 'Allocated from 1.000 s to 3.000 s'],
  ['temporary', '1s..', { temporary: true, range: '1s..' }, 'Allocated from 1.000 s on and freed at once'],
  ['leaked', '', { leaks: true }, 'Live at the end of the run'],
  [
    'leaked',
    '1s..3s',
    { leaks: true, filter: ['time:1s..3s'] },
    'Allocated from 1.000 s to 3.000 s, and live at the end of the run',
  ],
];

for (const [quantity, time, params, heading] of ROWS) {
  test(`${quantity}, ${time || 'nothing selected'}`, () => {
    deepEqual(questionOf({ quantity, time, filter: '', running: false }, RUN), { params, heading });
  });
}

test('of a running program, live is now, if nothing is selected', () => {
  const asked = { quantity: 'live', time: '', filter: '', running: true } as const;
  deepEqual(questionOf(asked, RUN), { params: { at: '@end' }, heading: 'Live now' });
});

test('the filter comes before the filter of the time', () => {
  const asked = { quantity: 'leaked', time: '3s', filter: ' size:>1K ', running: false } as const;
  deepEqual(questionOf(asked, RUN).params, { leaks: true, filter: ['size:>1K', 'time:..3s'] });
});
