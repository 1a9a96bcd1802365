// SPDX-License-Identifier: Apache-2.0
// source.ts - where answers come from. Views know only this interface, never a server: a page with inlined data has
// another implementation than a page that a server sends.

import type { Change, Control, Format, Trace } from './types';

// A question about one trace. The view is an endpoint below /api/traces/N/ ("table/site"), the parameters are the
// options of `heaplapse report`; true is an option without a value.
export interface Request {
  view: string;
  params: Params;
}
export type Params = Record<string, string | number | true | string[]>;

// An error is a value: a sentence for people, and the status of HTTP (0: no answer at all).
export type Outcome<T> = { ok: true; value: T; notes: string[] } | { ok: false; error: string; status: number };

export interface Progress {
  what: string;
  done: number;
  total: number;
}

export interface AskOptions {
  signal: AbortSignal;
  onProgress: (progress: Progress) => void;
}

export interface Source {
  traces(): Promise<Outcome<Trace[]>>;
  // Ends with an error of status 0 when the signal is aborted; the server then stops to work on it.
  ask<T>(trace: number, request: Request, options: AskOptions): Promise<Outcome<T>>;
  // Calls back when a trace changes, until the returned function is called.
  follow(onChange: (change: Change) => void, onConnection: (connected: boolean) => void): () => void;
  // Executes a verb of `heaplapse ctl` for the recording of a running program.
  control(trace: number, verb: string, params: Params): Promise<Outcome<Control>>;
  // The formats of `heaplapse export`.
  formats(): Promise<Outcome<Format[]>>;
  // The address of an answer as a file; null: there is none.
  address(trace: number, request: Request): string | null;
}

// The same question has the same key.
export function requestKey(request: Request): string {
  return `${request.view}?${queryText(request.params)}`;
}

// An option without a value is a key without one.
export function queryText(params: Params): string {
  const parts: string[] = [];
  for (const key of Object.keys(params).sort()) {
    const value = params[key]!;
    for (const one of Array.isArray(value) ? value : [value])
      parts.push(one === true ? key : `${key}=${encodeURIComponent(one)}`);
  }
  return parts.join('&');
}
