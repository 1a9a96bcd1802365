// SPDX-License-Identifier: Apache-2.0
// table_types.ts - the answers of the endpoints table/{group} and sites (docs/json.md).

import type { RowName } from '../../data/series';
import type { QuantityAnswer } from '../../data/types';

// Groups without a frame have only a name.
export interface TableRow extends RowName {
  bytes: number;
  blocks: number;
}

export interface TableAnswer extends QuantityAnswer {
  group: string;
  rows: TableRow[];
}

// The numbers of a site in the whole run; missing if some blocks are aggregated.
export interface SiteFacts extends RowName {
  freed_blocks?: number;
  median_lifetime_ns?: number | null;
}

export interface SitesAnswer extends QuantityAnswer {
  rows: SiteFacts[];
}
