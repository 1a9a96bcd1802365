// SPDX-License-Identifier: Apache-2.0
import { equal } from 'node:assert/strict';
import { test } from 'node:test';
import { commandOf } from './command';

test('commands that print what the page shows', () => {
  const of = (view: string, params = {}) => commandOf('app.hlt', { view, params });
  equal(of('overview'), 'heaplapse report --overview app.hlt');
  equal(of('tree', { peak: true, min: 1 }), 'heaplapse report --top-down --full-stacks --peak --min 1 app.hlt');
  equal(of('flame', { 'bottom-up': true, folded: true, leaks: true }), 'heaplapse report --leaks app.hlt');
  equal(
    of('table/site', { allocated: true, range: '1s..2s' }),
    'heaplapse report -g site --allocated --range 1s..2s app.hlt',
  );
  equal(of('timeline/size', { limit: 5 }), 'heaplapse report --timeline -g size --limit 5 app.hlt');
  equal(of('sites', { temporary: '1ms', width: 800 }), 'heaplapse report --sites --temporary=1ms app.hlt');
});

test('words of a command are quoted for the shell', () => {
  const filter = ['fn:"operator new" size:>1K', "it's"];
  equal(
    commandOf('a b.hlt', { view: 'tree', params: { filter } }),
    `heaplapse report --top-down --full-stacks --filter 'fn:"operator new" size:>1K' --filter 'it'\\''s' 'a b.hlt'`,
  );
  equal(
    commandOf("a\n'\\.hlt", { view: 'tree', params: {} }),
    `heaplapse report --top-down --full-stacks $'a\\x0a\\'\\\\.hlt'`,
  );
});
