// Agents: definition, versions, size, backup age; test and create.
import {h, add, fill, since, state, act, ask, confirm, clock, bytes, plural, empty, table, field, select, seg, toast, age} from './dom.js';
import {get, post, put, del, query, may, has} from './api.js';
import {onHost} from './live.js';
import {long, diff} from './text.js';

const presets = {
	'shell script': {driver: 'exec', workspace: 'vfs-scratch', config: {command: ['sh', '-c', 'cat'], stdin: 'text'}},
	'test script': {driver: 'script'},
	'chat with a model': {driver: 'chat', config: {endpoint: 'http://127.0.0.1:8080/v1'}, model: ''},
	'Agent Client Protocol': {driver: 'acp', config: {command: ['my-agent', '--acp']}},
};

export async function open(box, words, values) {
	return words[0] ? show(box, words[0], values) : listAll(box);
}

async function listAll(box) {
	const body = h('div');
	async function load() {
		const {items} = await get('v1/agents?limit=1000');
		fill(body, items.length ? table([['Agent', a => [h('a', {href: '#/agents/' + seg(a.name)}, a.name), a.is_default ? h('span.tag', 'default') : null]], ['State', a => state(a.is_enabled ? 'enabled' : 'disabled')], ['Driver', a => a.driver], ['Workspace', a => a.workspace], ['Model', a => a.model ?? ''], ['Version', a => a.version, 'num'], ['Changed', a => since(a.updated_at), 'num']], items, {label: 'Agents', href: a => '#/agents/' + seg(a.name)})
			: empty('There is no agent yet', 'Create one from a preset here, or on the command line:', h('p', h('code', 'skep agent add claude --preset claude'))));
	}
	add(box, [h('div.head', h('h1', 'Agents'), h('span.grow'), may('admin') ? act('New agent…', create, {class: 'primary'}) : null), body]);
	await load();
	const stop = onHost(e => { if (e === 'agent') load().catch(() => {}); });
	return {close: stop};
}

async function create() {
	const text = h('textarea', {name: 'definition', rows: 12, 'aria-label': 'Definition', spellcheck: 'false'});
	const pick = select(Object.keys(presets), 'shell script', v => { text.value = JSON.stringify(presets[v], null, 2); });
	text.value = JSON.stringify(presets['shell script'], null, 2);
	const v = await ask('New agent', [field('Name', h('input', {name: 'name', required: true, pattern: '[A-Za-z0-9._\\-]+'})), field('Preset', pick), field('Definition', text), h('p.dim', 'Presets of well-known agents (claude, codex, gemini, …) prepare directories on the host: skep agent add NAME --preset claude.')], {ok: 'Create'});
	if (!v) return;
	let definition;
	try { definition = JSON.parse(v.definition); } catch (error) { throw new Error('The definition is not valid JSON: ' + error.message); }
	await put('v1/agents/' + seg(v.name), definition);
	location.hash = '#/agents/' + seg(v.name);
	return 'Created';
}

async function show(box, name, values) {
	const [agent, versions, storage] = await Promise.all([get('v1/agents/' + seg(name)), get(`v1/agents/${seg(name)}/versions`), get(`v1/agents/${seg(name)}/storage`)]);
	const definition = {driver: agent.driver, workspace: agent.workspace, ...(agent.model ? {model: agent.model} : {}), ...(agent.prompt ? {prompt: agent.prompt} : {}), ...(typeof agent.spec === 'object' ? agent.spec : {})};
	const old = versions.items;
	const pretty = v => JSON.stringify(typeof v.definition === 'string' ? JSON.parse(v.definition) : v.definition, null, 2);
	const edit = async () => {
		const v = await ask('Change ' + name, [h('p.dim', 'Runs that are active keep their version.'), h('textarea', {name: 'definition', rows: 20, 'aria-label': 'Definition', spellcheck: 'false'}, JSON.stringify(definition, null, 2))], {ok: 'Save a new version'});
		if (!v) return;
		await put('v1/agents/' + seg(name), JSON.parse(v.definition));
		dispatchEvent(new HashChangeEvent('hashchange'));
		return 'Saved';
	};
	const test = async () => {
		const v = await ask('Test ' + name, [h('p', 'Starts a run with this prompt and shows it.'), h('textarea', {name: 'prompt', rows: 3, 'aria-label': 'Prompt'}, agent.driver === 'script' ? '[{"text": "hello"}]' : 'Say hello.')], {ok: 'Start 1 run'});
		if (!v) return;
		const run = await post('v1/runs', {agent: name, prompt: v.prompt, tags: ['test']});
		location.hash = '#/run/' + seg(run.id);
	};
	const a = Number(values.from) || old[1]?.version, b = Number(values.to) || old[0]?.version;
	const versionBox = old.length > 1 ? h('section.panel', h('h2', 'Versions'), h('div.bar', 'From ', select(old.map(v => [String(v.version), `${v.version} · ${clock(v.created_at)}`]), String(a), v => { location.hash = `#/agents/${seg(name)}` + query({from: v, to: b}); }, {'aria-label': 'From version'}), ' to ', select(old.map(v => [String(v.version), `${v.version} · ${clock(v.created_at)}`]), String(b), v => { location.hash = `#/agents/${seg(name)}` + query({from: a, to: v}); }, {'aria-label': 'To version'})), diff(compare(pretty(old.find(v => v.version === a) ?? old[0]), pretty(old.find(v => v.version === b) ?? old[0])))) : null;
	add(box, [h('div.head', h('h1', name), state(agent.is_enabled ? 'enabled' : 'disabled'), agent.is_default ? h('span.tag', 'default') : null, h('span.dim', 'version ' + agent.version)),
		h('div.bar', may('run') ? act('Test…', test) : null, may('admin') ? [act('Edit…', edit), act(agent.is_enabled ? 'Disable' : 'Enable', async () => { await put('v1/agents/' + seg(name), {...definition, enabled: !agent.is_enabled}); dispatchEvent(new HashChangeEvent('hashchange')); return 'Done'; }), act('Delete…', async () => { if (await confirm(`Delete agent ${name}?`, [h('p', 'Its definition is deleted. Its database, with sessions and files, is kept.')], 'Delete 1 agent')) { await del('v1/agents/' + seg(name)); location.hash = '#/agents'; return 'Deleted'; } }, {class: 'danger'})] : null, h('span.grow'), h('a', {href: '#/sessions/' + seg(name)}, 'Sessions'), has('GET', '/v1/workspaces/{agent}') ? h('a', {href: '#/workspaces/' + seg(name)}, 'Workspaces') : null, h('a', {href: '#/now/ended' + query({agent: name})}, 'Runs')),
		h('section.panel', h('dl', [['database', storage.path ?? 'created by the first run'], ['size', storage.path ? bytes(storage.bytes) + (storage.wal_bytes ? ` + ${bytes(storage.wal_bytes)} log` : '') : '–'], ['last backup', storage.backup_at ? [clock(storage.backup_at), ' (', age(Date.now() - storage.backup_at), ' ago) ', state(storage.backup_state)] : 'never'], ['defined by', agent.source ?? '']].flatMap(([k, v]) => [h('dt', k), h('dd', v)]))), h('section.panel', h('h2', 'Definition'), long(JSON.stringify(definition, null, 2))), versionBox]);
	return {};
}

// A line diff: the longest common subsequence, for short texts.
function compare(from, to) {
	const a = from.split('\n'), b = to.split('\n'), n = a.length, m = b.length;
	if (n * m > 4e6) return to;
	const lcs = Array.from({length: n + 1}, () => new Uint16Array(m + 1));
	for (let i = n - 1; i >= 0; i--) for (let j = m - 1; j >= 0; j--) lcs[i][j] = a[i] === b[j] ? lcs[i + 1][j + 1] + 1 : Math.max(lcs[i + 1][j], lcs[i][j + 1]);
	const out = [];
	let i = 0, j = 0;
	while (i < n || j < m) if (i < n && j < m && a[i] === b[j]) { out.push(' ' + a[i++]); j++; } else if (j < m && (i === n || lcs[i][j + 1] >= lcs[i + 1][j])) out.push('+' + b[j++]); else out.push('-' + a[i++]);
	return out.join('\n');
}
