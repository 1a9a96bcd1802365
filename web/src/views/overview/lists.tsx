// SPDX-License-Identifier: Apache-2.0
// lists.tsx - the four lists of the overview. Each row opens the stacks of its site.

import type { State } from '../../state/fields';
import { addTerm, functionTerm } from '../../state/filter';
import { linkTo, state } from '../../state/store';
import { plural, type Unit } from '../../text/text';
import type { OverviewAnswer, OverviewList, OverviewRow } from './overview_types';
import { SiteRow } from './site_row';

interface ListDefinition {
  key: 'held' | 'left' | 'growing' | 'churning';
  title(value: OverviewAnswer): string;
  empty: string;
  unit?: Unit; // of its order; otherwise the chosen one
  trend(row: OverviewRow): (number | null)[] | undefined;
  place: Partial<State>;
}

const liveTrend = (row: OverviewRow) => row.live_bytes_over_time;

export const LISTS: readonly ListDefinition[] = [
  {
    key: 'held',
    title: () => 'Held at the peak',
    empty: 'nothing was live at the peak',
    trend: liveTrend,
    place: { quantity: 'live', time: '@peak' },
  },
  {
    key: 'left',
    title: value => (value.end_is_leaked ? 'Not freed' : 'Live at the end'),
    empty: 'nothing is left at the end',
    trend: liveTrend,
    place: { quantity: 'leaked', time: '' },
  },
  {
    key: 'growing',
    title: () => 'Growing',
    empty: 'no site held more all through the last third',
    trend: liveTrend,
    place: { quantity: 'growth', time: '' },
  },
  {
    key: 'churning',
    title: () => 'Churning, by bytes',
    empty: 'no site allocates much more than it holds',
    unit: 'bytes',
    trend: row => row.allocated_blocks_over_time,
    place: { quantity: 'allocated', unit: 'bytes', time: '' },
  },
];

interface Props {
  list: ListDefinition;
  value: OverviewAnswer;
  unit: Unit;
}

export function ListCard({ list, value, unit }: Props) {
  const found: OverviewList = value[list.key];
  const by = list.unit ?? unit;
  const total = by === 'bytes' ? found.total_bytes : found.total_blocks;
  return (
    <section class="card" data-list={list.key} aria-labelledby={`list-${list.key}`}>
      <h2 id={`list-${list.key}`}>{list.title(value)}</h2>
      {found.state !== 'known' && <p class="empty">{found.state} for this trace</p>}
      {found.state === 'known' && !found.rows.length && <p class="empty">{list.empty}</p>}
      {found.rows.length > 0 && (
        <table class="sites">
          <tbody>
            {found.rows.map((row, i) => (
              <SiteRow key={i} row={row} unit={by} total={total} trend={list.trend(row)} href={linkOf(list, row)} />
            ))}
          </tbody>
        </table>
      )}
      <a class="all" href={linkTo({ view: 'table', group: 'site', sort: '', ...list.place })}>
        {found.sites > found.rows.length ? `all ${plural(found.sites, 'site')}` : 'as a table'}
      </a>
    </section>
  );
}

function linkOf(list: ListDefinition, row: OverviewRow): string {
  const filter = addTerm(state.value.filter, functionTerm(row));
  return linkTo({ view: 'table', group: 'stack', sort: '', ...list.place, filter });
}
