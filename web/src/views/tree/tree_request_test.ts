// SPDX-License-Identifier: Apache-2.0
import { deepEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { initialState } from '../../state/fields';
import { treeParams, withTerm } from './tree_request';

test('one more term does not change the moment', () => {
  deepEqual(withTerm({ peak: true }, 'fn:a'), { at: '@peak', filter: ['fn:a'] });
  const filtered = { peak: true, filter: ['size:>1K'] } as const;
  deepEqual(withTerm({ ...filtered, filter: [...filtered.filter] }, 'fn:a', { to_ns: 640 }), {
    at: '640ns',
    filter: ['size:>1K', 'fn:a'],
  });
  deepEqual(withTerm({ peak: true, filter: ['size:>1K'] }, 'fn:a'), { peak: true, filter: ['size:>1K', 'fn:a'] });
  deepEqual(withTerm({ leaks: true }, 'fn:a'), { leaks: true, filter: ['fn:a'] });
});

test('options of trees', () => {
  deepEqual(treeParams(initialState, { peak: true }), { peak: true, sort: 'bytes', folded: true });
  deepEqual(treeParams({ ...initialState, direction: 'up', libraries: 'show', unit: 'blocks' }, {}), {
    sort: 'blocks',
    'bottom-up': true,
  });
});
