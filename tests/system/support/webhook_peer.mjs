// The reference library of Standard Webhooks, for the tests of ours.
//   node webhook_peer.mjs FOLDER   lines of JSON in, lines of JSON out:
//   {"secret", "id", "when", "body", "sign": true}      -> {"signature"}
//   {"secret", "headers", "body"}                       -> {"good", "why"}
//   {"pair": true}          -> {"secret", "public"}     of Ed25519, by node
//   {"pair": true, "text"}                              -> {"signature"}
//   {"pair": true, "text", "signature"}                 -> {"good"}
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

import { generateKeyPairSync, sign, verify } from "node:crypto";

const require = createRequire(process.argv[2] + "/");
const { Webhook } = require("standardwebhooks");

let pair;

function byPair(ask) {
  const text = Buffer.from(ask.text ?? "");
  if (ask.signature)
    return { good: verify(null, text, pair.publicKey,
                          Buffer.from(ask.signature, "base64")) };
  if (ask.text !== undefined)
    return { signature: sign(null, text, pair.privateKey).toString("base64") };
  pair = generateKeyPairSync("ed25519");
  const { d, x } = pair.privateKey.export({ format: "jwk" });
  const plain = (t) => Buffer.from(t, "base64url").toString("base64");
  return { secret: "whsk_" + plain(d), public: "whpk_" + plain(x) };
}

function answer(ask) {
  if (ask.pair)
    return byPair(ask);
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
