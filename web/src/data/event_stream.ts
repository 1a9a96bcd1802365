// SPDX-License-Identifier: Apache-2.0
// event_stream.ts - splits a stream of bytes into server-sent events. EventSource cannot be used for answers: it asks
// again when the answer has ended, and does not show the error of a refused request.

export interface EventText {
  name: string;
  data: string;
}

export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<EventText> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const text = decoder.decode(value, { stream: true });
    // An answer of megabytes comes in many pieces: they are joined once.
    pieces.push(text);
    if (!text.includes('\n')) continue;
    const blocks = pieces.join('').split('\n\n');
    pieces = [blocks.pop()!];
    for (const block of blocks) {
      const event = parseEvent(block);
      if (event) yield event;
    }
  }
}

export function parseEvent(block: string): EventText | null {
  let name = 'message';
  const data: string[] = [];
  for (const line of block.split('\n')) {
    if (line.startsWith('event:')) name = line.slice(6).trim();
    else if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
  }
  return data.length ? { name, data: data.join('\n') } : null;
}
