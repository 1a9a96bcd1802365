// SPDX-License-Identifier: Apache-2.0
import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { initialState } from './fields';
import { readQueries, stateOf } from './queries';

test('what is kept is checked', () => {
  for (const text of ['', '{', 'null', '{"a":1}', '[1,null,{"name":""},{"name":"a"}]'])
    deepEqual(readQueries(text), []);
  deepEqual(readQueries('[{"name":"a","address":"q=leaked","more":1},2]')[0]?.name, 'a');
});

test('a query is a state of the trace that is shown', () => {
  const state = stateOf({ name: 'a', address: 'q=leaked&r=9&f=fn:a' }, 3);
  deepEqual(state, { ...initialState, quantity: 'leaked', filter: 'fn:a', trace: 3 });
  equal(stateOf({ name: 'a', address: 'q=nothing' }, 1).quantity, 'live');
});
