// The stock client of the AI SDK against skepd: node ai_client.mjs URL TOKEN.
// Reads commands, one JSON object a line, and answers each with one:
//   {"send": text, "id": message id, "chat": id}        the message it became
//   {"resume": chat, "stop_after": n}    the message, "null", or after n chunks
import { DefaultChatTransport, readUIMessageStream } from 'ai';
import { createInterface } from 'node:readline';

const [url, token] = process.argv.slice(2);
const transport = new DefaultChatTransport({
  api: url,
  headers: { Authorization: `Bearer ${token}` },
});

async function collect(stream, stopAfter) {
  let message = null;
  let chunks = 0;
  if (stream === null) return null;
  if (stopAfter) {
    const reader = stream.getReader();
    while (chunks < stopAfter && !(await reader.read()).done) chunks++;
    await reader.cancel();
    return { chunks };
  }
  for await (const m of readUIMessageStream({ stream, terminateOnError: true }))
    message = m;
  return message;
}

async function act(c) {
  if (c.send !== undefined)
    return collect(await transport.sendMessages({
      chatId: c.chat, trigger: 'submit-message', messageId: undefined,
      messages: [{ id: c.id, role: 'user',
                   parts: [{ type: 'text', text: c.send }] }],
    }), c.stop_after);
  return collect(await transport.reconnectToStream({ chatId: c.resume }),
                 c.stop_after);
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = { ok: await act(JSON.parse(line)) };
  } catch (e) {
    answer = { error: String(e.message ?? e) };
  }
  console.log(JSON.stringify(answer));
}
