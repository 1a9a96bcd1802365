// SPDX-License-Identifier: Apache-2.0
// dhat.js VIEWER FILE - loads FILE with Valgrind's own dh_view.js, without a page. Prints the
// values that it shows for the root and for each leaf with its frames.
const fs = require('fs');
const vm = require('vm');
const viewer = fs.readFileSync(process.argv[2], 'utf8');
const context = {console, document: {}, result: null, URLSearchParams, data: JSON.parse(fs.readFileSync(process.argv[3], 'utf8'))};
const page = `
gData = data;
gSelect = {childNodes: gSelectData.map(() => ({})), selectedIndex: 0};
buildTree();
const leaves = [];
const work = [[gRoot, []]];
while (work.length) {
  const [n, above] = work.pop();
  const frames = above.concat(n._frames.map(f => gData.ftbl[f]));
  if (n._kids) for (const k of n._kids) work.push([k, frames]);
  else leaves.push({frames, tb: n._totalBytes, tbk: n._totalBlocks, mb: n._maxBytes, gb: n._atTGmaxBytes, gbk: n._atTGmaxBlocks,
                    eb: n._atTEndBytes, ebk: n._atTEndBlocks, life: n._totalLifetimes});
}
result = {root: {tb: gRoot._totalBytes, tbk: gRoot._totalBlocks, gb: gRoot._atTGmaxBytes, gbk: gRoot._atTGmaxBlocks,
                 eb: gRoot._atTEndBytes, ebk: gRoot._atTEndBlocks}, leaves};
`;
vm.runInNewContext(viewer + page, context);
console.log(JSON.stringify(context.result));
