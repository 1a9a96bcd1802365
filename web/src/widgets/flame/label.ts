// SPDX-License-Identifier: Apache-2.0
// label.ts - as much of a function's name as fits. The end of a name says most, so the beginning is left out first.

const SHORTEST = 3; // characters

export function labelText(name: string, room: number): string {
  if (room < SHORTEST) return '';
  if (name.length <= room) return name;
  const short = withoutArguments(name);
  return short.length <= room ? short : `…${short.slice(1 - room)}`;
}

// "a::b<int>::c(char*) const" is "a::b<int>::c"; "operator()" stays.
function withoutArguments(name: string): string {
  const end = name.lastIndexOf(')');
  if (end < 0 || name.includes('::', end)) return name;
  let depth = 0;
  for (let at = end; at > 0; at--) {
    if (name[at] === ')') depth++;
    else if (name[at] === '(' && --depth === 0)
      return name.slice(0, at).endsWith('operator') ? name : name.slice(0, at);
  }
  return name;
}
