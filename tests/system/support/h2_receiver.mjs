// A receiver of webhooks that speaks HTTP/2, of node:
//   node h2_receiver.mjs CERTIFICATE KEY
// Prints its port, then a line of JSON per request. What the n-th gets is in its
// path: /refuse resets the stream before it is looked at, /goaway ends the
// connection after its body, both the first time only.
import { createSecureServer, constants } from "node:http2";
import { readFileSync } from "node:fs";

const seen = {};
const server = createSecureServer({
  cert: readFileSync(process.argv[2]),
  key: readFileSync(process.argv[3]),
});
let connections = 0;
server.on("session", () => connections++);
server.on("sessionError", () => {});
server.on("stream", (stream, headers) => {
  const path = headers[":path"];
  const n = (seen[path] = (seen[path] ?? 0) + 1);
  stream.on("error", () => {});
  if (path === "/refuse" && n === 1) {
    stream.close(constants.NGHTTP2_REFUSED_STREAM);
    return;
  }
  let body = "";
  stream.on("data", (piece) => (body += piece));
  stream.on("end", () => {
    console.log(JSON.stringify({
      path, connections, id: headers["webhook-id"], body,
      signature: headers["webhook-signature"],
      timestamp: headers["webhook-timestamp"],
    }));
    if (path === "/goaway" && n === 1) {
      stream.session.goaway(constants.NGHTTP2_INTERNAL_ERROR, 0);
      stream.session.destroy();
      return;
    }
    stream.respond({ ":status": 204 });
    stream.end();
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
