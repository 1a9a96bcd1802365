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

// The same question with one more term, about the same moment: the peak of the matching blocks would be another one.
// With a filter that moment is known only from an answer (shown); without one the peak is that of all terms.
export function withTerm(params: Params, term: string, shown?: { to_ns: number }): Params {
  const { peak, filter = [], ...others } = params;
  const all = [...(filter as string[]), term];
  if (!peak) return { ...others, filter: all };
  if (!params.filter) return { ...others, at: '@peak', filter: all };
  return shown ? { ...others, at: `${shown.to_ns}ns`, filter: all } : { ...params, filter: all };
}
