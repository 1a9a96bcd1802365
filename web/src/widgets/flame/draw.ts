// SPDX-License-Identifier: Apache-2.0
// draw.ts - draws a laid out flame graph. Colours are those of `export -f svg` and `-f html`: whose code a frame is,
// and within that range a colour of its own for each function.

import type { Owner } from '../../data/tree';
import { frameText } from '../frame_name';
import { labelText } from './label';
import { type Box, type Layout, ROW } from './layout';

const FONT_SIZE = 12;
const MARGIN = 4;

export interface Drawn {
  layout: Layout;
  upward: boolean; // the root is at the bottom
  width: number;
  rootText: string;
  focused: Box | undefined;
  hovered: Box | undefined;
  found: ReadonlySet<object>; // nodes
  searching: boolean;
}

interface Style {
  font: string;
  letter: number; // px
  color: (name: string) => string;
}

export function heightOf(layout: Layout): number {
  return layout.rows.length * ROW;
}

export function rowY(layout: Layout, row: number, upward: boolean): number {
  return (upward ? layout.rows.length - 1 - row : row) * ROW;
}

export function rowAt(layout: Layout, y: number, upward: boolean): number {
  const row = Math.floor(y / ROW);
  return upward ? layout.rows.length - 1 - row : row;
}

export function drawFlame(canvas: HTMLCanvasElement, drawn: Drawn): void {
  const { layout, width } = drawn;
  const height = heightOf(layout);
  const scale = Math.min(window.devicePixelRatio || 1, 32000 / Math.max(height, 1));
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext('2d')!;
  context.scale(scale, scale);
  const style = styleOf(canvas, context);
  for (const row of layout.rows) for (const box of row) drawBox(context, box, drawn, style);
  for (const box of [drawn.hovered, drawn.focused])
    if (box) drawOutline(context, box, drawn, style, box === drawn.focused);
}

function styleOf(canvas: HTMLCanvasElement, context: CanvasRenderingContext2D): Style {
  const computed = getComputedStyle(canvas);
  const font = `${FONT_SIZE}px ${computed.fontFamily}`;
  context.font = font;
  context.textBaseline = 'middle';
  const colors = new Map<string, string>();
  const color = (name: string) => {
    const known = colors.get(name) ?? computed.getPropertyValue(name).trim();
    colors.set(name, known);
    return known;
  };
  return { font, letter: context.measureText('0').width, color };
}

function drawBox(context: CanvasRenderingContext2D, box: Box, drawn: Drawn, style: Style): void {
  const y = rowY(drawn.layout, box.row, drawn.upward);
  const width = Math.max(box.width - (box.width > 3 ? 1 : 0), 0.5);
  const isFound = drawn.found.has(box.node);
  context.globalAlpha = box.above || (drawn.searching && !isFound && box.node.frame) ? 0.55 : 1;
  context.fillStyle = isFound ? style.color('--hit') : fillOf(box, style);
  context.fillRect(box.x, y, width, ROW - 1);
  const name = box.node.frame ? frameText(box.node.frame) : drawn.rootText;
  const label = labelText(name, Math.floor((width - 2 * MARGIN) / style.letter));
  if (label) {
    context.globalAlpha = 1;
    context.fillStyle = style.color(isFound ? '--hit-ink' : box.node.frame && !isGrey(box) ? '--frame-ink' : '--ink');
    context.fillText(label, box.x + MARGIN, y + ROW / 2);
  }
  context.globalAlpha = 1;
}

function isGrey(box: Box): boolean {
  const owner = box.node.frame!.owner;
  return owner === 'called' || owner === 'unknown' || owner === 'group';
}

const HUES: Partial<Record<Owner, [from: number, hues: number, kind: string]>> = {
  program: [14, 32, 'frame'],
  library: [198, 26, 'library'],
  runtime: [146, 26, 'library'],
};

function fillOf(box: Box, style: Style): string {
  const { frame } = box.node;
  if (!frame) return style.color('--rule');
  const range = HUES[frame.owner];
  if (!range) return style.color('--called');
  const [from, hues, kind] = range;
  const hue = from + (hues * variationOf(frame.function ?? '')) / 1000;
  return `hsl(${hue.toFixed(1)} ${style.color(`--${kind}-s`)} ${style.color(`--${kind}-l`)})`;
}

// From 0 to 999, as in src/views/export/svg.c.
export function variationOf(name: string): number {
  let hash = 7;
  for (const byte of new TextEncoder().encode(name)) hash = (Math.imul(hash, 31) + byte) >>> 0;
  return hash % 1000;
}

function drawOutline(
  context: CanvasRenderingContext2D,
  box: Box,
  drawn: Drawn,
  style: Style,
  isFocused: boolean,
): void {
  const y = rowY(drawn.layout, box.row, drawn.upward);
  context.strokeStyle = style.color(isFocused ? '--accent' : '--ink');
  context.lineWidth = isFocused ? 2.5 : 1;
  const inset = isFocused ? 1.25 : 0.5;
  context.strokeRect(box.x + inset, y + inset, Math.max(box.width - 1 - 2 * inset, 1), ROW - 1 - 2 * inset);
}
