// SPDX-License-Identifier: Apache-2.0
// bar.tsx - a share as a bar; the number is beside it, so the bar is not read aloud.

export function Bar({ part, whole }: { part: number; whole: number }) {
  const percent = whole > 0 ? Math.min(100, (part * 100) / whole) : 0;
  return (
    <span class="bar" aria-hidden="true">
      <span style={{ width: `${percent}%` }} />
    </span>
  );
}
