// SPDX-License-Identifier: Apache-2.0
// types.ts - answers of the server, as docs/json.md describes them. Times are ns since the start of the run.
// A view that needs another answer declares its type beside the view.

export interface Frame {
  function: string | null;
  file: string | null;
  line: number;
  module: string | null;
}

export interface Totals {
  allocations: number | null;
  bytes_allocated: number | null;
  live_bytes_end: number | null;
  live_blocks_end: number | null;
  peak_bytes: number | null;
  peak_blocks: number | null;
  peak_time_ns: number | null;
}

// Whether the recording of a running program can be controlled, and its state.
export interface Control {
  controllable: boolean;
  reason: string | null;
  state: 'recording' | 'paused' | 'stopped' | null;
  pending: string | null;
}

// A row of /api/export.
export interface Format {
  format: string;
  suffix: string;
  viewer: string; // programs that read it
  whole_run: boolean; // it takes no quantity and no range
}

// A row of /api/traces. A trace that cannot be read has only id, trace, deleted and error.
export interface Trace {
  id: number;
  trace: string;
  deleted: boolean;
  error: string | null;
  program?: string;
  pid?: number;
  parent_pid?: number;
  mode?: string;
  duration_ns?: number;
  running?: boolean;
  complete?: boolean;
  totals?: Totals;
  session?: number | null;
  control?: Control;
}

// An event about a trace (/api/events).
export interface Change {
  kind: 'trace' | 'grown' | 'ended' | 'replaced' | 'failed';
  id: number;
  deleted: boolean;
  error: string | null;
  running?: boolean;
  duration_ns?: number;
  live_bytes?: number;
  live_blocks?: number;
  peak_bytes?: number;
  allocations?: number;
}

export interface Mark {
  kind: 'mark' | 'snapshot';
  name: string;
  time_ns: number;
}

export interface CurveColumn {
  from_ns: number;
  to_ns: number;
  max_live_bytes: number;
  end_live_bytes: number;
  lost?: boolean;
}

export interface Curve {
  duration_ns: number;
  from_ns: number;
  to_ns: number;
  columns: CurveColumn[];
  marks: Mark[];
  resident: { time_ns: number; bytes: number }[];
}

// The rows that are missing in an answer, because it is bounded.
export interface Truncated {
  by: string;
  rows_left_out: number;
  bytes_left_out?: number;
  blocks_left_out?: number;
}

// The members of every answer about a quantity.
export interface Answer {
  filter?: string;
  unmatched?: { term: string; similar: string[] }[];
  matches_no_block?: string;
  terms_exclude_each_other?: boolean;
  truncated?: Truncated;
}

export interface QuantityAnswer extends Answer {
  quantity: 'live' | 'growth' | 'allocated' | 'temporary';
  from_ns: number;
  to_ns: number;
  total_bytes: number;
  total_blocks: number;
  total_bytes_margin?: number | null;
}
