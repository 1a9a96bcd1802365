// SPDX-License-Identifier: Apache-2.0
// flame_tools.tsx - how the flame graph is drawn.

import { go, linkTo, state } from '../../state/store';
import { Choice } from '../../widgets/choice';
import { CheckBox, DirectionChoice, LibrariesBox } from '../tree/tree_tools';

const PICTURES = [
  { value: 'icicle', title: 'icicle', hint: 'the first frames on top' },
  { value: 'flame', title: 'flame', hint: 'the first frames at the bottom' },
] as const;

export function FlameTools() {
  const { picture, recursion, around } = state.value;
  return (
    <div class="tools">
      {!around && <DirectionChoice />}
      <Choice
        id="picture"
        label="Picture"
        options={PICTURES}
        value={picture}
        onChange={next => go({ picture: next })}
      />
      <LibrariesBox />
      <CheckBox
        id="recursion"
        title="merge recursion"
        hint="show a function that calls itself directly as one frame"
        checked={recursion === 'merge'}
        onChange={checked => go({ recursion: checked ? 'merge' : 'show', zoom: '' })}
      />
      <span class="legend">
        <span class="key owner-program">program</span>
        <span class="key owner-library">libraries</span>
        <span class="key owner-runtime">runtime libraries</span>
      </span>
      <a class="as-table" href={linkTo({ view: 'tree' })}>
        view as table
      </a>
    </div>
  );
}
