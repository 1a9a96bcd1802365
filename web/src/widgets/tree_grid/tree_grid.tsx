// SPDX-License-Identifier: Apache-2.0
// tree_grid.tsx - a tree as a table whose rows open. Only the rows that are in sight are in the page.

import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { TreeNode } from '../../data/tree';
import { countText, exactBytesText, percentText, type Unit, unitText } from '../../text/text';
import { Bar } from '../bar';
import { FrameName } from '../frame_name';
import { partOf } from '../virtual';
import { carryOver, close, firstShown, type Open, openChain, openRows, pressTree, type Shown } from './rows';

const ROW = 24; // px
const HEIGHT_MAX = 640; // px
const INDENT = 14; // px of a level
const INDENT_MAX = 40; // levels

interface Props {
  root: TreeNode;
  unit: Unit;
  label: string;
  nameTitle: string;
  withSelf: boolean;
  onFocus: (node: TreeNode | null) => void;
}

export function TreeGrid({ root, unit, label, nameTitle, withSelf, onFocus }: Props) {
  const [kept, setKept] = useState<Shown>(() => firstShown(root));
  const shown = useMemo(() => (kept.root === root ? kept : carryOver(kept, root)), [kept, root]);
  const { open, focused } = shown;
  const [top, setTop] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const rows = openRows(root, open);
  const height = Math.min(HEIGHT_MAX, (rows.length + 1) * ROW + 2);
  const focusedRow = Math.max(0, focused ? rows.indexOf(focused) : 0);
  const part = partOf({ count: rows.length, height: ROW, open: -1, openHeight: 0 }, top, height);

  useLayoutEffect(() => {
    if (!focused) return;
    const { scrollTop, clientHeight } = box.current!;
    const y = focusedRow * ROW;
    if (y < scrollTop) box.current!.scrollTop = y;
    else if (y + 2 * ROW > scrollTop + clientHeight) box.current!.scrollTop = y + 2 * ROW - clientHeight;
  }, [focusedRow, focused]);

  useLayoutEffect(() => {
    if (shown === kept) return;
    setKept(shown);
    onFocus(shown.focused);
  }, [shown, kept]);

  const show = (nowOpen: Open, node: TreeNode) => {
    setKept({ root, open: nowOpen, focused: node });
    onFocus(node);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moved = pressTree(event.key, rows, open, rows[focusedRow]!, Math.floor(height / ROW) - 2);
    if (!moved) return;
    event.preventDefault();
    event.stopPropagation();
    show(moved.open, moved.focused);
  };
  const toggle = (node: TreeNode) => {
    if (!node.children.length) show(open, node);
    else show(open.has(node) ? close(open, node) : openChain(open, node), node);
  };

  return (
    <div
      class="tree-grid"
      ref={box}
      style={{ height: `${height}px` }}
      onScroll={event => setTop(event.currentTarget.scrollTop)}
    >
      <table
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a treegrid is a table
        role="treegrid"
        tabIndex={0}
        aria-label={label}
        aria-rowcount={rows.length + 1}
        aria-activedescendant={`tree-row-${focusedRow}`}
        onKeyDown={onKeyDown}
      >
        <thead>
          <tr aria-rowindex={1}>
            <th scope="col" class="number">
              Share
            </th>
            <td class="bar-cell" />
            <th scope="col" class="number">
              Bytes
            </th>
            <th scope="col" class="number">
              Blocks
            </th>
            {withSelf && (
              <th scope="col" class="number self" title="allocated by the function itself">
                Itself
              </th>
            )}
            <th scope="col">{nameTitle}</th>
          </tr>
        </thead>
        <tbody>
          <Gap px={part.before} />
          {rows.slice(part.first, part.end).map((node, i) => (
            <Row
              key={part.first + i}
              node={node}
              index={part.first + i}
              root={root}
              unit={unit}
              isOpen={open.has(node)}
              isFocused={focusedRow === part.first + i && focused !== null}
              withSelf={withSelf}
              onClick={() => toggle(node)}
            />
          ))}
          <Gap px={part.after} />
        </tbody>
      </table>
    </div>
  );
}

// The place of rows that are not in sight.
function Gap({ px }: { px: number }) {
  return px > 0 ? <tr class="gap" style={{ height: `${px}px` }} /> : null;
}

interface RowProps {
  node: TreeNode;
  index: number;
  root: TreeNode;
  unit: Unit;
  isOpen: boolean;
  isFocused: boolean;
  withSelf: boolean;
  onClick: () => void;
}

function Row({ node, index, root, unit, isOpen, isFocused, withSelf, onClick }: RowProps) {
  const opens = node.children.length > 0;
  return (
    <tr
      id={`tree-row-${index}`}
      class={isFocused ? 'focused' : undefined}
      aria-level={node.depth}
      aria-rowindex={index + 2}
      aria-expanded={opens ? isOpen : undefined}
      data-bytes={node.bytes}
      data-blocks={node.blocks}
      onClick={onClick}
    >
      <td class="number">{percentText(node[unit], root[unit])}</td>
      <td class="bar-cell">
        <Bar part={node[unit]} whole={root[unit]} />
      </td>
      <td class="number" title={exactBytesText(node.bytes)}>
        {unitText(node.bytes, 'bytes')}
      </td>
      <td class="number">{countText(node.blocks)}</td>
      {withSelf && (
        <td class="number self" title={exactBytesText(node.self_bytes)}>
          {node.self_blocks ? unitText(node[`self_${unit}`], unit) : ''}
        </td>
      )}
      <td class="tree-name">
        <span style={{ paddingLeft: `${Math.min(node.depth - 1, INDENT_MAX) * INDENT}px` }} />
        <span class="twist" aria-hidden="true">
          {opens ? (isOpen ? '▾' : '▸') : ''}
        </span>
        <FrameName frame={node.frame!} />
      </td>
    </tr>
  );
}
