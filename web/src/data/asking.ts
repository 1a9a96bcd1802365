// SPDX-License-Identifier: Apache-2.0
// asking.ts - the answers to a question that changes: asked once, kept for one revision of the trace, cancelled when
// another question replaces it. A new revision of the same question waits until the answer is there: otherwise a
// question that takes longer than the program needs to allocate would never be answered.

import type { Outcome, Progress, Request, Source } from './source';
import { requestKey } from './source';

export interface Answered<T> {
  request: Request | null;
  value: T | null; // the newest answer; null: none yet, or an error
  waiting: boolean; // another one is on its way
  error: string;
  status: number; // of the error
  notes: string[];
  progress: Progress | null;
}

export function nothingYet<T>(request: Request | null): Answered<T> {
  return { request, value: null, waiting: request !== null, error: '', status: 0, notes: [], progress: null };
}

function finished<T>(request: Request, outcome: Outcome<T>): Answered<T> {
  const answered = { ...nothingYet<T>(request), waiting: false };
  return outcome.ok
    ? { ...answered, value: outcome.value, notes: outcome.notes }
    : { ...answered, error: outcome.error, status: outcome.status };
}

const KEPT_MAX = 60;
const kept = new Map<string, Outcome<unknown>>();

function keep(key: string, outcome: Outcome<unknown>): void {
  if (!outcome.ok) return;
  kept.set(key, outcome);
  const oldest = kept.keys().next().value;
  if (kept.size > KEPT_MAX && oldest !== undefined) kept.delete(oldest);
}

interface Asked {
  trace: number;
  revision: number;
  request: Request;
  question: string; // the same for each revision
}

export class Asking<T> {
  answered: Answered<T> = nothingYet(null);
  private asked: Asked | null = null;
  private next: Asked | null = null; // a newer revision
  private abort: AbortController | null = null;

  constructor(
    private source: Source,
    private onChange: (answered: Answered<T>) => void,
  ) {}

  ask(trace: number, revision: number, request: Request | null): void {
    if (!request) return;
    const wanted = { trace, revision, request, question: `${trace}/${requestKey(request)}` };
    if (this.abort && this.asked?.question === wanted.question) {
      this.next = wanted;
      return;
    }
    this.begin(wanted);
  }

  stop(): void {
    this.abort?.abort();
    this.abort = null;
    this.next = null;
  }

  private begin(wanted: Asked): void {
    const key = `${wanted.revision}/${wanted.question}`;
    const known = kept.get(key) as Outcome<T> | undefined;
    const sameTrace = this.asked?.trace === wanted.trace;
    this.stop();
    this.asked = wanted;
    if (known) {
      this.show(finished(wanted.request, known));
      return;
    }
    this.show(sameTrace ? { ...this.answered, waiting: true, progress: null } : nothingYet(wanted.request));
    this.fetch(wanted, key);
  }

  private async fetch(wanted: Asked, key: string): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    const onProgress = (progress: Progress) => this.show({ ...this.answered, progress });
    const outcome = await this.source.ask<T>(wanted.trace, wanted.request, { signal: abort.signal, onProgress });
    if (abort.signal.aborted) return;
    keep(key, outcome);
    this.abort = null;
    this.show(finished(wanted.request, outcome));
    const next = this.next;
    this.next = null;
    if (next && next.revision !== wanted.revision) this.begin(next);
  }

  private show(answered: Answered<T>): void {
    this.answered = answered;
    this.onChange(answered);
  }
}
