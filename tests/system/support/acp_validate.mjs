// Reads lines {"def": name, "value": …} and says which of the values are not
// what the protocol's published schema wants.
import Ajv from "ajv/dist/2020.js";
import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";

const schema = JSON.parse(readFileSync(process.argv[2]));
const ajv = new Ajv({ strict: false, validateFormats: false });
const checks = {};

ajv.addSchema(schema, "acp");
for await (const line of createInterface({ input: process.stdin })) {
  const { def, value } = JSON.parse(line);
  const check = (checks[def] ??= ajv.compile({ $ref: `acp#/$defs/${def}` }));
  if (!check(value))
    console.log(`${def}: ${JSON.stringify(value)}: ${ajv.errorsText(check.errors)}`);
}
