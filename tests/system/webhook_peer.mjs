// The reference library of Standard Webhooks, for the tests of ours.
//   node webhook_peer.mjs FOLDER   lines of JSON in, lines of JSON out:
//   {"secret", "id", "when", "body", "sign": true}      -> {"signature"}
//   {"secret", "headers", "body"}                       -> {"good", "why"}
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(process.argv[2] + "/");
const { Webhook } = require("standardwebhooks");

function answer(ask) {
  const hook = new Webhook(ask.secret);
  if (ask.sign)
    return { signature: hook.sign(ask.id, new Date(ask.when * 1000), ask.body) };
  try {
    hook.verify(ask.body, ask.headers);
    return { good: true };
  } catch (e) {
    return { good: false, why: e.message };
  }
}

for await (const line of createInterface({ input: process.stdin }))
  console.log(JSON.stringify(answer(JSON.parse(line))));
