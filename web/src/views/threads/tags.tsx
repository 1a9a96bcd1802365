// SPDX-License-Identifier: Apache-2.0
// tags.tsx - the blocks of each tag, and the live bytes of the tags over time.

import { useAnswer } from '../../data/answers';
import type { SeriesAnswer } from '../../data/series';
import { visible } from '../../shell/timebar/use_time';
import { state } from '../../state/store';
import { AnswerBox } from '../../widgets/answer_box';
import type { ClassAnswer } from '../histograms/class_types';
import { SeriesChart } from '../over_time/series_chart';
import { ShareRows, ShareTotal } from '../share_rows';

const NO_TAG = '[no tag]';

export function Tags({ value }: { value: ClassAnswer }) {
  if (!value.rows.some(row => row.name !== NO_TAG)) return <NoTags value={value} />;
  return (
    <>
      <ShareTotal value={value} />
      <ShareRows value={value} id="tags" />
      <h3>Live bytes over time, by tag</h3>
      <OverTime />
    </>
  );
}

function NoTags({ value }: { value: ClassAnswer }) {
  return (
    <>
      <ShareTotal value={value} />
      <p class="empty">
        None of these blocks has a tag. A program that includes heaplapse.h names its scopes, as in{' '}
        <code>HEAPLAPSE_SCOPE("draw");</code> and <code>heaplapse record</code> then records the tag of each block.{' '}
        <code>heaplapse help tags</code> says more.
      </p>
    </>
  );
}

function OverTime() {
  const { filter, window, limit } = state.value;
  const { from, to } = visible.value;
  const answer = useAnswer<SeriesAnswer>({
    view: 'timeline/tag',
    params: {
      ...(filter.trim() ? { filter: [filter.trim()] } : {}),
      ...(window ? { range: `${from}ns..${to}ns` } : {}),
      limit,
    },
  });
  return <AnswerBox answer={answer}>{value => <SeriesChart answer={value} />}</AnswerBox>;
}
