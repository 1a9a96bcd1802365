// SPDX-License-Identifier: Apache-2.0
// views.ts - the views of the page, in the order of their tabs. A view is a directory and a row here.

import { flame } from './flame/flame';
import { overview } from './overview/overview';
import { table } from './table/table';
import { tree } from './tree/tree';
import type { View } from './view';

export const views: readonly View[] = [overview, table, flame, tree];

export function findView(key: string): View {
  return views.find(view => view.key === key) ?? overview;
}
