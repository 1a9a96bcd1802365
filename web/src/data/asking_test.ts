// SPDX-License-Identifier: Apache-2.0
import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { Asking } from './asking';
import type { AskOptions, Outcome, Request, Source } from './source';

interface Open {
  request: Request;
  options: AskOptions;
  answer(outcome: Outcome<unknown>): Promise<void>;
}

// Answers when the test says so.
function fakeSource(): { source: Source; open: Open[] } {
  const open: Open[] = [];
  const ask = (_: number, request: Request, options: AskOptions) =>
    new Promise(resolve => {
      const answer = async (outcome: Outcome<unknown>) => {
        resolve(outcome);
        await new Promise(done => setTimeout(done, 0));
      };
      open.push({ request, options, answer });
    });
  return { source: { ask } as unknown as Source, open };
}

const ok = (value: unknown): Outcome<unknown> => ({ ok: true, value, notes: [] });
const requestOf = (view: string): Request => ({ view, params: {} });

test('another question cancels the one before; its answer is kept', async () => {
  const { source, open } = fakeSource();
  const asking = new Asking<string>(source, () => {});
  asking.ask(1, 0, requestOf('cancel-a'));
  asking.ask(1, 0, requestOf('cancel-b'));
  equal(open[0]!.options.signal.aborted, true);
  await open[1]!.answer(ok('b'));
  equal(asking.answered.value, 'b');
  asking.ask(1, 0, requestOf('cancel-c'));
  deepEqual([asking.answered.value, asking.answered.waiting], ['b', true], 'the old answer stays while it waits');
  asking.ask(1, 0, requestOf('cancel-b'));
  deepEqual([asking.answered.value, asking.answered.waiting, open.length], ['b', false, 3], 'kept');
});

test('a new revision waits for the answer to the same question', async () => {
  const { source, open } = fakeSource();
  const asking = new Asking<string>(source, () => {});
  for (const revision of [0, 1, 2]) asking.ask(1, revision, requestOf('slow'));
  equal(open.length, 1);
  await open[0]!.answer(ok('first'));
  equal(open.length, 2, 'only the newest revision is asked');
  deepEqual([asking.answered.value, asking.answered.waiting], ['first', true]);
  await open[1]!.answer(ok('second'));
  deepEqual([asking.answered.value, open.length], ['second', 2]);
});

test('an error replaces the answer, and is not kept', async () => {
  const { source, open } = fakeSource();
  const asking = new Asking<string>(source, () => {});
  asking.ask(1, 0, requestOf('bad'));
  await open[0]!.answer({ ok: false, error: 'no', status: 400 });
  deepEqual([asking.answered.value, asking.answered.error], [null, 'no']);
  asking.ask(1, 1, requestOf('bad'));
  equal(open.length, 2);
});

test('the answer of another trace goes at once', async () => {
  const { source, open } = fakeSource();
  const asking = new Asking<string>(source, () => {});
  asking.ask(1, 0, requestOf('other'));
  await open[0]!.answer(ok('one'));
  asking.ask(2, 0, requestOf('other'));
  equal(asking.answered.value, null);
});
