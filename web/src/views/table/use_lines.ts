// SPDX-License-Identifier: Apache-2.0
// use_lines.ts - the rows of the table, with their course over time and, of sites, their lifetimes. These are answers of
// their own: the table does not wait for them. Those that read every event of a long trace are asked only on request.

import { useMemo } from 'preact/hooks';
import { useAnswer } from '../../data/answers';
import { fullKey, type RowName, rowKeys, type SeriesAnswer } from '../../data/series';
import { visible } from '../../shell/timebar/use_time';
import { question, state, trace } from '../../state/store';
import type { Line, Share } from './columns';
import type { SitesAnswer, TableAnswer } from './table_types';

const SERIES_ROWS = 200;
const SERIES_WIDTH = 100;
const SLOW_FROM = 5e6; // allocations
const GROUPS_OF_EVENTS = ['life', 'call', 'snapshot'];
const TERMS_OF_STACKS = /^(\s*-?(fn|function|file|module):("[^"]*"|\S+))*\s*$/;

export interface Lines {
  lines: Line[];
  series: SeriesAnswer | null;
  waiting: boolean;
  slow: boolean; // something is not asked, because it would take long
}

export function useLines(value: TableAnswer, all: boolean): Lines {
  const { group, window } = state.value;
  const filter = (question.value.params.filter ?? []) as string[];
  const isLong = (trace.value?.totals?.allocations ?? 0) > SLOW_FROM && !all;
  const onlyStacks = filter.every(one => TERMS_OF_STACKS.test(one));
  const timed = group !== 'pool' && !(isLong && (GROUPS_OF_EVENTS.includes(group) || !onlyStacks));
  const sited = group === 'site' && !isLong;

  const { from, to } = visible.value;
  const filters = filter.length ? { filter } : {};
  const range = window ? { range: `${from}ns..${to}ns` } : {};
  const series = useAnswer<SeriesAnswer>(
    timed
      ? { view: `timeline/${group}`, params: { ...filters, ...range, limit: SERIES_ROWS, width: SERIES_WIDTH } }
      : null,
  );
  const sites = useAnswer<SitesAnswer>(sited ? { view: 'sites', params: question.value.params } : null);
  const temporary = useAnswer<TableAnswer>(
    sited ? { view: 'table/site', params: { ...filters, temporary: true } } : null,
  );
  const allocated = useAnswer<TableAnswer>(
    sited ? { view: 'table/site', params: { ...filters, allocated: true } } : null,
  );

  const shownSeries = timed && series.value?.group === group ? series.value : null;
  const lines = useMemo(() => {
    const keys = rowKeys(value.rows);
    const seriesOf = finder(shownSeries?.rows);
    const factsOf = finder(sited ? sites.value?.rows : undefined);
    const partOf = finder(sited ? temporary.value?.rows : undefined);
    const wholeOf = finder(sited ? allocated.value?.rows : undefined);
    return value.rows.map((row, i): Line => {
      const whole = wholeOf(row)?.blocks;
      const share: Share | undefined =
        whole === undefined || !temporary.value ? undefined : { part: partOf(row)?.blocks ?? 0, whole };
      return { key: keys[i]!, row, series: seriesOf(row), facts: factsOf(row), temporary: share };
    });
  }, [value, shownSeries, sited, sites.value, temporary.value, allocated.value]);
  const waiting = [series, sites, temporary, allocated].some(one => one.waiting);
  return { lines, series: shownSeries, waiting, slow: isLong && ((group !== 'pool' && !timed) || group === 'site') };
}

// Finds the row of another answer; rows with equal names are not found.
function finder<T extends RowName>(rows: readonly T[] | undefined): (row: RowName) => T | undefined {
  const found = new Map<string, T | undefined>();
  for (const row of rows ?? []) {
    const key = fullKey(row);
    found.set(key, found.has(key) ? undefined : row);
  }
  return row => found.get(fullKey(row));
}
