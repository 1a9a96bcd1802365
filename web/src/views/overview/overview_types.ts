// SPDX-License-Identifier: Apache-2.0
// overview_types.ts - the answer of the endpoint overview (docs/json.md).

import type { Answer, Frame } from '../../data/types';

export interface OverviewRow extends Frame {
  bytes: number;
  blocks: number;
  allocated_blocks: number;
  short_lived_blocks?: number;
  caller?: (Frame & { percent: number }) | null; // the call that most of the row comes from
  live_bytes_over_time?: (number | null)[];
  allocated_blocks_over_time?: (number | null)[];
}

export interface OverviewList {
  state: 'known' | 'not known' | 'left out';
  total_bytes: number;
  total_blocks: number;
  sites: number;
  rows: OverviewRow[];
}

export interface Verdict {
  kind: string;
  text: string;
  options: string | null;
}

export interface OverviewAnswer extends Answer {
  duration_ns: number;
  estimated?: boolean;
  peak_bytes: number | null;
  peak_blocks?: number;
  peak_time_ns?: number;
  end_bytes: number;
  end_blocks: number;
  end_is_leaked: boolean;
  suppressed_bytes: number;
  allocated_bytes: number;
  allocated_blocks: number;
  short_lived: 'known' | 'not known' | 'left out';
  short_lived_below?: string; // "about 100 us"
  short_lived_blocks?: number;
  short_lived_of_blocks?: number;
  resident_bytes: number | null;
  resident_time_ns?: number;
  resident_live_bytes?: number | null;
  verdicts: Verdict[];
  held: OverviewList;
  left: OverviewList;
  growing: OverviewList;
  churning: OverviewList;
}
