// SPDX-License-Identifier: Apache-2.0
// row_label.tsx - what a row of a table is: a frame with its source line, or a name.

import type { RowName } from '../data/series';
import { baseName } from '../text/text';
import { FrameName } from './frame_name';

// The name of a stack has more functions than its frame.
export function RowLabel({ row, group = '' }: { row: RowName; group?: string }) {
  if (group !== 'stack' && row.function !== undefined)
    return (
      <FrameName
        frame={{ function: row.function, file: row.file ?? null, line: row.line ?? 0, module: row.module ?? null }}
      />
    );
  const isPath = row.name.startsWith('/');
  return (
    <span class="name" title={row.name}>
      {isPath ? baseName(row.name) : row.name}
      {isPath && <span class="place"> {row.name.slice(0, -baseName(row.name).length)}</span>}
    </span>
  );
}
