// SPDX-License-Identifier: Apache-2.0
// resident.tsx - the memory of the whole process, from samples of its mappings: over time, and at one moment by mapping.

import { useMemo } from 'preact/hooks';
import { TimePlot } from '../../shell/timebar/time_plot';
import { go, linkTo, run, state } from '../../state/store';
import { baseName, bytesText, countText, durationText, exactBytesText, plural } from '../../text/text';
import type { Curve } from '../../widgets/plot';
import { Sparkline } from '../../widgets/sparkline';
import type { Amounts, Mapping, MappingGroup, Resident } from './memory_types';
import { Size } from './size';

const ROWS_SHOWN = 300;
const LINES = 8;
const HEIGHT = 220;
const AMOUNT_TITLES: [keyof Amounts, string][] = [
  ['size', 'Address space'],
  ['resident', 'Resident'],
  ['anonymous', 'Anonymous'],
  ['dirty', 'Dirty'],
  ['clean', 'Clean'],
  ['swap', 'Swap'],
];

export function ResidentPart({ value }: { value: Resident }) {
  const { mapping } = state.value;
  return (
    <>
      <p class="total">
        {mapping ? (
          <>
            Only <b>{mapping}</b>.{' '}
            <button type="button" id="all-mappings" onClick={() => go({ mapping: '' })}>
              All mappings
            </button>{' '}
          </>
        ) : (
          'The whole process, not only its heap. '
        )}
        As sampled at {durationText(value.sample_ns)}, of {plural(value.samples, 'sample')}; most resident{' '}
        {bytesText(value.peak_resident)} at {durationText(value.peak_ns)}.
      </p>
      <Totals total={value.total} />
      <Together value={value} />
      {!mapping && <ByMapping groups={value.groups} />}
      <Groups value={value} />
      <Mappings mappings={value.mappings} />
    </>
  );
}

function Totals({ total }: { total: Resident['total'] }) {
  return (
    <dl class="amounts" id="amounts">
      {AMOUNT_TITLES.map(([key, title]) => (
        <div key={key}>
          <dt>{title}</dt>
          <dd data-amount={key} data-value={total[key]} title={exactBytesText(total[key])}>
            {bytesText(total[key])}
          </dd>
        </div>
      ))}
    </dl>
  );
}

// Dirty and clean memory on top of each other: together they are the resident memory. Swapped memory is a line.
function Together({ value }: { value: Resident }) {
  const end = run.value.duration_ns;
  const curves = useMemo(() => {
    const times = value.columns.map((_, i) => ((i + 1) * end) / value.columns.length);
    const of = (key: keyof Amounts) => value.columns.map(column => column?.[key] ?? null);
    const curve = (color: string, values: (number | null)[], fill?: string): Curve => ({
      color,
      times,
      values,
      stepped: true,
      ...(fill ? { fill } : {}),
    });
    return [
      curve('--row-4', of('resident'), '--row-4'),
      curve('--row-0', of('dirty'), '--row-0'),
      curve('--row-5', of('swap')),
    ];
  }, [value, end]);
  const at = (ns: number) => {
    const i = Math.ceil((ns / (end || 1)) * value.columns.length) - 1;
    return value.columns[Math.max(0, Math.min(i, value.columns.length - 1))];
  };
  return (
    <>
      <h3>Resident memory over time</h3>
      <Key
        rows={[
          ['--row-4', 'clean'],
          ['--row-0', 'dirty'],
          ['--row-5', 'swap (line)'],
        ]}
      />
      <TimePlot
        testid="resident"
        curves={curves}
        height={HEIGHT}
        label="resident memory over time, dirty and clean, and swapped memory; the table below has the values at the selected time"
        cursorText={({ ns }) => {
          const column = at(ns);
          return column
            ? `${durationText(ns)}: resident ${bytesText(column.resident)}, dirty ${bytesText(column.dirty)}, clean ${bytesText(column.clean)}, swap ${bytesText(column.swap)}`
            : `${durationText(ns)}: no sample yet`;
        }}
      />
    </>
  );
}

// Lines, not a stack: each value is the highest of its column, and the highest ones of two mappings need not be at the
// same time.
function ByMapping({ groups }: { groups: MappingGroup[] }) {
  const end = run.value.duration_ns;
  const drawn = useMemo(() => groups.slice(0, LINES), [groups]);
  const curves = useMemo(
    () =>
      drawn.map((group, i): Curve => {
        const times = [...group.trend.map((_, k) => (k * end) / group.trend.length), end];
        return { color: `--row-${i}`, times, values: [...group.trend, group.trend.at(-1) ?? null], stepped: true };
      }),
    [drawn, end],
  );
  if (drawn.length < 2) return null;
  return (
    <>
      <h3>By mapping: the highest in each part of the run</h3>
      <Key rows={drawn.map((group, i) => [`--row-${i}`, baseName(group.name) || 'without a name'])} />
      <TimePlot
        testid="by-mapping"
        curves={curves}
        height={HEIGHT}
        label={`resident memory over time of ${plural(drawn.length, 'mapping')}; the table below has their values`}
        cursorText={({ ns }) => durationText(ns)}
      />
    </>
  );
}

function Key({ rows }: { rows: [color: string, title: string][] }) {
  return (
    <ul class="key">
      {rows.map(([color, title]) => (
        <li class="swatch" key={color}>
          <span style={{ background: `var(${color})` }} />
          {title}
        </li>
      ))}
    </ul>
  );
}

function AmountHeads() {
  return (
    <>
      {AMOUNT_TITLES.map(([key, title]) => (
        <th scope="col" class="number" key={key}>
          {title}
        </th>
      ))}
      <th scope="col" class="number">
        Most resident
      </th>
    </>
  );
}

function AmountCells({ row }: { row: Amounts & { peak_resident: number } }) {
  return (
    <>
      {AMOUNT_TITLES.map(([key]) => (
        <Size key={key} bytes={row[key]} />
      ))}
      <Size bytes={row.peak_resident} />
    </>
  );
}

function Groups({ value }: { value: Resident }) {
  const rows = value.groups.slice(0, ROWS_SHOWN);
  return (
    <>
      <h3>By name</h3>
      <div class="scroll">
        <table class="rows" id="groups">
          <thead>
            <tr>
              <th scope="col">Over time</th>
              <AmountHeads />
              <th scope="col" class="number">
                Mappings
              </th>
              <th scope="col">Name</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(row => (
              <tr key={`${row.kind} ${row.name}`}>
                <td class="number">
                  <Sparkline values={row.trend} />
                </td>
                <AmountCells row={row} />
                <td class="number">{countText(row.mappings)}</td>
                <th scope="row" class="name" title={row.kind}>
                  {row.name ? (
                    <a href={linkTo({ mapping: row.name })} title="only the mappings of this name">
                      {row.name}
                    </a>
                  ) : (
                    'without a name'
                  )}
                </th>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {value.groups.length > rows.length && <p class="note">The first {countText(rows.length)} names are shown.</p>}
      {value.groups_gone > 0 && (
        <p class="total">{plural(value.groups_gone, 'name')} of other samples: select another time.</p>
      )}
    </>
  );
}

function Mappings({ mappings }: { mappings: Mapping[] }) {
  const rows = mappings.slice(0, ROWS_SHOWN);
  return (
    <details>
      <summary>{plural(mappings.length, 'mapping')}, by address</summary>
      <div class="scroll">
        <table class="rows" id="mappings">
          <thead>
            <tr>
              <th scope="col">Address</th>
              <AmountHeads />
              <th scope="col">Mapping</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(row => (
              <tr key={row.address}>
                <td class="address">
                  <a href={linkTo({ mapping: row.address })} title="its history">
                    {row.address}
                  </a>
                </td>
                <AmountCells row={row} />
                <th scope="row" class="name">
                  {row.protection} {row.name || 'without a name'}
                </th>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {mappings.length > rows.length && <p class="note">The first {countText(rows.length)} mappings are shown.</p>}
    </details>
  );
}
