// SPDX-License-Identifier: Apache-2.0
// tree_request.ts - the parameters that the views of trees have in common.

import type { Params } from '../../data/source';
import type { State } from '../../state/fields';

export function treeParams(state: State, selected: Params): Params {
  return {
    ...selected,
    sort: state.unit,
    ...(state.libraries === 'fold' && { folded: true as const }),
    ...(state.direction === 'up' && { 'bottom-up': true as const }),
  };
}

// Another question about the same moment: with one more term, the peak of the matching blocks would be another one.
// shown: the moment of the answer that is shown.
export function withTerm(params: Params, term: string, shown?: { to_ns: number }): Params {
  const { peak, filter = [], ...others } = params;
  const moment = !peak ? {} : shown && params.filter ? { at: `${shown.to_ns}ns` } : { at: '@peak' };
  return { ...others, ...moment, filter: [...(filter as string[]), term] };
}
