// An MCP server over streamable HTTP, made with the official SDK. Arguments: the
// port (0: any) and "json" or "sse", the form of its answers. Writes its port,
// then a line of JSON for each request.
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from
	"@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const [port, form] = process.argv.slice(2);
const sessions = new Map();
const say = (value) => process.stdout.write(JSON.stringify(value) + "\n");
const text = (t) => ({ content: [{ type: "text", text: t }] });

function makeServer() {
	const server = new McpServer({ name: "test", version: "1" },
		{ capabilities: { logging: {} } });
	server.registerTool("echo", {
		description: "Say it again.",
		inputSchema: { text: z.string() },
		annotations: { readOnlyHint: true },
	}, async ({ text: t }) => text("you said " + t));
	server.registerTool("slow", {
		inputSchema: { ms: z.number() },
	}, async ({ ms }, extra) => {
		await extra.sendNotification({ method: "notifications/message",
			params: { level: "info", data: "wait" } });
		await new Promise((done) => setTimeout(done, ms));
		return text("at last");
	});
	server.registerTool("long", {
		inputSchema: { bytes: z.number() },
	}, async ({ bytes }) => text("é".repeat(bytes / 2)));
	server.registerTool("fail", {}, async () => {
		throw new Error("it does not work");
	});
	server.registerTool("die", {}, async () => process.exit(1));
	return server;
}

async function makeTransport() {
	const transport = new StreamableHTTPServerTransport({
		sessionIdGenerator: randomUUID,
		enableJsonResponse: form === "json",
		onsessioninitialized: (id) => sessions.set(id, transport),
	});
	await makeServer().connect(transport);
	return transport;
}

async function body(req) {
	let all = "";
	for await (const piece of req)
		all += piece;
	return all ? JSON.parse(all) : undefined;
}

const http = createServer(async (req, res) => {
	const id = req.headers["mcp-session-id"], ask = await body(req);
	say({ http: req.method, method: ask?.method, id, key: req.headers["x-key"],
		version: req.headers["mcp-protocol-version"],
		tool: ask?.params?.name });
	if (req.headers["x-key"] !== "s3cret-of-the-server")
		return res.writeHead(401).end("no key but " + req.headers["x-key"]);
	if (ask?.params?.arguments?.text === "500")
		return res.writeHead(500).end("a bad day; s3cret-of-the-server");
	if (ask?.params?.arguments?.text === "cut") {
		res.writeHead(200, { "Content-Type": "text/event-stream" });
		res.write("event: message\ndata: {\"jsonrpc\":");
		return setTimeout(() => res.destroy(), 50);
	}
	if (id && !sessions.has(id))
		return res.writeHead(404).end("no such session");
	const transport = id ? sessions.get(id) : await makeTransport();
	await transport.handleRequest(req, res, ask);
});
http.listen(Number(port), "127.0.0.1", () => say(http.address().port));
