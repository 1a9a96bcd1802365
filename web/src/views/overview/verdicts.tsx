// SPDX-License-Identifier: Apache-2.0
// verdicts.tsx - the sentences about typical problems. Their rules are those of docs/numbers.md; the page adds none.

import type { State } from '../../state/fields';
import { linkTo } from '../../state/store';
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

// Where the page shows what a verdict says.
function placeOf({ kind }: Verdict): Partial<State> {
  switch (kind) {
    case 'growing':
      return { view: 'table', group: 'site', quantity: 'growth', time: '', sort: '' };
    case 'short_lived':
      return { view: 'table', group: 'site', quantity: 'temporary', unit: 'blocks', time: '', sort: '' };
    default:
      return { view: 'table', group: 'site', quantity: 'leaked', time: '', sort: '' };
  }
}
