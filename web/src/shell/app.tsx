// SPDX-License-Identifier: Apache-2.0
// app.tsx - the page around the views: header, tabs, selections, and the view that the address names.

import { useEffect } from 'preact/hooks';
import { connected, problem, shownRequest, state, trace, traces } from '../state/store';
import { questionOfView, requestOf } from '../views/use_view';
import { findView } from '../views/views';
import { Controls } from './controls';
import { Header } from './header';
import { SelectionBar } from './selection_bar';
import { Tabs } from './tabs';
import { Timebar } from './timebar/timebar';

export function App() {
  return (
    <>
      <Header />
      {!connected.value && (
        <p class="banner" role="alert">
          The connection to heaplapse serve is lost. What is shown may be old; the page connects again by itself.
        </p>
      )}
      <Body />
    </>
  );
}

function Body() {
  if (problem.value) return <Problem title="Nothing can be shown" text={problem.value} />;
  if (!traces.value.length) return <main aria-busy="true" />;
  const shown = trace.value;
  if (!shown)
    return <Problem title="There is no such trace" text="The address names a trace that this server does not have." />;
  if (shown.error) return <Problem title={`${shown.trace} cannot be read`} text={shown.error} />;
  return <Trace key={shown.id} />;
}

function Trace() {
  const view = findView(state.value.view);
  const request = requestOf(view);
  useEffect(() => {
    shownRequest.value = request;
  });
  const Component = view.component;
  return (
    <>
      <div class="controls">
        <Controls />
        <Tabs view={view} />
        <SelectionBar view={view} />
        <Timebar heading={questionOfView(view).heading} />
      </div>
      <main id="view" data-view={view.key} tabIndex={-1}>
        <h1 class="visually-hidden">{view.title}</h1>
        <Component />
      </main>
    </>
  );
}

function Problem({ title, text }: { title: string; text: string }) {
  return (
    <main>
      <section class="card failure" role="alert">
        <h1>{title}</h1>
        <p>{text}</p>
        <p>
          {traces.value.length > 1 ? 'Choose another trace above. ' : ''}
          <code>heaplapse info FILE</code> says more about a file.
        </p>
      </section>
    </main>
  );
}
