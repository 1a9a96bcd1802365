// SPDX-License-Identifier: Apache-2.0
// blocks_types.ts - the answers of the endpoint blocks (docs/json.md).

import type { Frame, QuantityAnswer } from '../../data/types';

export interface BlockRow extends Frame {
  id: number;
  allocated_ns: number;
  freed_ns: number | null;
  lifetime_ns: number | null;
  address: string;
  size: number;
  bytes: number;
  blocks: number;
  thread: number;
  thread_name: string | null;
  call: string | null;
  tag: string | null;
  stack: number | null;
  chain_length: number | null;
  chain_position: number | null;
  chain_first_size: number | null;
  chain_last_size: number | null;
  chain_allocated_ns: number | null;
  chain_lifetime_ns: number | null;
  ended_by: 'free' | 'realloc' | 'unseen' | 'none';
  freed_by: number | null;
  freed_by_name: string | null;
  freed_call: string | null;
  freed_stack: number | null;
  freed_site: Frame | null;
}

export interface BlocksAnswer extends QuantityAnswer {
  row_count: number;
  rows: BlockRow[];
  next: string | null;
}

export interface GroupFigures {
  bytes: number;
  blocks: number;
  leaked_blocks: number;
  first_ns: number;
  last_ns: number;
  interval_ns: number;
}

export interface GroupRow extends Frame {
  stack: number | null;
  matched: GroupFigures;
  run: GroupFigures & { leaked_bytes: number; peak_bytes: number; peak_ns: number };
}

export interface GroupsAnswer extends QuantityAnswer {
  groups: number;
  rows: GroupRow[];
}
