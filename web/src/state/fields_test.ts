// SPDX-License-Identifier: Apache-2.0
import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { fields, initialState, parseState, writeState } from './fields';

test('the address has what is not initial, and restores it', () => {
  equal(writeState(initialState), '');
  const state = {
    ...initialState,
    quantity: 'leaked',
    time: '1.5s..@mark:a&b',
    filter: 'fn:"a b" -module:x#y',
  } as const;
  deepEqual(parseState(writeState(state)), state);
  equal(writeState({ ...initialState, time: '@peak..', filter: 'fn:a' }), '#t=@peak..&f=fn:a');
});

test('an address with other values is as without them', () => {
  deepEqual(parseState('#q=nothing&u=%00&r=-1&g=constructor&x=1&r=1e9'), initialState);
  equal(parseState(`#f=${'x'.repeat(5000)}`).filter, '');
});

test('names may have any character', () => {
  const state = { ...initialState, hidden: ['a&b', 'operator new', '<c>'] };
  deepEqual(parseState(writeState(state)).hidden, state.hidden);
  equal(writeState({ ...initialState, plotted: [] }), '');
});

test('keys of fields are different', () => {
  const keys = Object.values(fields).map(field => field.key);
  equal(new Set(keys).size, keys.length);
});
