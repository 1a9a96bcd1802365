// SPDX-License-Identifier: Apache-2.0
// http.ts - answers from `heaplapse serve`. Questions about a trace are streams of events, so that slow ones show
// their progress; the last event is the answer. Aborting the request cancels the query on the server.

import { type EventText, readEvents } from './event_stream';
import {
  type AskOptions,
  type Outcome,
  type Params,
  type Progress,
  queryText,
  type Request,
  type Source,
} from './source';
import type { Change, Control, Format, Trace } from './types';

const NO_SERVER = 'the server does not answer; is heaplapse serve still running?';
const KINDS = ['trace', 'grown', 'ended', 'replaced', 'failed'] as const;

export class HttpSource implements Source {
  async traces(): Promise<Outcome<Trace[]>> {
    return getList<Trace>('/api/traces', 'traces');
  }

  async formats(): Promise<Outcome<Format[]>> {
    return getList<Format>('/api/export', 'formats');
  }

  async ask<T>(trace: number, request: Request, options: AskOptions): Promise<Outcome<T>> {
    try {
      const response = await fetch(this.address(trace, request), {
        headers: { Accept: 'text/event-stream' },
        signal: options.signal,
      });
      if (!response.ok || !response.body) return await refusal(response);
      return await readAnswer<T>(readEvents(response.body), options);
    } catch {
      return { ok: false, error: options.signal.aborted ? 'cancelled' : NO_SERVER, status: 0 };
    }
  }

  // A browser has few connections to one server, so a page that is not visible has none.
  follow(onChange: (change: Change) => void, onConnection: (connected: boolean) => void): () => void {
    let events: EventSource | null = null;
    const update = () => {
      if (document.hidden) {
        events?.close();
        events = null;
      } else {
        events ??= openEvents(onChange, onConnection);
      }
    };
    document.addEventListener('visibilitychange', update);
    update();
    return () => {
      document.removeEventListener('visibilitychange', update);
      events?.close();
    };
  }

  async control(trace: number, verb: string, params: Params): Promise<Outcome<Control>> {
    try {
      const address = this.address(trace, { view: `control/${verb}`, params });
      const response = await fetch(address, { method: 'POST', headers: { Accept: 'application/json' } });
      if (!response.ok) return await refusal(response);
      return { ok: true, value: await response.json(), notes: [] };
    } catch {
      return { ok: false, error: NO_SERVER, status: 0 };
    }
  }

  address(trace: number, request: Request): string {
    const query = queryText(request.params);
    return `/api/traces/${trace}/${request.view}${query && '?'}${query}`;
  }
}

function openEvents(onChange: (change: Change) => void, onConnection: (connected: boolean) => void): EventSource {
  const events = new EventSource('/api/events');
  for (const kind of KINDS)
    events.addEventListener(kind, event => onChange({ ...JSON.parse((event as MessageEvent<string>).data), kind }));
  events.onopen = () => onConnection(true);
  events.onerror = () => onConnection(false);
  return events;
}

async function getList<T>(address: string, member: string): Promise<Outcome<T[]>> {
  try {
    const response = await fetch(address, { headers: { Accept: 'application/json' } });
    if (!response.ok) return await refusal(response);
    return { ok: true, value: (await response.json())[member], notes: [] };
  } catch {
    return { ok: false, error: NO_SERVER, status: 0 };
  }
}

async function refusal<T>(response: Response): Promise<Outcome<T>> {
  const text = await response.text();
  let error = text.trim() || `the server answers with status ${response.status}`;
  try {
    error = JSON.parse(text).error ?? error;
  } catch {
    // a text, not a document
  }
  return { ok: false, error, status: response.status };
}

async function readAnswer<T>(events: AsyncIterable<EventText>, options: AskOptions): Promise<Outcome<T>> {
  const notes: string[] = [];
  for await (const { name, data } of events) {
    if (name === 'progress') options.onProgress(JSON.parse(data) as Progress);
    else if (name === 'note') notes.push(JSON.parse(data) as string);
    else if (name === 'answer') return { ok: true, value: JSON.parse(data) as T, notes };
    else if (name === 'failed') {
      const failed = JSON.parse(data);
      return { ok: false, error: failed.error ?? 'the query failed', status: failed.status ?? 500 };
    }
  }
  return { ok: false, error: 'the answer ended before it was complete; try again', status: 0 };
}
