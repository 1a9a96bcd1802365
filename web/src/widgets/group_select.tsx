// SPDX-License-Identifier: Apache-2.0
// group_select.tsx - by what the rows of a table are grouped.

import type { Group } from '../state/fields';

interface Props {
  groups: readonly Group[];
  value: Group;
  onChange: (group: Group) => void;
}

export function GroupSelect({ groups, value, onChange }: Props) {
  return (
    <label>
      group by{' '}
      <select id="group" value={value} onChange={event => onChange(event.currentTarget.value as Group)}>
        {groups.map(one => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </label>
  );
}
