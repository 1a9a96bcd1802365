// SPDX-License-Identifier: Apache-2.0
// main.tsx - starts the page: where answers come from, then the state of the address, then the elements.

import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import './style/style.css';
import { SourceContext } from './data/answers';
import { HttpSource } from './data/http';
import { App } from './shell/app';
import { startKeys } from './shell/keys';
import { startQueries } from './state/queries';
import { startAddress } from './state/store';
import { startTheme } from './state/theme';
import { startTraces } from './state/traces';

const source = new HttpSource();
startTheme();
startAddress();
startQueries();
startKeys();
startTraces(source);
render(
  <SourceContext.Provider value={source}>
    <App />
  </SourceContext.Provider>,
  document.getElementById('app')!,
);
