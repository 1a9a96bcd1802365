// SPDX-License-Identifier: Apache-2.0
// tabs.tsx - the views, as links: the browser's own means to open one in another tab work.

import { linkTo } from '../state/store';
import type { View } from '../views/view';
import { views } from '../views/views';

export function Tabs({ view }: { view: View }) {
  return (
    <nav class="tabs" aria-label="Views">
      {views.map((one, i) => (
        <a
          key={one.key}
          href={linkTo({ view: one.key })}
          aria-current={one === view ? 'page' : undefined}
          title={i < 9 ? `${one.hint} (key ${i + 1})` : one.hint}
          data-view={one.key}
        >
          {one.title}
        </a>
      ))}
    </nav>
  );
}
