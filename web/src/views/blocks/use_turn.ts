// SPDX-License-Identifier: Apache-2.0
// use_turn.ts - answers for many small plots: a few questions at a time, so that they do not take all of the server.

import { useEffect, useState } from 'preact/hooks';
import { useSource } from '../../data/answers';
import { type Request, requestKey } from '../../data/source';
import { shownRevision, state } from '../../state/store';

const AT_ONCE = 2;
const waiting: (() => void)[] = [];
let running = 0;

async function takeTurn(signal: AbortSignal): Promise<boolean> {
  if (running >= AT_ONCE) await new Promise<void>(resolve => waiting.push(resolve));
  running++;
  return !signal.aborted;
}

function endTurn(): void {
  running--;
  waiting.shift()?.();
}

// null: not there yet, or an error; a plot that is missing is no reason for a message.
export function useTurn<T>(request: Request): T | null {
  const source = useSource();
  const [value, setValue] = useState<T | null>(null);
  const { trace } = state.value;
  const revision = shownRevision.value;
  useEffect(() => {
    const abort = new AbortController();
    const run = async () => {
      if (await takeTurn(abort.signal)) {
        const outcome = await source.ask<T>(trace, request, { signal: abort.signal, onProgress: () => {} });
        if (!abort.signal.aborted) setValue(outcome.ok ? outcome.value : null);
      }
      endTurn();
    };
    run();
    return () => abort.abort();
  }, [trace, revision, requestKey(request)]);
  return value;
}
