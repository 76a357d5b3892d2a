// Calls skep with the client of OpenAI: node openai_client.mjs PACKAGE URL TOKEN.
// Each line of standard input is {"call": NAME, …}; each answer is a line.
import readline from 'node:readline';
const [name, baseURL, apiKey] = process.argv.slice(2);
const { default: OpenAI, APIError } = await import(name);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const collect = async (stream) => {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
};
const calls = {
  models: async () => (await collect(client.models.list())).map((m) => m.id),
  model: ({ id }) => client.models.retrieve(id),
  chat: async ({ body, headers }) => {
    const got = await client.chat.completions.create(body, { headers });
    return body.stream ? collect(got) : got;
  },
  // The helper of the client puts the chunks together.
  assemble: async ({ body }) =>
    client.chat.completions.stream(body).finalChatCompletion(),
  response: async ({ body, headers }) => {
    const got = await client.responses.create(body, { headers });
    return body.stream ? collect(got) : got;
  },
  assembleResponse: async ({ body }) =>
    client.responses.stream(body).finalResponse(),
  retrieve: ({ id }) => client.responses.retrieve(id),
  replay: async ({ id }) =>
    collect(await client.responses.retrieve(id, { stream: true })),
  cancel: ({ id }) => client.responses.cancel(id),
  // Disconnects after the first piece of text.
  leave: async ({ body }) => {
    const stream = await client.chat.completions.create(body);
    for await (const c of stream) {
      if (c.choices[0]?.delta?.content) break;
    }
    stream.controller.abort();
    return true;
  },
};
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { call, ...more } = JSON.parse(line);
  let answer;
  try {
    answer = { ok: await calls[call](more) };
  } catch (e) {
    answer = { error: { status: e.status ?? null, message: e.message,
      type: e.type ?? null, code: e.code ?? null, api: e instanceof APIError } };
  }
  console.log(JSON.stringify(answer));
}
