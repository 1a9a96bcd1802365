// SPDX-License-Identifier: Apache-2.0
// over_time.tsx - live bytes of each row of a table over the visible time.

import type { SeriesAnswer } from '../../data/series';
import { visible } from '../../shell/timebar/use_time';
import { FORMS, type Form, GROUPS, type Group } from '../../state/fields';
import { go, state } from '../../state/store';
import { AnswerBox } from '../../widgets/answer_box';
import { Choice } from '../../widgets/choice';
import { Downloads } from '../../widgets/downloads';
import { GroupSelect } from '../../widgets/group_select';
import { requestOf, useViewAnswer } from '../use_view';
import type { View } from '../view';
import { SeriesChart } from './series_chart';

const LIMITS = [5, 10, 20, 50];
const FORM_TITLES: Record<Form, string> = { stacked: 'Stacked', lines: 'Lines', table: 'Table' };
const FORM_OPTIONS = FORMS.map(value => ({ value, title: FORM_TITLES[value] }));
// Pools are not of the heap, whose bytes over time these are.
const TIMED_GROUPS = GROUPS.filter(group => group !== 'pool');

function timedGroup(group: Group): Group {
  return group === 'pool' ? 'site' : group;
}

function OverTime() {
  const answer = useViewAnswer<SeriesAnswer>(overTime);
  const { group, limit, form } = state.value;
  return (
    <section class="card" aria-labelledby="over-time-heading">
      <h2 id="over-time-heading">Live bytes over time, by {timedGroup(group)}</h2>
      <div class="tools">
        <GroupSelect
          groups={TIMED_GROUPS}
          value={timedGroup(group)}
          onChange={next => go({ group: next, hidden: [], plotted: [], sort: '' })}
        />
        <label>
          rows{' '}
          <select id="limit" value={limit} onChange={event => go({ limit: Number(event.currentTarget.value) })}>
            {[...new Set([...LIMITS, limit])].map(one => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
        <Choice id="form" label="Form" options={FORM_OPTIONS} value={form} onChange={next => go({ form: next })} />
        <Downloads json={requestOf(overTime)} />
      </div>
      <AnswerBox answer={answer}>{value => <SeriesChart answer={value} />}</AnswerBox>
    </section>
  );
}

export const overTime: View = {
  key: 'over-time',
  title: 'Over time',
  hint: 'live bytes over time, by site, function, thread, size and more',
  follows: { time: false, quantity: false, unit: false, filter: true },
  request: ({ group, limit, window }, chosen) => {
    const { from, to } = visible.value;
    const range = window ? { range: `${from}ns..${to}ns` } : {};
    return { view: `timeline/${timedGroup(group)}`, params: { ...chosen, ...range, limit } };
  },
  component: OverTime,
};
