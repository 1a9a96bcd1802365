// SPDX-License-Identifier: Apache-2.0
// size.tsx - bytes in a cell of a table; null: not known.

import { bytesText, exactBytesText } from '../../text/text';

export function Size({ bytes }: { bytes: number | null }) {
  return (
    <td class="number" data-value={bytes ?? undefined} title={bytes === null ? undefined : exactBytesText(bytes)}>
      {bytes === null ? '' : bytesText(bytes)}
    </td>
  );
}
