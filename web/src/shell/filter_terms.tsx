// SPDX-License-Identifier: Apache-2.0
// filter_terms.tsx - the terms of the filter, each with a button that removes it; and the place of an error in it.

import { refusalOf } from '../state/completion';
import { shownError, state } from '../state/store';
import { FilterChips } from '../views/blocks/filter_form';

export function FilterTerms({ disabled }: { disabled: boolean }) {
  const { filter } = state.value;
  const refused = refusalOf(shownError.value, filter);
  if (!filter || disabled) return null;
  return (
    <div class="filter-terms">
      <FilterChips />
      {refused && (
        <p class="filter-error" data-at={refused.at}>
          <code>
            {filter.trim().slice(0, refused.at)}
            <mark>{filter.trim().slice(refused.at) || ' '}</mark>
          </code>{' '}
          {refused.reason}
        </p>
      )}
    </div>
  );
}
