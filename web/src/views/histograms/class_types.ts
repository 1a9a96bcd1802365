// SPDX-License-Identifier: Apache-2.0
// class_types.ts - the answer of table/size, table/life and table/tag (docs/json.md).

import type { RowName } from '../../data/series';
import type { QuantityAnswer } from '../../data/types';

export interface ClassRow extends RowName {
  bytes: number;
  blocks: number;
}

export interface ClassAnswer extends QuantityAnswer {
  group: string;
  rows: ClassRow[];
}
