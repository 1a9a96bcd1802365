// SPDX-License-Identifier: Apache-2.0
// table.tsx - a flat table of any group: each block is in one row.

import { useMemo, useState } from 'preact/hooks';
import type { Params, Request } from '../../data/source';
import { GROUPS } from '../../state/fields';
import { go, question, state } from '../../state/store';
import { plural, unitText } from '../../text/text';
import { AnswerBox } from '../../widgets/answer_box';
import { Downloads } from '../../widgets/downloads';
import { GroupSelect } from '../../widgets/group_select';
import { requestOf, useViewAnswer } from '../use_view';
import { FOLLOWS_ALL, type View } from '../view';
import { COLUMNS, orderOf, sortLines, sortParams } from './columns';
import { Plotted } from './plotted';
import { Rows } from './rows';
import type { TableAnswer } from './table_types';
import { useLines } from './use_lines';

function Table() {
  const answer = useViewAnswer<TableAnswer>(table);
  const { group } = state.value;
  return (
    <section class="card" aria-labelledby="table-heading">
      <h2 id="table-heading">{question.value.heading}</h2>
      <div class="tools">
        <GroupSelect
          groups={GROUPS}
          value={group}
          onChange={next => go({ group: next, sort: '', plotted: [], hidden: [] })}
        />
        <Downloads json={requestOf(table)} csv={csvRequest()} />
      </div>
      <AnswerBox answer={answer}>{value => <Shown value={value} />}</AnswerBox>
    </section>
  );
}

function csvRequest(): Request {
  const { group } = state.value;
  return { view: 'export/csv', params: { ...question.value.params, ...poolParams(group), group } };
}

// Without it, blocks of pools are left out.
function poolParams(group: string): Params {
  return group === 'pool' ? { pool: '*' } : {};
}

function Shown({ value }: { value: TableAnswer }) {
  const [all, setAll] = useState(false);
  const { lines, series, waiting, slow } = useLines(value, all);
  const { unit, sort, group, plotted } = state.value;
  const order = orderOf(sort, unit, group);
  const sorted = useMemo(() => sortLines(lines, order), [lines, order?.column, order?.falling]);
  const columns = useMemo(
    () => COLUMNS.filter(one => (!one.ofSites || group === 'site') && (one.key !== 'highest' || group !== 'pool')),
    [group],
  );
  return (
    <>
      <p class="total" data-bytes={value.total_bytes} data-blocks={value.total_blocks}>
        {unitText(value.total_bytes, 'bytes')} in {plural(value.total_blocks, 'block')},{' '}
        {plural(value.rows.length, 'row')}
        <span data-ready={!waiting} />
      </p>
      {slow && (
        <p class="note">
          The trace is long: {group === 'site' ? 'lifetimes' : 'values over time'} need all its events.{' '}
          <button type="button" onClick={() => setAll(true)}>
            Read them
          </button>
        </p>
      )}
      {series && plotted.length > 0 && <Plotted series={series} lines={lines} />}
      {lines.length ? (
        <Rows
          lines={sorted}
          columns={columns}
          order={order}
          group={group}
          total={unit === 'bytes' ? value.total_bytes : value.total_blocks}
        />
      ) : (
        <p class="empty">No block is selected. Select another time or quantity, or remove the filter.</p>
      )}
    </>
  );
}

export const table: View = {
  key: 'table',
  title: 'Table',
  hint: 'each block in one row: by site, function, thread, size and more',
  follows: FOLLOWS_ALL,
  request: ({ group, unit, sort }, selected) => ({
    view: `table/${group}`,
    params: { ...selected, ...poolParams(group), ...sortParams(sort, unit, group) },
  }),
  component: Table,
};
