// SPDX-License-Identifier: Apache-2.0
// verdicts.tsx - the sentences about typical problems. Their rules are those of docs/numbers.md; the page adds none.

import type { State } from '../../state/fields';
import { addTerm } from '../../state/filter';
import { linkTo, state } from '../../state/store';
import type { Verdict } from './overview_types';

export function Verdicts({ verdicts }: { verdicts: Verdict[] }) {
  if (!verdicts.length) return null;
  return (
    <ul class="verdicts">
      {verdicts.map(verdict => (
        <li key={verdict.text} data-verdict={verdict.kind}>
          <span class="sign" aria-hidden="true">
            ▲
          </span>
          {verdict.text}{' '}
          {verdict.options !== null && (
            <a href={linkTo(placeOf(verdict))} title={`heaplapse report ${verdict.options}`}>
              show
            </a>
          )}
        </li>
      ))}
    </ul>
  );
}

// The part of the page with the blocks of the command of a verdict.
function placeOf({ kind, options }: Verdict): Partial<State> {
  const sites: Partial<State> = { view: 'table', group: 'site', time: '', sort: '' };
  const growth = /--growth (\S+)/.exec(options ?? '')?.[1];
  const lifetime = /--temporary=(\w+)/.exec(options ?? '')?.[1];
  switch (kind) {
    case 'growing':
      return { ...sites, quantity: 'growth', time: growth ?? '' };
    case 'short_lived': {
      const filter = lifetime ? addTerm(state.value.filter, `life:<${lifetime}`) : state.value.filter;
      return { ...sites, quantity: lifetime ? 'allocated' : 'temporary', unit: 'blocks', filter };
    }
    case 'allocated':
      return { ...sites, quantity: 'allocated' };
    default:
      return { view: 'memory', memoryPart: 'fragmentation', quantity: 'live', time: '@end' };
  }
}
