// SPDX-License-Identifier: Apache-2.0
// header.tsx - which program is shown, and what belongs to the whole page: trace, theme, copies of the address.

import { useEffect } from 'preact/hooks';
import { commandOf } from '../state/command';
import { following, go, running, shownRequest, trace, traces } from '../state/store';
import { setTheme, theme } from '../state/theme';
import { baseName, durationText, plural } from '../text/text';
import { Copy } from './copy_button';
import { ExportMenu } from './export_menu';

export function Header() {
  const shown = trace.value;
  useEffect(() => {
    document.title = shown?.program ? `${baseName(shown.program)} – heaplapse` : 'heaplapse';
  }, [shown?.program]);
  return (
    <header>
      <span class="product">heaplapse</span>
      {shown?.program !== undefined && (
        <>
          <strong class="program" title={shown.program}>
            {baseName(shown.program)}
          </strong>
          <span class="facts" data-testid="facts">
            <span>pid {shown.pid}</span>
            <span data-testid="duration">{durationText(shown.duration_ns ?? 0)}</span>
            {shown.totals?.allocations != null && (
              <span data-testid="allocations" data-value={shown.totals.allocations}>
                {plural(shown.totals.allocations, 'allocation')}
              </span>
            )}
            {shown.mode !== 'trace' && <span>mode {shown.mode}</span>}
          </span>
        </>
      )}
      {running.value && (
        <span class="badge" data-testid="live">
          {following.value ? '● live' : '● live, paused'}
        </span>
      )}
      {shown?.deleted && <span class="badge warn">the file is deleted</span>}
      {shown?.complete === false && !running.value && <span class="badge warn">incomplete trace</span>}
      <TraceSwitcher />
      <span class="end">
        <Copy what="link" title="Copy link" hint="copy the address of what is shown" text={() => location.href} />
        <Copy
          what="command"
          title="Copy as command"
          hint="copy the command that prints the same numbers"
          text={commandText}
        />
        <ExportMenu />
        <button
          type="button"
          aria-label={theme.value === 'dark' ? 'Light colours' : 'Dark colours'}
          title={theme.value === 'dark' ? 'light colours' : 'dark colours'}
          onClick={() => setTheme(theme.value === 'dark' ? 'light' : 'dark')}
        >
          {theme.value === 'dark' ? '☀' : '☾'}
        </button>
      </span>
    </header>
  );
}

function commandText(): string {
  const request = shownRequest.peek();
  const shown = trace.peek();
  return request && shown ? commandOf(shown.trace, request) : '';
}

function TraceSwitcher() {
  const all = traces.value;
  if (all.length < 2) return null;
  return (
    <select
      aria-label="Trace"
      id="trace"
      value={String(trace.value?.id ?? '')}
      onChange={event => go({ trace: Number(event.currentTarget.value), time: '', window: '' })}
    >
      {all.map(one => (
        <option key={one.id} value={String(one.id)}>
          {one.trace}
          {one.error ? ' (cannot be read)' : one.running ? ' (running)' : ''}
        </option>
      ))}
    </select>
  );
}
