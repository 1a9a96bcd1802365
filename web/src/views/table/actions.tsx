// SPDX-License-Identifier: Apache-2.0
// actions.tsx - what can be done with a row: links to the page with another filter, or to another view of its blocks.

import type { RowName } from '../../data/series';
import type { Group } from '../../state/fields';
import { addTerm, negated, rowTerm } from '../../state/filter';
import { linkTo, state } from '../../state/store';

// Views that show the blocks of a row.
const SHOWN_IN = [
  { view: 'flame', title: 'Flame graph' },
  { view: 'tree', title: 'Tree' },
  { view: 'over-time', title: 'Over time' },
  { view: 'blocks', title: 'Single blocks' },
];

export function Actions({ row, group }: { row: RowName; group: Group }) {
  const { filter } = state.value;
  const term = rowTerm(group, row);
  const only = addTerm(filter, term);
  return (
    <div class="actions">
      <p class="whole-name">{row.name}</p>
      {term ? (
        <p class="links">
          <a href={linkTo({ filter: only })} data-action="only" title={term}>
            Only this
          </a>
          <a href={linkTo({ filter: addTerm(filter, negated(term)) })} data-action="exclude" title={negated(term)}>
            Exclude
          </a>
          {group !== 'stack' && (
            <a href={linkTo({ filter: only, group: 'stack', sort: '', plotted: [] })} data-action="stacks">
              Its stacks
            </a>
          )}
          {SHOWN_IN.map(({ view, title }) => (
            <a key={view} href={linkTo({ view, filter: only })} data-action={view}>
              {title}
            </a>
          ))}
        </p>
      ) : (
        <p class="links">A filter cannot select this row alone.</p>
      )}
    </div>
  );
}
