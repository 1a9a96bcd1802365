// SPDX-License-Identifier: Apache-2.0
// controls.tsx - controls the recording of a running program, as `heaplapse ctl` does. Nothing is shown for others.

import { useEffect, useState } from 'preact/hooks';
import { useSource } from '../data/answers';
import { running, state, trace } from '../state/store';
import { refreshTraces, setControl } from '../state/traces';

const STATES: Record<string, string> = { recording: 'recording', paused: 'paused', stopped: 'stopped' };
const VERBS: Record<string, [string, string][]> = {
  recording: [
    ['pause', 'Pause'],
    ['stop', 'Stop'],
  ],
  paused: [
    ['resume', 'Resume'],
    ['stop', 'Stop'],
  ],
  stopped: [['resume', 'Start']],
};
const PENDING_MS = 500;
const MODES = ['trace', 'cull', 'count', 'sample'];

export function Controls() {
  const source = useSource();
  const [error, setError] = useState('');
  const [label, setLabel] = useState('');
  const control = trace.value?.control;
  const pending = control?.pending ?? null;
  // A trace that does not grow has no events.
  useEffect(() => {
    if (!pending) return;
    const timer = setInterval(() => refreshTraces(source), PENDING_MS);
    return () => clearInterval(timer);
  }, [pending, source]);
  if (!running.value || !control) return null;
  if (!control.controllable) return <p class="recording total">{control.reason}</p>;
  const send = async (verb: string, params: Record<string, string> = {}) => {
    const id = state.peek().trace;
    const done = await source.control(id, verb, params);
    setError(done.ok ? '' : done.error);
    if (done.ok) setControl(id, done.value);
  };
  return (
    <div class="recording" data-testid="controls" data-state={control.state ?? ''}>
      <span role="status">
        {STATES[control.state ?? ''] ?? ''}
        {control.pending && `, ${control.pending}s at its next allocation`}
      </span>
      {(VERBS[control.state ?? ''] ?? []).map(([verb, title]) => (
        <button type="button" key={verb} data-verb={verb} onClick={() => send(verb)}>
          {title}
        </button>
      ))}
      <label>
        mode{' '}
        <select
          id="mode"
          value={trace.value?.mode}
          onChange={event => send('mode', { mode: event.currentTarget.value })}
        >
          {MODES.map(mode => (
            <option key={mode}>{mode}</option>
          ))}
        </select>
      </label>
      <button type="button" data-verb="snapshot" onClick={() => send('snapshot')}>
        Snapshot
      </button>
      <form
        onSubmit={event => {
          event.preventDefault();
          if (label) send('mark', { label }).then(() => setLabel(''));
        }}
      >
        <input
          aria-label="Label of a mark"
          placeholder="mark"
          maxLength={200}
          value={label}
          onInput={event => setLabel(event.currentTarget.value)}
        />
        <button type="submit" data-verb="mark" disabled={!label}>
          Mark
        </button>
      </form>
      {error && (
        <span class="failure" role="alert">
          {error}
        </span>
      )}
    </div>
  );
}
