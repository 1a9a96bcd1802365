// SPDX-License-Identifier: Apache-2.0
// tree_tools.tsx - the choices that the views of trees have in common.

import { go, state } from '../../state/store';
import { Choice } from '../../widgets/choice';

const DIRECTIONS = [
  { value: 'down', title: 'top-down', hint: 'begin at the outermost frames, such as main' },
  { value: 'up', title: 'bottom-up', hint: 'begin at the frames that allocate' },
] as const;

export function DirectionChoice() {
  return (
    <Choice
      id="direction"
      label="Direction"
      options={DIRECTIONS}
      value={state.value.direction}
      onChange={direction => go({ direction, zoom: '' })}
    />
  );
}

export function LibrariesBox() {
  return (
    <CheckBox
      id="libraries"
      title="fold libraries"
      hint="show runs of frames of the C and C++ libraries as one frame, and end stacks at their call sites"
      checked={state.value.libraries === 'fold'}
      onChange={checked => go({ libraries: checked ? 'fold' : 'show', zoom: '' })}
    />
  );
}

interface CheckBoxProps {
  id: string;
  title: string;
  hint: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
}

export function CheckBox({ id, title, hint, checked, onChange }: CheckBoxProps) {
  return (
    <label class="check" title={hint}>
      <input type="checkbox" id={id} checked={checked} onChange={event => onChange(event.currentTarget.checked)} />
      {title}
    </label>
  );
}
