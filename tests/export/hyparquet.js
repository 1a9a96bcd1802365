// SPDX-License-Identifier: Apache-2.0
// hyparquet.js FILE MOMENT... - prints the values that hyparquet reads: rows, row groups, bytes
// live at each moment (nanoseconds), the peak, and the first row. Big integers are text. For files
// with many rows it reads only the numeric columns.
const path = require('path'), { pathToFileURL } = require('url');
const packages = process.env.NODE_PATH;
const load = name => import(pathToFileURL(path.join(packages, name, require(path.join(packages, name, 'package.json')).main ?? 'src/index.js')));
(async () => {
  const { parquetMetadataAsync, parquetReadObjects } = await load('hyparquet');
  const { compressors } = await load('hyparquet-compressors');
  const [name, ...moments] = process.argv.slice(2);
  const bytes = require('fs').readFileSync(name);
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  const metadata = await parquetMetadataAsync(file);
  const columns = metadata.num_rows < 100000n ? undefined : ['id', 'allocated_ns', 'freed_ns', 'freed_before', 'bytes'];
  const rows = await parquetReadObjects({ file, compressors, columns });
  const live = moments.map(BigInt).map(at => rows.filter(r => r.allocated_ns <= at && (r.freed_ns == null || r.freed_ns > at))
    .reduce((sum, r) => sum + r.bytes, 0n));
  const events = rows.map(r => [r.id * 2n + 1n, r.bytes])
    .concat(rows.filter(r => r.freed_before != null).map(r => [r.freed_before * 2n, -r.bytes]))
    .sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
  let heap = 0n, peak = 0n;
  for (const [, change] of events) {
    heap += change;
    if (heap > peak) peak = heap;
  }
  console.log(JSON.stringify({ rows: rows.length, said: metadata.num_rows, groups: metadata.row_groups.length, live, peak,
    columns: metadata.schema.slice(1).map(s => s.name), first: rows[0] ?? null },
    (_, v) => (typeof v == 'bigint' ? String(v) : v)));
})();
