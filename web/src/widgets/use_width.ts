// SPDX-License-Identifier: Apache-2.0
// use_width.ts - the width of an element in px, as it changes. 0: not known yet.

import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const update = () => setWidth(Math.floor(element.current?.clientWidth ?? 0));
    const observer = new ResizeObserver(update);
    observer.observe(element.current!);
    update();
    return () => observer.disconnect();
  }, []);
  return width;
}
