// SPDX-License-Identifier: Apache-2.0
// filter_form.tsx - the filter as a form and as chips. Both edit the text in the filter box, which is the only state.

import { useId } from 'preact/hooks';
import { go, state } from '../../state/store';
import {
  FREED_CHOICES,
  findTerm,
  namesTerm,
  parseRange,
  rangeTerm,
  replaceTerm,
  splitFilter,
  TERM_GROUPS,
  type TermField,
  withoutTerm,
} from './terms';

const change = (filter: string) => go({ filter });

export function FilterChips() {
  const { filter } = state.value;
  const terms = splitFilter(filter);
  if (!terms.length) return null;
  return (
    <ul class="chips" aria-label="Terms of the filter">
      {terms.map((term, i) => (
        <li key={`${i} ${term.text}`} class="term">
          <code>{term.text}</code>
          <button
            type="button"
            class="plain"
            aria-label={`remove ${term.text}`}
            onClick={() => change(withoutTerm(filter, i))}
          >
            ×
          </button>
        </li>
      ))}
      {terms.length > 1 && (
        <li>
          <button type="button" class="plain" onClick={() => change('')}>
            remove all
          </button>
        </li>
      )}
    </ul>
  );
}

export function FilterForm() {
  return (
    <form class="filter-form" id="filter-form" onSubmit={event => event.preventDefault()}>
      {TERM_GROUPS.map((group, i) => (
        <fieldset key={group.title}>
          <legend>{group.title}</legend>
          {i === 0 && <FreedField />}
          {group.fields.map(field => (
            <Field key={field.key} field={field} />
          ))}
        </fieldset>
      ))}
    </form>
  );
}

function FreedField() {
  const { filter } = state.value;
  const id = useId();
  const terms = splitFilter(filter);
  const chosen = FREED_CHOICES.find(choice => choice.term && terms.some(term => term.text === choice.term));
  return (
    <div class="field">
      <label for={id}>freed</label>
      <select
        id={id}
        value={chosen?.term ?? ''}
        onChange={event => {
          const kept = terms.map(term => term.text).filter(text => text !== chosen?.term);
          change([...kept, event.currentTarget.value].join(' ').trim());
        }}
      >
        {FREED_CHOICES.map(choice => (
          <option key={choice.term} value={choice.term}>
            {choice.title}
          </option>
        ))}
      </select>
    </div>
  );
}

function Field({ field }: { field: TermField }) {
  if (field.kind === 'range') return <RangeField field={field} />;
  return (
    <>
      <TextField field={field} negated={false} />
      {field.kind === 'names' && <TextField field={field} negated={true} />}
    </>
  );
}

function RangeField({ field }: { field: TermField }) {
  const { filter } = state.value;
  const id = useId();
  const term = findTerm(filter, field.key, false);
  const range = term ? parseRange(term.value) : { min: '', max: '' };
  const set = (part: 'min' | 'max', value: string) =>
    change(
      replaceTerm(
        filter,
        field.key,
        false,
        rangeTerm(field.key, { ...(range ?? { min: '', max: '' }), [part]: value.trim() }),
      ),
    );
  return (
    <div class="field range">
      <label for={id}>{field.title}</label>
      <input
        id={id}
        type="text"
        name={`${field.key}-min`}
        placeholder="from"
        title={`for example ${field.hint}`}
        value={range?.min ?? ''}
        onChange={event => set('min', event.currentTarget.value)}
      />
      <input
        type="text"
        name={`${field.key}-max`}
        aria-label={`${field.title}, at most`}
        placeholder="to"
        title={`for example ${field.hint}`}
        value={range?.max ?? ''}
        onChange={event => set('max', event.currentTarget.value)}
      />
    </div>
  );
}

// Names may be a list with commas, as in the filter.
function TextField({ field, negated }: { field: TermField; negated: boolean }) {
  const { filter } = state.value;
  const id = useId();
  const value = findTerm(filter, field.key, negated)?.value ?? '';
  return (
    <div class="field">
      <label for={id}>{negated ? `not ${field.title}` : field.title}</label>
      <input
        id={id}
        type="text"
        name={`${negated ? 'not-' : ''}${field.key}`}
        title={`for example ${field.hint}`}
        placeholder={negated ? '' : field.hint}
        value={value}
        onChange={event =>
          change(replaceTerm(filter, field.key, negated, namesTerm(field.key, event.currentTarget.value, negated)))
        }
      />
    </div>
  );
}
