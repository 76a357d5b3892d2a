// Workspaces: files, snapshots, differences.
import {h, add, fill, since, act, toast, ask, confirm, clock, bytes, plural, empty, failure, busy, select, table, download, field, seg} from './dom.js';
import {get, post, put, del, call, query, may, root} from './api.js';
import {long, diff} from './text.js';

const IMAGES = {png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp'};
const SHOWN = 2 << 20; // larger files are only downloaded

export async function open(box, words, values) {
	const agents = (await get('v1/agents?limit=1000')).items;
	const agent = words[0] ?? agents.find(a => a.is_default)?.name ?? agents[0]?.name;
	if (!agent) { fill(box, empty('There is no agent yet', 'A workspace belongs to an agent.', h('a', {href: '#/agents'}, 'Create an agent'))); return {}; }
	const spaces = (await get('v1/workspaces/' + seg(agent)).catch(e => { if (e.status === 404) return {items: []}; throw e; })).items;
	const name = words[1] ?? spaces.find(s => s.name === 'main')?.name ?? spaces[0]?.name;
	const pick = h('div.bar', select(agents.map(a => a.name), agent, v => { location.hash = '#/workspaces/' + seg(v); }, {'aria-label': 'Agent'}), spaces.length ? select(spaces.map(s => s.name), name, v => { location.hash = `#/workspaces/${seg(agent)}/${seg(v)}`; }, {'aria-label': 'Workspace'}) : null);
	const main = h('div');
	add(box, [h('div.head', h('h1', 'Workspaces')), pick, main]);
	if (!name) { fill(main, empty('No workspace yet', 'The first run of this agent that uses a namespace creates one. Agents with the workspace “disk” work in directories of the host.')); return {}; }
	const base = `v1/workspaces/${seg(agent)}/${seg(name)}`, here = `#/workspaces/${seg(agent)}/${seg(name)}`, tab = words[2] ?? 'files';
	const space = spaces.find(s => s.name === name), usage = await get(base + '/usage').catch(() => null);
	const tabs = h('div.tabs', [['files', 'Files'], ['diff', 'Differences'], ['snapshots', 'Snapshots'], ['history', 'History']].map(([k, t]) => h('a', {href: `${here}/${k}`, 'aria-current': k === tab ? 'page' : null}, t)));
	const body = h('div');
	fill(main, h('p.dim', [space?.lower ? 'over ' + space.lower : null, space?.parent ? 'fork of ' + space.parent : null, usage ? `${bytes(usage.bytes)} in ${plural(usage.files, 'file')}${usage.max_bytes ? ' of ' + bytes(usage.max_bytes) : ''}` : null, space ? 'created ' + clock(space.created_at) : null].filter(Boolean).join(' · ')), tabs, body);
	const again = () => dispatchEvent(new HashChangeEvent('hashchange'));
	const origin = space?.lower ?? space?.parent;

	const views = {
		async files() {
			const path = values.path ?? '';
			const crumbs = h('div.bar', h('a', {href: here}, name), path.split('/').filter(Boolean).map((p, i, all) => ['/', h('a', {href: `${here}/files` + query({path: all.slice(0, i + 1).join('/')})}, p)]), h('span.grow'), may('run') ? [act('Upload…', () => upload(path)), act('New file…', async () => { const v = await ask('New file', field('Path', h('input', {name: 'path', required: true, value: path ? path + '/' : ''})), {ok: 'Create'}); if (v) { await call('PUT', base + '/file' + query({path: v.path}), '', {raw: true}); location.hash = `${here}/files` + query({path: v.path, file: 1}); } })] : null);
			if (values.file) { fill(body, crumbs, await file(path)); return; }
			const items = (await get(base + '/files' + query({path}))).items.sort((a, b) => (b.type === 'directory') - (a.type === 'directory') || (a.name < b.name ? -1 : 1));
			const at = n => (path ? path + '/' : '') + n;
			fill(body, crumbs, items.length ? table([['Name', f => h('a', {href: `${here}/files` + query({path: at(f.name), file: f.type === 'directory' ? null : 1})}, f.name + (f.type === 'directory' ? '/' : ''), f.target ? h('span.dim', ' → ' + f.target) : null)], ['Size', f => f.type === 'file' ? bytes(f.size) : '', 'num'], ['Changed', f => since(f.modified_at), 'num'], ['', f => may('run') ? act('Delete', async () => { if (await confirm(`Delete ${f.name}?`, f.type === 'directory' ? 'The directory and everything below it is deleted.' : 'The file is deleted. A snapshot keeps its content.', 'Delete 1 ' + f.type)) { await del(base + '/file' + query({path: at(f.name)})); again(); return 'Deleted'; } }, {class: 'link'}) : null]], items, {label: 'Files', href: f => `${here}/files` + query({path: at(f.name), file: f.type === 'directory' ? null : 1})}) : empty('The directory is empty'));
		},
		async diff() {
			const snaps = (await get(base + '/snapshots')).items;
			const from = values.from ?? '';
			const choose = select([['', origin ? 'from its origin (' + origin + ')' : 'from its origin'], ...snaps.map(s => ['@' + s.name, 'from snapshot ' + s.name]), ...spaces.filter(s => s.name !== name).map(s => [s.name, 'from ' + s.name])], from, v => { location.hash = `${here}/diff` + query({from: v}); }, {'aria-label': 'Compare'});
			let items;
			try { items = (await get(base + '/diff' + query({from}))).items; } catch (error) { fill(body, h('div.bar', choose), empty('Nothing to compare with', error.message)); return; }
			fill(body, h('div.bar', choose, h('span.dim', plural(items.length, 'difference')), h('span.grow'), !from && origin && items.length ? [may('admin') ? act('Apply…', async () => {
				if (!await confirm(`Apply ${plural(items.length, 'change')}?`, [h('p', `${space.lower ? 'The host directory' : 'The namespace'} ${origin} gets these changes:`), h('ul', items.slice(0, 40).map(c => h('li', c.change + ' ' + c.path))), items.length > 40 ? h('p.dim', `and ${items.length - 40} more`) : null], `Apply ${plural(items.length, 'change')}`)) return;
				const done = await post(base + '/apply', {}); again(); return `Applied ${plural(done.items.length, 'change')}`;
			}) : null, may('run') ? act('Discard…', async () => {
				if (!await confirm(`Discard ${plural(items.length, 'change')}?`, [h('p', `${name} shows ${origin} again. These changes are lost:`), h('ul', items.slice(0, 40).map(c => h('li', c.change + ' ' + c.path)))], `Discard ${plural(items.length, 'change')}`)) return;
				await post(base + '/discard', {}); again(); return 'Discarded';
			}, {class: 'danger'}) : null] : null), items.length ? items.map(c => {
				const d = h('details.panel', h('summary', h('b', {A: 'added ', D: 'deleted ', M: 'changed ', m: 'mode ', U: 'unmerged '}[c.change] ?? ''), h('code', c.path)));
				d.addEventListener('toggle', async () => { if (d.open && !d.done) { d.done = true; const r = await get(base + '/diff' + query({from, path: c.path, patch: true})).catch(e => ({items: [{text: e.message}]})); d.append(diff(r.items.map(i => i.text ?? '').join('\n'))); } });
				return d;
			}) : empty('No differences'));
		},
		async snapshots() {
			const items = (await get(base + '/snapshots')).items;
			fill(body, h('div.bar', may('run') ? act('Take a snapshot…', async () => { const v = await ask('Take a snapshot', field('Name', h('input', {name: 'name', required: true, pattern: '[A-Za-z0-9._\\-]+'})), {ok: 'Take'}); if (v) { await post(base + '/snapshots', {name: v.name}); again(); return 'Taken'; } }) : null), items.length ? table([['Snapshot', s => h('a', {href: `#/workspaces/${seg(agent)}/${seg(name + '@' + s.name)}`}, s.name)], ['Taken', s => clock(s.created_at)], ['', s => [h('a', {href: `${here}/diff` + query({from: '@' + s.name})}, 'Differences'), ' ', may('run') ? act('Roll back…', async () => {
				const later = items.filter(o => o.created_at > s.created_at).length;
				if (!await confirm(`Roll back to ${s.name}?`, [h('p', `All files get the state of ${clock(s.created_at)}.`), later ? h('p', `${plural(later, 'later snapshot')} will be deleted.`) : null], 'Roll back')) return;
				await post(base + '/rollback', {name: s.name}); again(); return 'Rolled back';
			}, {class: 'danger'}) : null]]], items, {label: 'Snapshots'}) : empty('No snapshots', 'A snapshot takes one row, whatever the size of the tree.'));
		},
		async history() {
			const items = (await get(base + '/changes?limit=500')).items.reverse();
			fill(body, items.length ? table([['Time', c => clock(c.at)], ['Change', c => c.change], ['Path', c => h('code', c.path)], ['By', c => c.run ? h('a', {href: '#/run/' + seg(c.run)}, c.tool ?? 'run') : c.by]], items, {label: 'History of changes'}) : empty('No changes are recorded'));
		},
	};
	async function file(path) {
		const ext = path.split('.').pop().toLowerCase();
		const answer = await call('GET', base + '/file' + query({path}), undefined, {as: 'response'});
		const data = await answer.arrayBuffer();
		const bar = h('div.bar', h('span.dim', bytes(data.byteLength)), act('Download', () => download(path.split('/').pop(), new Blob([data]))));
		if (IMAGES[ext]) return h('div', bar, h('img.media', {src: URL.createObjectURL(new Blob([data], {type: IMAGES[ext]})), alt: path}));
		if (data.byteLength > SHOWN || new Uint8Array(data.slice(0, 4096)).includes(0)) return h('div', bar, empty(data.byteLength > SHOWN ? 'The file is large' : 'The file is not text', 'Download it to see its content.'));
		const text = new TextDecoder().decode(data), view = h('div', long(text));
		if (may('run')) bar.append(act('Edit', () => {
			const area = h('textarea', {rows: 28, 'aria-label': 'Content of ' + path, spellcheck: 'false'});
			area.value = text;
			fill(view, area, h('div.buttons', act('Discard', again), act('Save', async () => { await call('PUT', base + '/file' + query({path}), area.value, {raw: true}); again(); return 'Saved'; }, {class: 'primary'})));
			area.focus();
		}));
		return h('div', bar, view);
	}
	async function upload(path) {
		const v = await ask('Upload files', h('input', {type: 'file', name: 'files', multiple: true, 'aria-label': 'Files'}), {ok: 'Upload'});
		if (!v?.files?.length) return;
		const bar = h('progress', {max: v.files.length, value: 0, 'aria-label': 'Upload'});
		body.prepend(bar);
		for (const f of v.files) { await call('PUT', base + '/file' + query({path: (path ? path + '/' : '') + f.name}), f, {raw: true}); bar.value++; }
		again();
		return `Uploaded ${plural(v.files.length, 'file')}`;
	}
	fill(body, busy());
	try { await (views[tab] ?? views.files)(); } catch (error) { fill(body, failure(error, again)); }
	return {};
}
