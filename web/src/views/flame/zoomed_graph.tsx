// SPDX-License-Identifier: Apache-2.0
// zoomed_graph.tsx - a flame graph with what belongs to it: the path to the zoomed frame, the search, the facts about
// the focused frame.

import { useEffect, useMemo, useState } from 'preact/hooks';
import { pathTo, type TreeAnswer, type TreeNode, treeOf } from '../../data/tree';
import { go, linkTo, state } from '../../state/store';
import { percentText, unitText } from '../../text/text';
import { FlameGraph } from '../../widgets/flame/flame_graph';
import { findPath, writePath } from '../../widgets/flame/path';
import { mergeRecursion } from '../../widgets/flame/recursion';
import { findFrames } from '../../widgets/flame/search';
import { frameText } from '../../widgets/frame_name';
import { magnified } from './flame_request';
import { FocusedFrame, isFunction, nodeText } from './focused_frame';
import { Search } from './search';

export type Part = 'whole' | 'callers' | 'callees';

const FOUR = 4; // in steps, so that most zooms need no other answer
const LABELS: Record<Part, string> = { whole: 'Flame graph', callers: 'Callers', callees: 'Callees' };
const KEYS =
  'arrow keys move the focused frame, Enter zooms, Escape or Backspace zooms out, n and N go to the next and the previous match, s shows callers and callees';

export function ZoomedGraph({ value, part }: { value: TreeAnswer; part: Part }) {
  const { unit, zoom, recursion, picture, find } = state.value;
  const root = useMemo(() => {
    const tree = treeOf(value);
    return recursion === 'merge' ? mergeRecursion(tree, unit) : tree;
  }, [value, recursion, unit]);
  const [localZoom, setLocalZoom] = useState(''); // of callers and callees
  const zoomed = useMemo(() => findPath(root, part === 'whole' ? zoom : localZoom), [root, zoom, localZoom, part]);
  const [focusPath, setFocusPath] = useState<string | null>(null);
  const focused = useMemo(() => (focusPath === null ? zoomed : findPath(root, focusPath)), [root, focusPath, zoomed]);
  const found = useMemo(() => findFrames(root, find), [root, find]);
  const upward = part === 'callers' ? picture === 'icicle' : picture === 'flame';

  useEffect(() => {
    if (part === 'whole' && zoomed.parent) magnified.value = magnification(root[unit], zoomed[unit]);
  }, [zoomed, root, unit]);

  const setZoom = (node: TreeNode) => {
    setFocusPath(writePath(node));
    if (part === 'whole') go({ zoom: writePath(node) });
    else setLocalZoom(writePath(node));
  };
  const onKey = (key: string): boolean => {
    if (key === 's' && isFunction(focused)) go({ around: focused.frame!.function!, zoom: '' });
    else if ((key === 'n' || key === 'N') && found.length) {
      const step = key === 'n' ? 1 : -1;
      const at = found.indexOf(focused);
      const next = found[(at < 0 && step < 0 ? found.length - 1 : at + step + found.length) % found.length]!;
      setFocusPath(writePath(next));
      if (!pathTo(next).includes(zoomed)) setZoomRoot();
    } else return false;
    return true;
  };
  const setZoomRoot = () => (part === 'whole' ? go({ zoom: '' }) : setLocalZoom(''));

  return (
    <>
      <Path zoomed={zoomed} onZoom={setZoom} part={part} />
      {part === 'whole' && <Search value={value} found={found} onNext={key => onKey(key)} />}
      <FlameGraph
        zoomed={zoomed}
        focused={focused}
        unit={unit}
        upward={upward}
        rootText={`all: ${unitText(root[unit], unit)}${unit === 'blocks' ? ' blocks' : ''}`}
        label={`${LABELS[part]}: ${KEYS}`}
        found={found}
        searching={find.trim() !== ''}
        textOf={node => nodeText(node, root, unit)}
        onFocus={node => setFocusPath(writePath(node))}
        onZoom={setZoom}
        onKey={onKey}
      />
      <FocusedFrame node={focused} root={root} />
    </>
  );
}

function magnification(whole: number, part: number): number {
  const times = whole / Math.max(part, 1);
  return FOUR ** Math.ceil(Math.log(Math.max(times, 1)) / Math.log(FOUR) - 1e-9);
}

const PATH_SHOWN = 8; // frames of the path; of longer ones the first and the last

function Path({ zoomed, onZoom, part }: { zoomed: TreeNode; onZoom: (node: TreeNode) => void; part: Part }) {
  const path = pathTo(zoomed);
  const hidden = Math.max(0, path.length - PATH_SHOWN);
  const shown = path.filter((_, i) => i === 0 || i > hidden);
  const { unit } = state.value;
  return (
    <nav class="flame-path" aria-label="The zoomed frame and its callers">
      {shown.map((node, i) => (
        <span key={i}>
          {i > 0 && <span aria-hidden="true"> ▸ {i === 1 && hidden > 0 ? '… ▸ ' : ''}</span>}
          {node === zoomed ? (
            <span aria-current="location">{stepText(node)}</span>
          ) : (
            <a
              href={part === 'whole' ? linkTo({ zoom: writePath(node) }) : '#'}
              onClick={event => {
                event.preventDefault();
                onZoom(node);
              }}
            >
              {stepText(node)}
            </a>
          )}
        </span>
      ))}
      {zoomed.parent && (
        <span class="dim">
          {' '}
          {unitText(zoomed[unit], unit)}, {percentText(zoomed[unit], path[0]![unit])} of all
        </span>
      )}
    </nav>
  );
}

function stepText(node: TreeNode): string {
  return node.frame ? frameText(node.frame) : 'all';
}
