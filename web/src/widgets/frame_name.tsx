// SPDX-License-Identifier: Apache-2.0
// frame_name.tsx - a function with its source line. Names are of the program: text, never markup.

import type { Frame } from '../data/types';
import { baseName } from '../text/text';

export function frameText(frame: Frame): string {
  return frame.function ?? (frame.module ? `[${baseName(frame.module)}]` : '[no stack]');
}

export function placeText(frame: Frame): string {
  if (frame.file) return frame.line ? `${baseName(frame.file)}:${frame.line}` : baseName(frame.file);
  return frame.module ? baseName(frame.module) : '';
}

function fullText(frame: Frame): string {
  const place = frame.file ? `${frame.file}${frame.line ? `:${frame.line}` : ''}` : '';
  return [frameText(frame), place, frame.module].filter(Boolean).join('\n');
}

export function FrameName({ frame }: { frame: Frame }) {
  return (
    <span class="frame-name" title={fullText(frame)}>
      <span class="function">{frameText(frame)}</span> <span class="place">{placeText(frame)}</span>
    </span>
  );
}
