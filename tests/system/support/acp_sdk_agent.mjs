// An agent made with the protocol's own SDK, which checks what it is told: it
// asks for permission, writes a file by the client, runs a command there, and
// says what it got.
import * as acp from "@agentclientprotocol/sdk";
import { Readable, Writable } from "node:stream";

const options = [
  { optionId: "go", name: "Go", kind: "allow_once" },
  { optionId: "stop", name: "Stop", kind: "reject_once" },
];
let place;

async function turn({ params, client }) {
  const sessionId = params.sessionId;
  const tell = (update) => client.notify("session/update", { sessionId, update });
  const say = (text) =>
    tell({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  const toolCall = { toolCallId: "c1", title: "write a file", kind: "edit" };

  await say("asked: " + params.prompt[0].text + "\n");
  await tell({ sessionUpdate: "tool_call", status: "pending", ...toolCall });
  const answer = await client.request("session/request_permission", {
    sessionId, toolCall, options,
  });
  if (answer.outcome.optionId !== "go") return { stopReason: "refusal" };
  const path = place + "/made.txt";
  await client.request("fs/write_text_file", { sessionId, path, content: "made\n" });
  const read = await client.request("fs/read_text_file", { sessionId, path });
  const terminal = await client.createTerminal({
    sessionId, command: "cat", args: ["made.txt"],
  });
  const exit = await terminal.waitForExit();
  const output = await terminal.currentOutput();
  await terminal.release();
  await tell({ sessionUpdate: "tool_call_update", toolCallId: "c1", status: "completed" });
  await say(JSON.stringify([read.content, exit.exitCode, output.output]));
  return { stopReason: "end_turn" };
}

acp
  .agent({ name: "test" })
  .onRequest("initialize", () => ({
    protocolVersion: acp.PROTOCOL_VERSION,
    agentCapabilities: { loadSession: false },
    authMethods: [],
  }))
  .onRequest("session/new", ({ params }) => {
    place = params.cwd;
    return { sessionId: "s-1" };
  })
  .onRequest("session/prompt", turn)
  .onNotification("session/cancel", () => {})
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
