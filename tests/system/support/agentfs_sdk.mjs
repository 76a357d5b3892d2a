// AgentFS's own SDK on a file, from NODE_MODULES: `show FILE` prints the tree,
// `fill FILE` makes one. Both print {path: [mode, links, size, contents]}.
import { readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { pathToFileURL } from 'node:url';

const [modules, verb, file] = process.argv.slice(2);
const at = modules + '/agentfs-sdk/';
const { main } = JSON.parse(readFileSync(at + 'package.json'));
const { AgentFS } = await import(pathToFileURL(at + main));
const agent = await AgentFS.open({ path: file });
const fs = agent.fs;

async function show(dir, out) {
	for (const name of (await fs.readdir(dir)).sort()) {
		const path = (dir === '/' ? '' : dir) + '/' + name;
		const st = await fs.lstat(path);
		let what = null;
		if (st.isSymbolicLink())
			what = await fs.readlink(path);
		else if (st.isFile())
			what = createHash('sha256').update(await fs.readFile(path)).digest('hex');
		out[path.slice(1)] = [st.mode, st.isDirectory() ? 0 : st.nlink,
			st.isFile() ? st.size : 0, what];
		if (st.isDirectory())
			await show(path, out);
	}
	return out;
}

async function fill() {
	const bytes = n => Buffer.alloc(n, Buffer.from(Array.from({ length: 251 }, (_, i) => i)));

	for (const dir of ['/src', '/src/deep', '/empty'])
		await fs.mkdir(dir);
	for (const n of [0, 1, 4095, 4096, 4097, 65536, 300001])
		await fs.writeFile('/src/n' + n, bytes(n));
	await fs.writeFile('/src/deep/ünïcode name', 'text\n');
	await fs.symlink('src/n1', '/soft');
	await fs.symlink('/nowhere', '/dangling');
	await fs.rename('/src/n4095', '/renamed');
	await fs.writeFile('/gone', 'x');
	await fs.unlink('/gone');
	const open = await fs.open('/src/n65536');
	await open.pwrite(4000, Buffer.from('patched over a border'));
	await open.truncate(50000);
}

if (verb === 'fill')
	await fill();
console.log(JSON.stringify(await show('/', {})));
await agent.close?.();
