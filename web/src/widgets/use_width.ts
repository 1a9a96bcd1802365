// SPDX-License-Identifier: Apache-2.0
// use_width.ts - the width or the height of an element in px, as it changes. 0: not known yet.

import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

export function useWidth(element: RefObject<HTMLElement | null>): number {
  return useSize(element, one => one.clientWidth);
}

export function useHeight(element: RefObject<HTMLElement | null>): number {
  return useSize(element, one => one.clientHeight);
}

function useSize(element: RefObject<HTMLElement | null>, measure: (element: HTMLElement) => number): number {
  const [size, setSize] = useState(0);
  useLayoutEffect(() => {
    const update = () => setSize(element.current ? Math.floor(measure(element.current)) : 0);
    const observer = new ResizeObserver(update);
    observer.observe(element.current!);
    update();
    return () => observer.disconnect();
  }, []);
  return size;
}
