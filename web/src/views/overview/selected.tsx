// SPDX-License-Identifier: Apache-2.0
// selected.tsx - the largest sites of the selected quantity, time and filter.

import { useAnswer } from '../../data/answers';
import type { Frame, QuantityAnswer } from '../../data/types';
import { addTerm, functionTerm } from '../../state/filter';
import { linkTo, question, state } from '../../state/store';
import { bytesText, plural } from '../../text/text';
import { AnswerBox } from '../../widgets/answer_box';
import { SiteRow } from './site_row';

const ROWS = 5;

export function SelectedCard() {
  const { heading, params } = question.value;
  const { unit, filter } = state.value;
  const answer = useAnswer<QuantityAnswer & { rows: (Frame & { bytes: number; blocks: number })[] }>({
    view: 'table/site',
    params: { ...params, sort: unit, 'max-rows': ROWS },
  });
  return (
    <section class="card selected" data-list="selected" aria-labelledby="list-selected">
      <h2 id="list-selected">{heading}</h2>
      <AnswerBox answer={{ ...answer, notes: [], value: withoutBounds(answer.value) }}>
        {value => (
          <>
            <p class="total" data-bytes={value.total_bytes} data-blocks={value.total_blocks}>
              {bytesText(value.total_bytes)} in {plural(value.total_blocks, 'block')}
            </p>
            <table class="sites">
              <tbody>
                {value.rows.slice(0, ROWS).map((row, i) => (
                  <SiteRow
                    key={i}
                    row={row}
                    unit={unit}
                    total={unit === 'bytes' ? value.total_bytes : value.total_blocks}
                    trend={undefined}
                    href={linkTo({
                      view: 'table',
                      group: 'stack',
                      sort: '',
                      filter: addTerm(filter, functionTerm(row)),
                    })}
                  />
                ))}
              </tbody>
            </table>
            <a class="all" href={linkTo({ view: 'table', group: 'site', sort: '' })}>
              all sites
            </a>
          </>
        )}
      </AnswerBox>
    </section>
  );
}

// The overview shows the notes, and the link leads to all rows.
function withoutBounds<T extends QuantityAnswer>(value: T | null): T | null {
  if (!value) return null;
  const { truncated: _, ...rest } = value;
  return rest as T;
}
