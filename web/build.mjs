// SPDX-License-Identifier: Apache-2.0
// build.mjs - bundles the page into dist/, or the unit tests into a directory.
//
//   node build.mjs [OUTPUT]          index.html, app.js, app.css (default dist)
//   node build.mjs --tests OUTPUT    all *_test.ts, for `node --test`
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const NOTICE = `/* SPDX-License-Identifier: Apache-2.0 */
/* Contains Preact, (c) 2015-present Jason Miller; @preact/signals, (c) 2022-present Preact Team; uPlot, (c) 2022 Leon
   Sorokin. Their license is in web/LICENSES. */`;

function findTests(directory) {
  return readdirSync(directory, { withFileTypes: true }).flatMap(entry => {
    const path = join(directory, entry.name);
    return entry.isDirectory() ? findTests(path) : path.endsWith('_test.ts') ? [path] : [];
  });
}

async function buildPage(output) {
  mkdirSync(output, { recursive: true });
  await build({
    entryPoints: { app: 'src/main.tsx' },
    outdir: output,
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    banner: { js: NOTICE, css: NOTICE },
    logLevel: 'warning',
  });
  copyFileSync('src/index.html', join(output, 'index.html'));
}

async function buildTests(output) {
  await build({
    entryPoints: findTests('src'),
    outdir: output,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node18',
    logLevel: 'warning',
  });
}

const [first, second] = process.argv.slice(2);
await (first === '--tests' ? buildTests(second) : buildPage(first ?? 'dist'));
