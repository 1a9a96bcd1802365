// SPDX-License-Identifier: Apache-2.0
// views.ts - the views of the page, in the order of their tabs. A view is a directory and a row here.

import { blocks } from './blocks/blocks';
import { flame } from './flame/flame';
import { histograms } from './histograms/histograms';
import { memory } from './memory/memory';
import { overTime } from './over_time/over_time';
import { overview } from './overview/overview';
import { processes } from './processes/processes';
import { source } from './source/source_view';
import { table } from './table/table';
import { threads } from './threads/threads';
import { tree } from './tree/tree';
import type { View } from './view';

export const views: readonly View[] = [
  overview,
  flame,
  tree,
  table,
  overTime,
  blocks,
  histograms,
  threads,
  source,
  memory,
  processes,
];

export function findView(key: string): View {
  return views.find(view => view.key === key) ?? overview;
}
