// SPDX-License-Identifier: Apache-2.0
// source_view.tsx - the lines of a source file with their bytes. Without a file, the files of the selected blocks.

import type { QuantityAnswer } from '../../data/types';
import { go, linkTo, question, state } from '../../state/store';
import { bytesText, exactBytesText, plural } from '../../text/text';
import { AnswerBox } from '../../widgets/answer_box';
import type { TableAnswer } from '../table/table_types';
import { useViewAnswer } from '../use_view';
import { FOLLOWS_ALL, type View } from '../view';

interface SourceLine {
  line: number;
  text: string | null;
  function: string | null;
  bytes: number;
  blocks: number;
  own_bytes: number;
  own_blocks: number;
}

// The answer of the endpoint source (docs/json.md).
interface SourceAnswer extends QuantityAnswer {
  file: string;
  path: string | null;
  problem: string | null;
  changed: boolean;
  bytes: number;
  own_bytes: number;
  lines: SourceLine[];
}

function Source() {
  return state.value.file ? <File /> : <Files />;
}

function Files() {
  const answer = useViewAnswer<TableAnswer>(source);
  return (
    <section class="card" aria-labelledby="source-heading">
      <h2 id="source-heading">{question.value.heading}, by source file</h2>
      <AnswerBox answer={answer}>
        {value => (
          <table class="rows" id="files">
            <tbody>
              {value.rows.map(row => (
                <tr key={row.name}>
                  <td class="number" data-value={row.bytes} title={exactBytesText(row.bytes)}>
                    {bytesText(row.bytes)}
                  </td>
                  <th scope="row" class="name">
                    <a href={linkTo({ file: row.name })}>{row.name}</a>
                  </th>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </AnswerBox>
    </section>
  );
}

function File() {
  const answer = useViewAnswer<SourceAnswer>(source);
  const { whole } = state.value;
  return (
    <section class="card" aria-labelledby="source-heading">
      <h2 id="source-heading">
        {question.value.heading}: {state.value.file}
      </h2>
      <div class="tools">
        <a href={linkTo({ file: '', whole: '' })}>all files</a>
        <label>
          <input
            type="checkbox"
            id="whole"
            checked={whole === 'yes'}
            onChange={event => go({ whole: event.currentTarget.checked ? 'yes' : '' })}
          />{' '}
          whole file
        </label>
      </div>
      <AnswerBox answer={answer}>{value => <Lines value={value} />}</AnswerBox>
    </section>
  );
}

function Lines({ value }: { value: SourceAnswer }) {
  return (
    <>
      <p class="total" data-bytes={value.own_bytes}>
        {bytesText(value.bytes)} in stacks with a line of it, {bytesText(value.own_bytes)} allocated by its lines.
      </p>
      {value.problem && <p class="note">{value.problem}</p>}
      {value.changed && <p class="note">The file was modified after the recording began: its lines may have moved.</p>}
      <div class="scroll">
        <table class="code" id="lines">
          <thead>
            <tr>
              <th scope="col" class="number">
                Bytes
              </th>
              <th scope="col" class="number">
                Own
              </th>
              <th scope="col" class="number">
                Line
              </th>
              <th scope="col">{value.path ?? 'Function'}</th>
            </tr>
          </thead>
          <tbody>
            {value.lines.map((line, i) => (
              <Line key={line.line} line={line} gap={i > 0 && line.line > value.lines[i - 1]!.line + 1} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Line({ line, gap }: { line: SourceLine; gap: boolean }) {
  const used = line.blocks > 0;
  return (
    <tr class={`${used ? 'used' : ''}${gap ? ' cluster' : ''}`} data-line={line.line}>
      <td class="number" data-value={used ? line.bytes : undefined} title={used ? plural(line.blocks, 'block') : ''}>
        {used ? bytesText(line.bytes) : ''}
      </td>
      <td class="number" data-own={line.own_blocks ? line.own_bytes : undefined}>
        {line.own_blocks ? bytesText(line.own_bytes) : ''}
      </td>
      <td class="number line">{line.line || '?'}</td>
      <td class="text">{line.text ?? line.function}</td>
    </tr>
  );
}

export const source: View = {
  key: 'source',
  title: 'Source',
  hint: 'the lines of source files with their bytes',
  follows: FOLLOWS_ALL,
  request: ({ file, whole }, selected) => {
    if (!file) return { view: 'table/file', params: selected };
    return { view: 'source', params: { ...selected, file, ...(whole ? { 'whole-file': true as const } : {}) } };
  },
  component: Source,
};
