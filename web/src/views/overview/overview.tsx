// SPDX-License-Identifier: Apache-2.0
// overview.tsx - is there a problem, and where first: the figures and verdicts of `report --overview`, its four lists,
// and the largest sites of what is selected.

import { isSelected, state } from '../../state/store';
import { AnswerBox } from '../../widgets/answer_box';
import { useViewAnswer } from '../use_view';
import { FOLLOWS_ALL, type View } from '../view';
import { Figures } from './figures';
import { LISTS, ListCard } from './lists';
import type { OverviewAnswer } from './overview_types';
import { SelectedCard } from './selected';
import { Verdicts } from './verdicts';

function Overview() {
  const answer = useViewAnswer<OverviewAnswer>(overview);
  const { unit } = state.value;
  return (
    <AnswerBox answer={answer}>
      {value => (
        <>
          <Figures value={value} />
          <Verdicts verdicts={value.verdicts} />
          <div class="cards">
            {isSelected.value && <SelectedCard />}
            {LISTS.map(list => (
              <ListCard key={list.key} list={list} value={value} unit={unit} />
            ))}
          </div>
        </>
      )}
    </AnswerBox>
  );
}

export const overview: View = {
  key: 'overview',
  title: 'Overview',
  hint: 'is there a problem, and where first?',
  follows: FOLLOWS_ALL,
  // It is about the whole run; the card of the selection asks for itself.
  request: ({ filter }) => ({ view: 'overview', params: filter.trim() ? { filter: [filter.trim()] } : {} }),
  component: Overview,
};
