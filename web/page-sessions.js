// Sessions: list, search over everything, branches, chat.
import {h, add, fill, since, state, act, toast, ask, confirm, clock, plural, empty, failure, busy, select, link, field, count, seg, bytes} from './dom.js';
import {get, post, patch, query, may, has, all} from './api.js';
import {onHost} from './live.js';
import {list} from './list.js';
import './transcript.js';

export async function open(box, words, values) {
	const agents = (await get('v1/agents?limit=1000')).items;
	const agent = words[0] ?? agents.find(a => a.is_default)?.name ?? agents[0]?.name;
	if (!agent) { fill(box, empty('There is no agent yet', 'A session belongs to an agent.', h('a', {href: '#/agents'}, 'Create an agent'))); return {}; }
	return words[1] ? openSession(box, agent, words[1], values) : openList(box, agent, agents, values);
}

async function openList(box, agent, agents, values) {
	const body = h('div'), more = h('div.bar');
	const find = h('input', {type: 'search', placeholder: 'Search all transcripts', 'aria-label': 'Search all transcripts', 'data-search': '', value: values.q ?? ''});
	find.addEventListener('keydown', e => { if (e.key === 'Enter') location.hash = `#/sessions/${seg(agent)}` + query({...values, q: find.value}); });
	const set = (k, v) => { location.hash = `#/sessions/${seg(agent)}` + query({...values, [k]: v}); };
	add(box, [h('div.head', h('h1', 'Sessions'), h('span.grow'), may('run') ? act('New chat', async () => {
		const v = await ask('Start a chat', field('Name of the session', h('input', {name: 'key', required: true, value: 'chat-' + new Date().toISOString().slice(0, 16).replace(/[:T]/g, '-')})), {ok: 'Start'});
		if (v) location.hash = `#/sessions/${seg(agent)}/${seg(v.key)}`;
	}, {class: 'primary'}) : null), h('div.bar', select(agents.map(a => a.name), agent, v => { location.hash = '#/sessions/' + seg(v); }, {'aria-label': 'Agent'}), find,
		select([['', 'Active'], ['archived', 'Archived'], ['deleted', 'Deleted']], values.status ?? '', v => set('status', v), {'aria-label': 'Status'}),
		select([['', 'Any kind'], 'chat', 'task', 'fork', 'subagent', 'import', 'system'], values.kind ?? '', v => set('kind', v), {'aria-label': 'Kind'}),
		h('a', {href: `#/sessions/${seg(agent)}` + query({...values, view: values.view === 'tree' ? '' : 'tree'})}, values.view === 'tree' ? 'Show as a list' : 'Show branches as a tree')), body, more]);
	if (values.q) {
		const found = has('GET', '/v1/search/{agent}') ? (await get(`v1/search/${seg(agent)}` + query({text: values.q, limit: 200, archived: true}))).items : [];
		fill(body, found.length ? [h('p.dim', plural(found.length, 'match', 'matches')), found.map(f => link(h('div.card', h('h2', f.session ?? f.sid, h('span.dim', ` #${f.seq} · ${f.type} · ${clock(f.at)}`)), h('p', f.snippet)), `#/sessions/${seg(agent)}/${seg(f.session ?? f.sid)}?at=${f.seq}`))]
			: empty('No match', 'All words must occur in one event.', h('a', {href: '#/sessions/' + seg(agent)}, 'Show all sessions')));
		return {};
	}
	let items = [], next = null;
	const read = async () => { const page = await get(`v1/sessions/${seg(agent)}` + query({status: values.status, kind: values.kind, all: values.view === 'tree' && !values.status, before: next, limit: 200})); items = items.concat(page.items); next = page.next; };
	try { await read(); } catch (error) { if (error.status !== 404) throw error; }
	if (!items.length) { fill(body, empty('No sessions', values.status ? 'None has this status.' : 'A session appears with the first run of the agent.')); return {}; }
	if (values.view === 'tree') { while (next && items.length < 5000) await read(); fill(body, tree(agent, items)); return {}; }
	const rows = list({key: s => s.id, height: innerWidth <= 900 ? 54 : 34, label: 'Sessions', render(s, row) {
		row.classList.add('session-row');
		add(row, [h('span', ''), h('a', {href: `#/sessions/${seg(agent)}/${seg(s.key ?? s.sid)}`}, s.key ?? s.sid, s.title ? h('span.dim', ' ' + s.title) : null), h('span', h('span.tag', s.kind)), h('span.doing.dim', [s.model, s.parent ? 'from ' + s.parent : null].filter(Boolean).join(' · ')), h('span.num.wide', count(s.events)), h('span.num.wide', since(s.active_at))]);
		link(row, `#/sessions/${seg(agent)}/${seg(s.key ?? s.sid)}`);
		row.tabIndex = -1;
	}});
	rows.classList.add('runs');
	rows.items = items;
	fill(body, h('div.runs-head.session-head', {'aria-hidden': 'true'}, ['', 'Session', 'Kind', '', 'Events', 'Active'].map((t, i) => h('span', {class: i > 3 ? 'num' : null}, t))), rows);
	const showMore = () => fill(more, next ? act('Load more', async () => { await read(); rows.items = items; showMore(); }) : null);
	showMore();
	const stop = onHost((event, row) => { if (event === 'run' && row.agent === agent) refresh(); });
	let timer = 0;
	const refresh = () => { clearTimeout(timer); timer = setTimeout(async () => { items = []; next = null; try { await read(); rows.items = items; } catch { /* the link says so */ } }, 500); };
	return {close() { stop(); clearTimeout(timer); }, shown: () => rows.draw(), enter() { const s = rows.selected; if (s) location.hash = `#/sessions/${seg(agent)}/${seg(s.key ?? s.sid)}`; }};
}

// Forks below the session that they were forked from.
function tree(agent, items) {
	const by = new Map(items.map(s => [s.id, {...s, kids: []}])), roots = [];
	for (const s of by.values()) (by.get(s.base)?.kids ?? roots).push(s);
	const node = s => h('li', h('a', {href: `#/sessions/${seg(agent)}/${seg(s.key ?? s.sid)}`}, s.key ?? s.sid), h('span.dim', ` ${s.title ?? ''} ${plural(s.events, 'event')}${s.base ? ' · forked at #' + s.base_seq : ''}`), s.kids.length ? h('ul', s.kids.map(node)) : null);
	return h('section.panel.tree', h('ul', roots.map(node)));
}

async function openSession(box, agent, key, values) {
	const path = `v1/sessions/${seg(agent)}/${seg(key)}`;
	let session = await get(path).catch(error => { if (error.status === 404) return null; throw error; });
	let run = null, begun = null, closed = false, started = false;
	const t = document.createElement('skep-transcript'), head = h('div.head'), bar = h('div.bar'), status = h('span.dim', {role: 'status'}), body = h('div', session ? t : empty('A new session', 'The first message creates it.'));
	const text = h('textarea', {rows: 3, placeholder: 'Message to ' + agent + ' (Ctrl+Enter sends)', 'aria-label': 'Message'}), files = h('input', {type: 'file', multiple: true, 'aria-label': 'Attachments'});
	const stopButton = act('Stop', async () => { if (run) { await post(`v1/runs/${seg(run)}/cancel`, {reason: 'stopped in the chat'}); return 'The run is being cancelled'; } }, {class: 'danger'});
	stopButton.hidden = true;
	const send = act('Send', sendMessage, {class: 'primary', title: 'Ctrl+Enter'});
	text.addEventListener('keydown', e => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) { e.preventDefault(); send.click(); } });
	add(box, [head, bar, body, may('run') ? h('div.chat-box', text, h('div.bar', send, stopButton, files, status)) : null]);

	function showHead() {
		fill(head, h('h1', h('a', {href: '#/sessions/' + seg(agent)}, agent), ' · ', session?.key ?? key), session ? [h('span.tag', session.kind), session.status !== 'active' ? state(session.status) : null, session.title ? h('span.dim', session.title) : null, session.workspace ? h('a', {href: `#/workspaces/${seg(agent)}/${seg(session.workspace)}`}, 'workspace ' + session.workspace) : null] : null);
		fill(bar, session && may('run') ? [act('Fork…', () => fork(0)), act('Restore', async () => { if (await confirm('Undo the last rewind?', 'The hidden events, and the files of that point, come back.', 'Restore', false)) { await post(path + '/restore', {}); location.reload(); } }, {title: 'Undo the last rewind'}),
			may('admin') ? act(session.status === 'archived' ? 'Unarchive' : 'Archive', async () => { session = await patch(path, {status: session.status === 'archived' ? 'active' : 'archived'}); showHead(); return session.status === 'archived' ? 'Archived; nothing was deleted' : 'Active again'; }) : null,
			may('admin') ? act('Title…', async () => { const v = await ask('Title', h('input', {name: 'title', value: session.title ?? '', 'aria-label': 'Title'}), {ok: 'Save'}); if (v) { session = await patch(path, {title: v.title || null}); showHead(); } }) : null] : null);
	}
	async function fork(at) {
		const v = await ask('Fork this session', [h('p', at ? `The new session has the events up to #${at}.` : 'The new session has all events.'), field('Name of the new session', h('input', {name: 'key', required: true, value: key + '-fork'})), h('label', h('input', {type: 'checkbox', name: 'files'}), ' Fork the workspace at this point, too')], {ok: 'Fork'});
		if (!v) return;
		await post(path + '/fork', {key: v.key, at, files: v.files});
		location.hash = `#/sessions/${seg(agent)}/${seg(v.key)}`;
	}
	async function rewind(at) {
		const v = await ask(`Rewind to #${at}?`, [h('p', `All events after #${at} are hidden from the agent. “Restore” undoes this.`), h('label', h('input', {type: 'checkbox', name: 'files', checked: true}), ' Move the workspace to the same point, too')], {ok: `Rewind to #${at}`, danger: true});
		if (!v) return;
		await post(path + '/rewind', {seq: at, files: v.files});
		location.reload();
	}
	async function sendMessage() {
		if (!text.value.trim()) return;
		const attachments = await Promise.all([...files.files].map(async f => ({name: f.name, base64: await base64(f)})));
		const made = await post('v1/runs', {agent, session: key, prompt: text.value, ...(attachments.length ? {attachments} : {})});
		text.value = '';
		files.value = '';
		await begin(made.id);
	}
	// The answer to a message and the host log both name a new run.
	async function begin(id) {
		if (begun === id) return;
		begun = run = id;
		stopButton.hidden = false;
		fill(status, 'working · ', h('a', {href: '#/run/' + seg(id)}, 'run'));
		if (!started) { session = await waitForSession(); fill(body, t); showHead(); await startTranscript(id); }
		t.live = true;
		t.watch(id);
		t.toEnd();
	}
	async function waitForSession() {
		for (let i = 0; i < 100 && !closed; i++) {
			const s = await get(path).catch(() => null);
			if (s) return s;
			await new Promise(r => setTimeout(r, 100));
		}
		return null;
	}
	async function startTranscript(id) {
		started = true;
		const rows = session ? (await get(`v1/sessions/${seg(agent)}` + query({prefix: session.key ?? key, all: true, limit: 50})).catch(() => ({items: []}))).items : [];
		const last = rows.find(s => s.key === session?.key)?.events ?? 0;
		t.href = seq => `#/sessions/${seg(agent)}/${seg(key)}?at=${seq}`;
		await t.start({id}, {path: path + '/events', last, at: Number(values.at) || 0, tools: e => may('run') ? [act('Fork', () => fork(e.seq)), act('Rewind', () => rewind(e.seq), {class: 'danger'})] : null});
		if (!values.at) t.toEnd();
	}
	t.addEventListener('skep-status', e => { if (e.detail.end) { run = null; stopButton.hidden = true; fill(status, state(e.detail.state), e.detail.detail ? ' ' + e.detail.detail : ''); } });
	const stop = onHost((event, row) => { if (event === 'run' && row.agent === agent && row.body?.session === key && ['starting', 'running'].includes(row.body?.state) && row.subject !== run) begin(row.subject).catch(() => {}); });
	showHead();
	return {
		close() { closed = true; stop(); },
		async shown() {
			text.focus?.();
			if (!session) return;
			const newest = (await get('v1/runs' + query({agent, session: key, limit: 1})).catch(() => ({items: []}))).items[0];
			const active = newest && !newest.ended_at;
			t.live = true;
			await startTranscript(active ? newest.id : null);
			if (active) begin(newest.id);
		},
		moved(w, v) { if (v.at && started) { t.show(Number(v.at)); return true; } return false; },
		key(k) { if (k === 'G') t.toEnd(); },
	};
}

async function base64(file) {
	const bytes = new Uint8Array(await file.arrayBuffer());
	let text = '';
	for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
	return btoa(text);
}
