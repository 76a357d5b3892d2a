// AgentFS's SDK as a peer of `skep-bench vfs`: fills a tree, then runs and
// times one operation for each line "NAME SECONDS MAX", answered by "N MICROS".
'use strict';
const { createInterface } = require('node:readline');
const { readFileSync } = require('node:fs');
const { pathToFileURL } = require('node:url');

const [file, count] = process.argv.slice(1);
const FILES = Number(count), DIRS = 100, BIG = 16 << 20;
const data = Buffer.alloc(65536, 'a');
for (let i = 0; i < data.length; i++)
	if (i % 64 < 32)
		data[i] = (i * 2654435761) >>> 13;
const small = data.subarray(0, 1024), page = data.subarray(0, 4096);
const name = (kind, i) => `/d${i % DIRS}/${kind}${i}`;
const newName = kind => `/e${made % DIRS}/${kind}${made++}`;
const any = n => Math.floor(Math.random() * n);
let fs, made = 0, big;

async function fill() {
	for (let i = 0; i < DIRS; i++)
		for (const kind of ['/d', '/e'])
			await fs.mkdir(kind + i);
	for (let i = 0; i < FILES; i++)
		await fs.writeFile(name('f', i), small);
	for (let i = 0; i < 100; i++)
		await fs.writeFile(name('l', i), data);
	await fs.writeFile('/big', Buffer.alloc(BIG, data));
	big = await fs.open('/big');
}

function same(got, want) {
	if (Buffer.compare(got, want))
		throw new Error('it gave something else than was put');
}

const operations = {
	create: { once: () => fs.writeFile(newName('c'), small) },
	read: { once: async () => same(await fs.readFile(name('f', any(FILES))), small) },
	stat: { once: () => fs.stat(name('f', any(FILES))) },
	readdir: {
		once: async () => {
			const list = await fs.readdir('/d' + any(DIRS));
			if (list.length !== FILES / DIRS + 1)
				throw new Error('it listed something else than was put');
		},
	},
	write64k: { once: () => fs.writeFile(newName('w'), data) },
	read64k: { once: async () => same(await fs.readFile(name('l', any(100))), data) },
	overwrite4k: { once: () => big.pwrite(any(BIG / 4096) * 4096, page) },
	rename: {
		once: n => {
			const i = (n >> 1) % FILES;
			return n % 2 ? fs.rename(name('r', i), name('f', i))
				: fs.rename(name('f', i), name('r', i));
		},
		after: n => n % 2 ? operations.rename.once(n) : 0,
	},
	delete: {
		before: async () => {
			operations.delete.first = made;
			for (let i = 0; i < 200; i++)
				await fs.writeFile(newName('x'), small);
		},
		once: n => {
			const i = operations.delete.first + n;
			return fs.unlink(`/e${i % DIRS}/x${i}`);
		},
		max: 200,
	},
};

async function pass(what, seconds, max) {
	const op = operations[what];
	let n = 0;

	if (op.before)
		await op.before();
	max = Math.min(max, op.max ?? Infinity);
	const begin = process.hrtime.bigint();
	const end = begin + BigInt(Math.round(seconds * 1e9));
	let now = begin;
	while (now < end && n < max) {
		await op.once(n++);
		now = process.hrtime.bigint();
	}
	if (op.after)
		await op.after(n);
	return `${n} ${Number(now - begin) / 1e3 / Math.max(n, 1)}`;
}

/* It is an ES module, which NODE_PATH does not find. */
async function sdk() {
	const at = process.env.NODE_PATH + '/agentfs-sdk/';
	const { main } = JSON.parse(readFileSync(at + 'package.json'));

	return import(pathToFileURL(at + main));
}

async function serve() {
	const { AgentFS } = await sdk();
	const agent = await AgentFS.open({ path: file });
	const db = agent.getDatabase();

	fs = agent.fs;
	await db.exec('PRAGMA synchronous = OFF');
	await db.exec('BEGIN');
	await fill();
	await db.exec('COMMIT');
	await db.exec('PRAGMA synchronous = FULL'); // its default
	console.log('ready');
	for await (const line of createInterface({ input: process.stdin })) {
		const [what, seconds, max] = line.split(' ');
		console.log(await pass(what, Number(seconds), Number(max)));
	}
}

serve().catch(why => {
	console.error(`agentfs: ${why.message}`);
	process.exit(1);
});
