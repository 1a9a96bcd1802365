// SPDX-License-Identifier: Apache-2.0
// memory_types.ts - the answer of the endpoint address-space (docs/json.md).

import type { Answer } from '../../data/types';

export interface AddressRange {
  start: string;
  end: string;
  size: number;
  gap_before: number;
  cluster: number;
  permissions: string | null;
  name: string | null;
  resident: number | null;
  live_bytes: number;
  live_blocks: number;
  free_bytes: number | null;
  largest_gap_bytes: number | null;
  fill: { step: number; bytes: number[] } | null;
}

export interface AddressSpace extends Answer {
  time_ns: number;
  live_bytes: number;
  live_blocks: number;
  sample_ns: number | null;
  outside_blocks: number | null;
  ranges: AddressRange[];
}
