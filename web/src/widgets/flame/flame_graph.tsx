// SPDX-License-Identifier: Apache-2.0
// flame_graph.tsx - a flame graph on a canvas, operated by pointer and keys. What is zoomed and which frame is focused
// belongs to its owner.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { TreeNode } from '../../data/tree';
import { theme } from '../../state/theme';
import type { Unit } from '../../text/text';
import { useWidth } from '../use_width';
import { drawFlame, heightOf, rowAt, rowY } from './draw';
import { type Box, boxAt, boxBeside, boxOf, layOut, ROW, type Step } from './layout';

interface Props {
  zoomed: TreeNode;
  focused: TreeNode;
  unit: Unit;
  upward: boolean;
  rootText: string;
  label: string;
  found: readonly TreeNode[];
  searching: boolean;
  textOf: (node: TreeNode) => string; // for the tooltip, and for people who do not see the graph
  onFocus: (node: TreeNode) => void;
  onZoom: (node: TreeNode) => void;
  onKey: (key: string) => boolean; // other keys; true: it was one
}

const STEPS: Record<string, [icicle: Step, flame: Step]> = {
  ArrowDown: ['callee', 'caller'],
  ArrowUp: ['caller', 'callee'],
  ArrowLeft: ['left', 'left'],
  ArrowRight: ['right', 'right'],
};

export function FlameGraph(props: Props) {
  const { zoomed, focused, unit, upward, found, textOf, onFocus, onZoom } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const application = useRef<HTMLDivElement>(null);
  const mark = useRef<HTMLSpanElement>(null);
  const width = useWidth(box);
  const shownTheme = theme.value;
  const [hovered, setHovered] = useState<{ box: Box; x: number; y: number } | null>(null);
  const layout = useMemo(() => layOut(zoomed, unit, width), [zoomed, unit, width]);
  const foundSet = useMemo(() => new Set(found), [found]);
  const focusedBox = boxOf(layout, focused) ?? boxOf(layout, zoomed);

  useEffect(() => setHovered(null), [layout, upward]);
  useLayoutEffect(() => {
    if (width <= 0) return;
    drawFlame(canvas.current!, {
      layout,
      upward,
      width,
      rootText: props.rootText,
      focused: focusedBox,
      hovered: hovered?.box,
      found: foundSet,
      searching: props.searching,
    });
  }, [layout, upward, width, focusedBox, hovered?.box, foundSet, props.searching, props.rootText, shownTheme]);

  // A moved focus stays in sight; and of a graph whose root is at the bottom, that is shown first.
  useLayoutEffect(() => {
    if (hasKeys() || (upward && width > 0)) mark.current?.scrollIntoView({ block: 'nearest' });
  }, [focused, upward, width > 0]);
  const hasKeys = () => document.activeElement === application.current;

  const boxUnder = (event: MouseEvent) => {
    const place = canvas.current!.getBoundingClientRect();
    return boxAt(layout, rowAt(layout, event.clientY - place.top, upward), event.clientX - place.left);
  };
  const onPointerMove = (event: PointerEvent) => {
    const under = boxUnder(event);
    const place = canvas.current!.getBoundingClientRect();
    setHovered(under ? { box: under, x: event.clientX - place.left, y: event.clientY - place.top } : null);
  };
  const onClick = (event: MouseEvent) => {
    const under = boxUnder(event);
    if (under) onZoom(under.node);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !press(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  const press = (key: string): boolean => {
    const step = STEPS[key]?.[upward ? 1 : 0];
    if (step) {
      const next = focusedBox && boxBeside(layout, focusedBox, step);
      if (next) onFocus(next.node);
      return true;
    }
    if (key === 'Enter' || key === ' ') onZoom(focused);
    else if (key === 'Escape' || key === 'Backspace') {
      if (!zoomed.parent) return key === 'Backspace';
      onZoom(zoomed.parent);
    } else if (key === 'Home') onFocus(layout.rows[0]![0]!.node);
    else return props.onKey(key);
    return true;
  };

  const height = heightOf(layout);
  return (
    <div class="flame" ref={box}>
      <div
        class="flame-box"
        ref={application}
        role="application"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: an application takes the keys that its label names
        tabIndex={0}
        aria-label={props.label}
        data-testid="flame"
        data-rows={layout.rows.length}
        style={{ height: `${height}px` }}
        onKeyDown={onKeyDown}
        onClick={onClick}
        onPointerMove={onPointerMove}
        onPointerLeave={() => setHovered(null)}
      >
        <canvas ref={canvas} style={{ width: `${width}px`, height: `${height}px` }} />
        {focusedBox && (
          <span
            class="flame-focus"
            ref={mark}
            data-testid="flame-focus"
            style={{
              left: `${focusedBox.x}px`,
              top: `${rowY(layout, focusedBox.row, upward)}px`,
              width: `${focusedBox.width}px`,
              height: `${ROW}px`,
            }}
          />
        )}
        {hovered && <Tip text={textOf(hovered.box.node)} x={hovered.x} y={hovered.y} width={width} />}
      </div>
      {layout.rowsLeftOut && <p class="note">The stacks are deeper than the picture: zoom in to see the rest.</p>}
    </div>
  );
}

const TIP_WIDTH = 360;

function Tip({ text, x, y, width }: { text: string; x: number; y: number; width: number }) {
  const room = Math.min(TIP_WIDTH, width);
  return (
    <div
      class="tip"
      role="presentation"
      style={{ left: `${Math.max(0, Math.min(x + 12, width - room))}px`, top: `${y + 18}px`, maxWidth: `${room}px` }}
    >
      {text}
    </div>
  );
}
