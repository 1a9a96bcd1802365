// SPDX-License-Identifier: Apache-2.0
import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { parseEvent, readEvents } from './event_stream';

function streamOf(pieces: string[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
      controller.close();
    },
  });
}

test('events do not depend on how the bytes are cut', async () => {
  const text = 'event: query\ndata: {"query":1}\n\n:\n\nevent: answer\ndata: {"a":"ä"}\n\n';
  for (const size of [1, 3, 1000]) {
    const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g'))!;
    const found = [];
    for await (const event of readEvents(streamOf(pieces))) found.push(event);
    deepEqual(found, [
      { name: 'query', data: '{"query":1}' },
      { name: 'answer', data: '{"a":"ä"}' },
    ]);
  }
});

test('a comment is no event', () => equal(parseEvent(':'), null));
