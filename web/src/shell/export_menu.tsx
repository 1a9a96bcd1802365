// SPDX-License-Identifier: Apache-2.0
// export_menu.tsx - what is selected as a file: every format of `heaplapse export`, and the command for curl.

import { useEffect, useState } from 'preact/hooks';
import { useSource } from '../data/answers';
import type { Params } from '../data/source';
import type { Format } from '../data/types';
import { curlOf } from '../state/command';
import { question, shownRequest, state, trace } from '../state/store';
import { Popup } from '../widgets/popup';
import { Copy } from './copy_button';

export function ExportMenu() {
  const source = useSource();
  const [open, setOpen] = useState(false);
  const [formats, setFormats] = useState<Format[]>([]);
  const [error, setError] = useState('');
  useEffect(() => {
    if (!open || formats.length) return;
    source.formats().then(found => (found.ok ? setFormats(found.value) : setError(found.error)));
  }, [open]);
  if (!trace.value || trace.value.error) return null;
  return (
    <Popup title="Export" id="export" onToggle={setOpen}>
      <p>{question.value.heading}</p>
      <Copy what="curl" title="Copy as curl" hint="copy the request for the answer that is shown" text={curlText} />
      {error && <p class="failure">{error}</p>}
      <ul>
        {formats.map(one => (
          <li key={one.format}>
            <a href={addressOf(one)} download data-format={one.format}>
              {one.format}
            </a>{' '}
            <small>{one.viewer}</small>
          </li>
        ))}
      </ul>
    </Popup>
  );

  function addressOf({ format, whole_run }: Format): string {
    const request = { view: `export/${format}`, params: whole_run ? filterOnly() : question.value.params };
    return source.address(state.value.trace, request) ?? '';
  }

  function curlText(): string {
    const request = shownRequest.peek();
    const address = request && source.address(state.peek().trace, request);
    return address ? curlOf(new URL(address, location.href).href) : '';
  }
}

function filterOnly(): Params {
  const { filter } = state.value;
  return filter.trim() ? { filter: [filter.trim()] } : {};
}
