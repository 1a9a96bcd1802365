// SPDX-License-Identifier: Apache-2.0
// memory.tsx - the address space: the blocks in each mapping, resident memory over time, the program's own mappings, and
// how full the pages are. Each part has an endpoint of its own.

import type { ComponentType } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Params } from '../../data/source';
import type { Answer } from '../../data/types';
import { MEMORY_PARTS, type State } from '../../state/fields';
import { momentParams } from '../../state/moment';
import { go, running, state } from '../../state/store';
import { AnswerBox } from '../../widgets/answer_box';
import { Choice } from '../../widgets/choice';
import { Downloads } from '../../widgets/downloads';
import { requestOf, useViewAnswer } from '../use_view';
import type { Follows, View } from '../view';
import { FragmentationPart } from './fragmentation';
import { MmapsPart } from './mmaps';
import { Ranges } from './ranges';
import { ResidentPart } from './resident';

// Of the curves of resident memory.
const COLUMNS = 200;

type Part = State['memoryPart'];

const TITLES: Record<Part, string> = {
  blocks: 'Blocks in mappings',
  resident: 'Resident memory',
  mmaps: 'Own mappings',
  fragmentation: 'Fragmentation',
};
const HINTS: Record<Part, string> = {
  blocks: 'how full of blocks each mapping is, and the gaps',
  resident: 'the memory of the whole process over time, by mapping; needs record --mmap',
  mmaps: 'what the program mapped itself; needs record --mmap',
  fragmentation: 'how full the pages of the heap are, and who holds nearly empty ones',
};
const OPTIONS = MEMORY_PARTS.map(value => ({ value, title: TITLES[value], hint: HINTS[value] }));
const FOLLOWS: Record<Part, Follows> = {
  blocks: { time: true, quantity: false, unit: false, filter: true },
  resident: { time: true, quantity: false, unit: false, filter: false },
  mmaps: { time: false, quantity: false, unit: false, filter: true },
  fragmentation: { time: true, quantity: false, unit: false, filter: true },
};
const ENDPOINTS: Record<Part, string> = {
  blocks: 'address-space',
  resident: 'resident',
  mmaps: 'mmaps',
  fragmentation: 'fragmentation',
};

function Memory() {
  const { memoryPart } = state.value;
  return (
    <section class="card" aria-labelledby="memory-heading">
      <h2 id="memory-heading">Address space</h2>
      <div class="tools">
        <Choice
          id="memory-part"
          label="Part"
          options={OPTIONS}
          value={memoryPart}
          onChange={next => go({ memoryPart: next })}
        />
        <Downloads json={requestOf(memory)} />
      </div>
      {/* An answer of another part must not be shown as one of this. */}
      <PartAnswer key={memoryPart} part={memoryPart} />
    </section>
  );
}

function PartAnswer({ part }: { part: Part }) {
  const answer = useViewAnswer<Answer>(memory);
  const Shown = useMemo(() => componentOf(part), [part]);
  return <AnswerBox answer={answer}>{value => <Shown value={value} />}</AnswerBox>;
}

// The answer of an endpoint is of the type that its part shows.
function componentOf(part: Part) {
  const components = { blocks: Ranges, resident: ResidentPart, mmaps: MmapsPart, fragmentation: FragmentationPart };
  return components[part] as ComponentType<{ value: Answer }>;
}

function paramsOf({ memoryPart, time, filter, mapping }: State): Params {
  if (memoryPart === 'mmaps') return filter.trim() ? { filter: [filter.trim()] } : {};
  if (memoryPart !== 'resident') return momentParams({ time, filter, running: running.value });
  // Without a moment it is that of the most resident memory, which need not be the peak of the heap.
  const { peak: _, ...moment } = momentParams({ time, filter: '', running: running.value });
  return mapping ? { ...moment, width: COLUMNS, mapping } : { ...moment, width: COLUMNS };
}

export const memory: View = {
  key: 'memory',
  title: 'Address space',
  hint: 'the mappings of the process, the blocks in each, and the gaps between them; resident memory; fragmentation',
  get follows() {
    return FOLLOWS[state.value.memoryPart];
  },
  request: now => ({ view: ENDPOINTS[now.memoryPart], params: paramsOf(now) }),
  component: Memory,
};
