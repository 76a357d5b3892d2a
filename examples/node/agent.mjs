// Answers with the prompt in capital letters, word by word.
import { createInterface } from "node:readline";

const emit = (event) => console.log(JSON.stringify(event));
for await (const line of createInterface({ input: process.stdin })) {
	const message = JSON.parse(line);
	if (message.type !== "prompt") continue;
	message.prompt.toUpperCase().split(/(?= )/).forEach((text) =>
		emit({ type: "delta", part: "p1", kind: "text", text }));
	emit({ type: "done", part: "p1" });
	process.exit(0);
}
