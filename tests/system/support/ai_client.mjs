// The stock client of the AI SDK against skepd: node ai_client.mjs URL TOKEN.
// Reads commands, one JSON object a line, and answers each with one:
//   {"send": text, "id": message id, "chat": id}        the message it became
//     … "trigger": word, "message": id           as regenerate() sends them
//   {"resume": chat, "stop_after": n}    the message, "null", or after n chunks
// and through a chat as a page has it, which sends answers by itself:
//   {"say": text, "chat": id}                     the message, at the first pause
//   {"approve": id, "approved": bool, "reason": text, "chat": id}   at the next
//   {"say": text, "files": [part], "edit": message id, …}     with files; edited
//   {"again": message id or null, "chat": id}                 another answer
//   {"messages": chat}                                        all that the page has
import { AbstractChat, DefaultChatTransport,
         lastAssistantMessageIsCompleteWithApprovalResponses,
         readUIMessageStream } from 'ai';
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

class State {
  status = 'ready';
  error = undefined;
  messages = [];
  pushMessage = (m) => { this.messages = this.messages.concat(m); };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (i, m) => {
    this.messages = this.messages.map((old, j) => (i === j ? m : old));
  };
  snapshot = (value) => structuredClone(value);
}

class Page extends AbstractChat {
  constructor(id) {
    let over;
    super({
      id, state: new State(), transport,
      sendAutomaticallyWhen:
        lastAssistantMessageIsCompleteWithApprovalResponses,
      onFinish: () => over(),
    });
    this.pause = () => new Promise((resolve) => { over = resolve; });
  }
}

const pages = new Map();

async function turn(id, act) {
  if (!pages.has(id)) pages.set(id, new Page(id));
  const page = pages.get(id);
  const pause = page.pause();
  await act(page);
  await pause;
  if (page.error) throw page.error;
  return page.lastMessage;
}

async function act(c) {
  if (c.say !== undefined)
    return turn(c.chat, (page) => page.sendMessage(
      { text: c.say, files: c.files, messageId: c.edit }));
  if (c.again !== undefined)
    return turn(c.chat, (page) => page.regenerate(
      { messageId: c.again ?? undefined }));
  if (c.messages !== undefined) return pages.get(c.messages).messages;
  if (c.approve !== undefined)
    return turn(c.chat, (page) => page.addToolApprovalResponse(
      { id: c.approve, approved: c.approved, reason: c.reason }));
  if (c.send !== undefined)
    return collect(await transport.sendMessages({
      chatId: c.chat, trigger: c.trigger ?? 'submit-message',
      messageId: c.message,
      messages: [{ id: c.id, role: 'user',
                   parts: [{ type: 'text', text: c.send },
                           ...(c.files ?? [])] }],
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
