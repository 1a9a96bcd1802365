// SPDX-License-Identifier: Apache-2.0
// copy_button.tsx - a button that copies a text, and says whether it could.

import { useState } from 'preact/hooks';
import { copyText } from './copy';

const COPIED_MS = 1500;

interface Props {
  what: string;
  title: string;
  hint: string;
  text: () => string;
}

export function Copy({ what, title, hint, text }: Props) {
  const [state, setState] = useState('');
  const onClick = async () => {
    const copied = await copyText(text());
    setState(copied ? 'copied' : 'not copied');
    setTimeout(() => setState(''), COPIED_MS);
  };
  return (
    <button type="button" class="copy" onClick={onClick} title={hint} data-copy={what}>
      <span class={state ? 'hidden' : ''}>{title}</span>
      <span role="status" class="said">
        {state}
      </span>
    </button>
  );
}
