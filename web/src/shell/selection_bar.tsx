// SPDX-License-Identifier: Apache-2.0
// selection_bar.tsx - the quantity, its unit, and the filter. A selection that the view does not follow is disabled.

import { QUANTITIES } from '../state/fields';
import { QUANTITY_HINTS, QUANTITY_NAMES } from '../state/quantity';
import { go, state } from '../state/store';
import type { View } from '../views/view';
import { Choice } from '../widgets/choice';
import { FilterBox } from './filter_box';
import { FilterTerms } from './filter_terms';
import { SavedQueries } from './saved_queries';

const QUANTITY_OPTIONS = QUANTITIES.map(value => ({
  value,
  title: QUANTITY_NAMES[value],
  hint: QUANTITY_HINTS[value],
}));
const UNIT_OPTIONS = [
  { value: 'bytes', title: 'bytes' },
  { value: 'blocks', title: 'blocks' },
] as const;

export function SelectionBar({ view }: { view: View }) {
  const { quantity, unit } = state.value;
  return (
    <div class="selection-bar">
      <Choice
        id="quantity"
        label="Quantity"
        options={QUANTITY_OPTIONS}
        value={quantity}
        onChange={next => go({ quantity: next })}
        disabled={!view.follows.quantity}
      />
      <Choice
        id="unit"
        label="Unit"
        options={UNIT_OPTIONS}
        value={unit}
        onChange={next => go({ unit: next })}
        disabled={!view.follows.unit}
      />
      <FilterBox disabled={!view.follows.filter} />
      <SavedQueries />
      <FilterTerms disabled={!view.follows.filter} />
    </div>
  );
}
