// SPDX-License-Identifier: Apache-2.0
// validate.js SCHEMA FILE - validates FILE against SCHEMA. Prints {"errors": [...]}.
const fs = require('fs');
const Ajv = require("ajv").default;
const ajv = new Ajv({allErrors: true, strict: false, logger: false});
const schema = JSON.parse(fs.readFileSync(process.argv[2]));
delete schema.$schema;
const check = ajv.compile(schema);
const ok = check(JSON.parse(fs.readFileSync(process.argv[3])));
console.log(JSON.stringify({errors: ok ? [] : check.errors.slice(0, 20)}));
