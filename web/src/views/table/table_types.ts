// SPDX-License-Identifier: Apache-2.0
// table_types.ts - the answer of the endpoint table/{group} (docs/json.md).

import type { Frame, QuantityAnswer } from '../../data/types';

// Groups without a frame have only a name.
export interface TableRow extends Frame {
  name: string;
  bytes: number;
  blocks: number;
}

export interface TableAnswer extends QuantityAnswer {
  group: string;
  rows: TableRow[];
}
