// SPDX-License-Identifier: Apache-2.0
// tree_limit.ts - how many nodes of a tree are asked for. An answer has at most 2 MB; nodes beyond that are those at
// the end of the list, not the smallest ones. So if long names fill it, fewer nodes are asked for.

import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Answered } from '../../data/answers';
import type { TreeAnswer } from '../../data/tree';

const ROWS_MAX = 4000;
const ROWS_LEAST = 200;
export const rowsMost = signal(ROWS_MAX);

export function useFewer({ value, waiting }: Answered<TreeAnswer>): void {
  useEffect(() => {
    if (waiting || value?.truncated?.by !== 'max-bytes') return;
    const fewer = Math.max(ROWS_LEAST, Math.floor(value.nodes.length * 0.8));
    if (fewer < rowsMost.peek()) rowsMost.value = fewer;
  }, [value, waiting]);
}
