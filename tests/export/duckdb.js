// SPDX-License-Identifier: Apache-2.0
// duckdb.js DIRECTORY - runs a JSON array of SQL statements from stdin in DIRECTORY. Prints for
// each of them {"rows": [...]} with big integers as text, or {"error": "..."}.
const { DuckDBInstance } = require('@duckdb/node-api');
process.chdir(process.argv[2]);
(async () => {
  const questions = JSON.parse(require('fs').readFileSync(0, 'utf8'));
  // One thread: with several threads the order of rows would vary.
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  const answers = [];
  for (const sql of questions) {
    try {
      answers.push({ rows: (await connection.runAndReadAll(sql)).getRowObjectsJson() });
    } catch (e) {
      answers.push({ error: String(e.message) });
    }
  }
  console.log(JSON.stringify(answers));
})();
