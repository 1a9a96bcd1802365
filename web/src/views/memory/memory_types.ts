// SPDX-License-Identifier: Apache-2.0
// memory_types.ts - the answer of the endpoint address-space (docs/json.md).

import type { Answer, Frame } from '../../data/types';

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

// The endpoint resident: bytes of a mapping, of mappings of one name, or of all.
export interface Amounts {
  size: number;
  resident: number;
  anonymous: number;
  dirty: number;
  clean: number;
  swap: number;
}

export interface MappingGroup extends Amounts {
  name: string;
  kind: string;
  mappings: number;
  peak_resident: number;
  trend: (number | null)[]; // the highest resident memory in each column
}

export interface Mapping extends Amounts {
  address: string;
  protection: string;
  name: string;
  peak_resident: number;
}

export interface Resident extends Answer {
  sample_ns: number;
  samples: number;
  total: Amounts & { mappings: number };
  peak_resident: number;
  peak_ns: number;
  groups_gone: number;
  columns: (Amounts | null)[]; // at the end of each column of the run
  groups: MappingGroup[];
  mappings: Mapping[];
}

// The endpoint mmaps.
export interface Mmap {
  id: number;
  address: string;
  size: number;
  protection: string | null;
  flags: string | null;
  mapped_ns: number;
  unmapped_ns: number | null;
  left_bytes: number;
  thread: number;
  stack: Frame[];
}

export interface Mmaps extends Answer {
  mmaps: Mmap[];
  mappings: number;
  bytes: number;
  left_mappings: number;
  left_bytes: number;
  peak_bytes: number;
  peak_ns: number;
}

// The endpoint fragmentation.
export interface Fragmentation extends Answer {
  time_ns: number;
  live_bytes: number;
  live_blocks: number;
  page_bytes: number;
  pages: number;
  regions: number;
  mapped_bytes_at_least: number;
  resident_bytes: number | null;
  largest_gap_bytes: number;
  sparse_below_bytes: number;
  sparse_pages: number;
  sparse_bytes: number;
  holders: (Frame & { pages: number; bytes: number; blocks: number })[];
}
