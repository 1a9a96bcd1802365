// SPDX-License-Identifier: Apache-2.0
// processes.tsx - the processes of the run that the trace belongs to. Each row is a link to the trace of its process.

import type { Answer, QuantityAnswer } from '../../data/types';
import { linkTo, question, state } from '../../state/store';
import { baseName, bytesText, exactBytesText, percentText, plural, unitText } from '../../text/text';
import { AnswerBox } from '../../widgets/answer_box';
import { Bar } from '../../widgets/bar';
import { useViewAnswer } from '../use_view';
import { FOLLOWS_ALL, type View } from '../view';

interface Process {
  id: number | null;
  program: string;
  pid: number;
  parent_pid: number;
  running: boolean;
  peak_bytes: number;
  resident_bytes: number;
  answer: QuantityAnswer | null;
  error: string | null;
}

// The answer of the endpoint processes (docs/commands/serve.md).
interface ProcessesAnswer extends Answer {
  processes: Process[];
  left_out?: number;
  total_bytes: number;
  total_blocks: number;
}

function Processes() {
  const answer = useViewAnswer<ProcessesAnswer>(processes);
  return (
    <section class="card" aria-labelledby="processes-heading">
      <h2 id="processes-heading">{question.value.heading}, by process</h2>
      <AnswerBox answer={answer}>{value => <Rows value={value} />}</AnswerBox>
    </section>
  );
}

function Rows({ value }: { value: ProcessesAnswer }) {
  const { unit } = state.value;
  const total = unit === 'bytes' ? value.total_bytes : value.total_blocks;
  return (
    <>
      <p class="total" data-bytes={value.total_bytes} data-blocks={value.total_blocks}>
        {bytesText(value.total_bytes)} in {plural(value.total_blocks, 'block')} of{' '}
        {plural(value.processes.length, 'process', 'processes')}
      </p>
      <div class="scroll">
        <table class="rows" id="processes">
          <thead>
            <tr>
              <th scope="col" colSpan={2}>
                Share
              </th>
              <th scope="col" class="number">
                {unit === 'bytes' ? 'Bytes' : 'Blocks'}
              </th>
              <th scope="col" class="number">
                Peak
              </th>
              <th scope="col" class="number">
                Most resident
              </th>
              <th scope="col" class="number">
                pid
              </th>
              <th scope="col" class="number">
                Parent
              </th>
              <th scope="col">Program</th>
            </tr>
          </thead>
          <tbody>
            {value.processes.map(process => (
              <Row key={process.pid} process={process} total={total} />
            ))}
          </tbody>
        </table>
      </div>
      {value.left_out !== undefined && <p class="note">{plural(value.left_out, 'process', 'processes')} more.</p>}
    </>
  );
}

function Row({ process, total }: { process: Process; total: number }) {
  const { unit } = state.value;
  const { answer } = process;
  const part = answer ? (unit === 'bytes' ? answer.total_bytes : answer.total_blocks) : 0;
  const name = baseName(process.program);
  return (
    <tr aria-current={process.id === state.value.trace}>
      <td class="number">{answer && percentText(part, total)}</td>
      <td class="bar-cell">
        <Bar part={part} whole={total} />
      </td>
      <td class="number" data-value={answer ? part : undefined} title={process.error ?? undefined}>
        {answer ? unitText(part, unit) : '?'}
      </td>
      <td class="number" title={exactBytesText(process.peak_bytes)}>
        {bytesText(process.peak_bytes)}
      </td>
      <td class="number">{process.resident_bytes ? bytesText(process.resident_bytes) : ''}</td>
      <td class="number">{process.pid}</td>
      <td class="number">{process.parent_pid || ''}</td>
      <th scope="row" class="name" title={process.program}>
        {process.id === null ? name : <a href={linkTo({ trace: process.id, view: 'overview' })}>{name}</a>}
        {process.running && ' (running)'}
      </th>
    </tr>
  );
}

export const processes: View = {
  key: 'processes',
  title: 'Processes',
  hint: 'the processes of the run, the largest first',
  follows: FOLLOWS_ALL,
  request: (_state, selected) => ({ view: 'processes', params: selected }),
  component: Processes,
};
