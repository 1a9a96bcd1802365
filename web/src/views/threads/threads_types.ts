// SPDX-License-Identifier: Apache-2.0
// threads_types.ts - the answer of the endpoint threads (docs/json.md).

import type { Answer } from '../../data/types';

export const AMOUNTS = ['allocated', 'freed', 'freed_own', 'freed_by_others', 'not_freed'] as const;
export type Amount = (typeof AMOUNTS)[number];

type Numbers = { [K in `${Amount}_${'bytes' | 'blocks'}`]: number };

export interface ThreadRow extends Numbers {
  thread: number;
  tid: number;
  name: string | null;
}

export interface Pair {
  allocated_by: number;
  freed_by: number;
  bytes: number;
  blocks: number;
}

export interface ThreadsAnswer extends Answer {
  from_ns: number;
  threads: ThreadRow[];
  freed_by_another: Pair[];
}

export function threadText({ thread, name }: { thread: number; name: string | null }): string {
  return name ? `${thread} ${name}` : `${thread}`;
}
