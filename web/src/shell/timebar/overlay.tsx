// SPDX-License-Identifier: Apache-2.0
// overlay.tsx - what a user does with the time bar: drag to select, click for a moment, drag or arrow keys at the ends,
// wheel to zoom. It is placed over curves of the visible time: those of the time bar, and those of views.

import { useRef, useState } from 'preact/hooks';
import { go, run } from '../../state/store';
import { roundTime, type Span, writeTime } from '../../state/time';
import { durationText } from '../../text/text';
import { type Grip, gripAt, shareOf, timeAt, zoom } from './span';
import { defaultMoment, select, selected, show, visible } from './use_time';

const NEAR_PX = 8;
const CLICK_PX = 4;
const FOLLOW_MS = 120; // while something is dragged, views follow at most this often
const ARROWS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1 };

interface Drag {
  grip: Grip;
  anchor: number; // the end that does not move
  startX: number;
  moved: boolean;
  pushed: boolean;
  followed: number;
}

// A place of the pointer: shares of the width and of the height, from the upper left corner.
export interface Point {
  ns: number;
  x: number;
  y: number;
}

interface Props {
  testid: string;
  cursorText: (point: Point) => string;
  onPoint?: ((point: Point | null) => void) | undefined;
}

export function Overlay({ testid, cursorText, onPoint }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const drag = useRef<Drag | null>(null);
  const [pointer, setPointer] = useState<Point | null>(null);
  const [dragged, setDragged] = useState<Span | null>(null);
  const span = dragged ?? selected.value;
  const view = visible.value;

  const shareAt = (event: MouseEvent) => {
    const r = box.current!.getBoundingClientRect();
    return (event.clientX - r.left) / Math.max(1, r.width);
  };
  const point = (event: MouseEvent | null) => {
    const r = box.current!.getBoundingClientRect();
    const x = event && Math.min(1, Math.max(0, shareAt(event)));
    const found =
      event && x !== null ? { ns: timeAt(x, view), x, y: (event.clientY - r.top) / Math.max(1, r.height) } : null;
    setPointer(found);
    onPoint?.(found);
  };
  const nsAt = (event: MouseEvent) => roundTime(timeAt(shareAt(event), view), view.to - view.from);

  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    box.current!.setPointerCapture(event.pointerId);
    const near = NEAR_PX / Math.max(1, box.current!.clientWidth);
    const grip = gripAt(shareAt(event), selected.value, view, near);
    const anchor = grip === 'from' ? selected.value!.to : grip === 'to' ? selected.value!.from : nsAt(event);
    drag.current = { grip, anchor, startX: event.clientX, moved: false, pushed: false, followed: 0 };
  };
  const onPointerMove = (event: PointerEvent) => {
    point(event);
    const d = drag.current;
    if (!d) return;
    d.moved ||= Math.abs(event.clientX - d.startX) >= CLICK_PX;
    if (!d.moved) return;
    const next = { from: d.anchor, to: nsAt(event) };
    setDragged({ from: Math.min(next.from, next.to), to: Math.max(next.from, next.to) });
    if (event.timeStamp - d.followed < FOLLOW_MS) return;
    d.followed = event.timeStamp;
    select(next, d.pushed);
    d.pushed = true;
  };
  const onPointerUp = (event: PointerEvent) => {
    const d = drag.current;
    drag.current = null;
    setDragged(null);
    if (!d) return;
    if (d.moved) select({ from: d.anchor, to: nsAt(event) }, d.pushed);
    else if (d.grip === 'new') select({ from: nsAt(event), to: nsAt(event) }, false);
  };
  const onWheel = (event: WheelEvent) => {
    event.preventDefault();
    show(zoom(view, shareAt(event), event.deltaY > 0 ? 1.25 : 0.8, run.value.duration_ns));
  };

  return (
    <div
      class="overlay"
      ref={box}
      data-testid={testid}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={onPointerUp}
      onPointerCancel={() => {
        drag.current = null;
        setDragged(null);
      }}
      onPointerLeave={() => point(null)}
      onWheel={onWheel}
    >
      <Marks view={view} />
      {span && <Selected span={span} view={view} />}
      <Handles span={span} view={view} />
      {pointer && <Cursor point={pointer} text={cursorText(pointer)} />}
    </div>
  );
}

const percent = (share: number) => `${(share * 100).toFixed(3)}%`;

function Selected({ span, view }: { span: Span; view: Span }) {
  const left = shareOf(span.from, view);
  const width = shareOf(span.to, view) - left;
  return <div class="selected-span" style={{ left: percent(left), width: percent(width) }} />;
}

function Handles({ span, view }: { span: Span | null; view: Span }) {
  const rest = defaultMoment.value;
  if (!span) return rest === null ? null : <Handle which="at" ns={rest} other={rest} view={view} rest />;
  if (span.from === span.to) return <Handle which="at" ns={span.from} other={span.from} view={view} />;
  return (
    <>
      <Handle which="from" ns={span.from} other={span.to} view={view} />
      <Handle which="to" ns={span.to} other={span.from} view={view} />
    </>
  );
}

const HANDLE_NAMES = { at: 'selected moment', from: 'begin of the selection', to: 'end of the selection' };

interface HandleProps {
  which: 'at' | 'from' | 'to';
  ns: number;
  other: number;
  view: Span;
  rest?: boolean; // nothing is selected: where an arrow key begins
}

function Handle({ which, ns, other, view, rest = false }: HandleProps) {
  const duration = run.value.duration_ns;
  const onKeyDown = (event: KeyboardEvent) => {
    const step = ARROWS[event.key];
    const part = ((view.to - view.from) / 100) * (event.shiftKey ? 10 : 1);
    const to = step ? ns + step * part : event.key === 'Home' ? 0 : event.key === 'End' ? duration : null;
    if (to === null) return;
    event.preventDefault();
    event.stopPropagation();
    const moved = roundTime(Math.min(duration, Math.max(0, to)), view.to - view.from);
    select({ from: which === 'at' ? moved : other, to: moved }, !rest);
  };
  if (ns < view.from || ns > view.to) return null;
  return (
    <div
      class={`handle ${which}${rest ? ' rest' : ''}`}
      style={{ left: percent(shareOf(ns, view)) }}
      role="slider"
      tabIndex={0}
      aria-label={rest ? 'moment; nothing is selected' : HANDLE_NAMES[which]}
      aria-valuemin={0}
      aria-valuemax={duration}
      aria-valuenow={Math.round(ns)}
      aria-valuetext={durationText(Math.round(ns))}
      onKeyDown={onKeyDown}
    />
  );
}

function Marks({ view }: { view: Span }) {
  const found = run.value.marks.filter(mark => mark.time_ns >= view.from && mark.time_ns <= view.to);
  return (
    <>
      {found.slice(0, 200).map(mark => (
        <button
          type="button"
          class="mark"
          key={`${mark.time_ns} ${mark.name}`}
          style={{ left: percent(shareOf(mark.time_ns, view)) }}
          title={`${mark.name}, ${durationText(mark.time_ns)}`}
          aria-label={`mark ${mark.name}, ${durationText(mark.time_ns)}`}
          onPointerDown={event => event.stopPropagation()}
          onClick={() => go({ time: markTime(mark) })}
        />
      ))}
    </>
  );
}

// Only the first mark of a name can be written by its name; names with spaces or dots are written as times.
function markTime(mark: { name: string; time_ns: number }): string {
  const first = run.peek().marks.find(one => one.name === mark.name);
  return first === mark && /^[\w-]+$/.test(mark.name) ? `@mark:${mark.name}` : writeTime(mark.time_ns);
}

function Cursor({ point, text }: { point: Point; text: string }) {
  return (
    <div class={`cursor${point.x > 0.7 ? ' left' : ''}`} style={{ left: percent(point.x) }}>
      <span>{text}</span>
    </div>
  );
}
