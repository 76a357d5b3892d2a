// Run: the transcript as it grows, timeline, cost per step, files, attempts.
import {h, add, fill, age, since, state, act, toast, ask, confirm, money, count, bytes, clock, plural, empty, failure, busy, short, table, download, field, seg} from './dom.js';
import {get, post, put, all, query, may, has, call, root} from './api.js';
import {onHost, follow} from './live.js';
import {failed, textOf, toolOf} from './transcript.js';
import {long, diff} from './text.js';
import {startRun} from './page-now.js';

const over = r => ['succeeded', 'failed', 'cancelled', 'timed_out'].includes(r.state);
const tabs = [['', 'Transcript'], ['timeline', 'Timeline'], ['cost', 'Cost'], ['files', 'Files'], ['attempts', 'Attempts'], ['details', 'Details']];

export async function open(box, words, values) {
	const id = words[0];
	let run = await get('v1/runs/' + seg(id)), tab = words[1] ?? '', view = null, closed = false, timer = 0;
	const head = h('div.head'), verbs = h('div.bar'), note = h('div'), tabBar = h('div.tabs', {role: 'navigation', 'aria-label': 'Views of the run'}), body = h('div');
	add(box, [head, verbs, note, tabBar, body]);

	function showHead() {
		fill(head, h('h1', h('a', {href: '#/sessions/' + seg(run.agent)}, run.agent), ' · ', h('a', {href: `#/sessions/${seg(run.agent)}/${seg(run.session)}`}, run.session === run.id ? 'own session' : run.session)), state(run.state),
			run.state === 'running' && run.health && !['ok', 'running'].includes(run.health) ? run.health === 'idle' ? state('waiting') : state(run.severity === 'ok' ? 'waiting' : 'warning', run.health) : null, h('span.dim.mono', {title: 'Run id'}, run.id),
			h('span.dim', over(run) ? ['took ', age(run.ended_at - run.created_at)] : ['for ', since(run.created_at)]), h('span.dim', count(run.input_tokens + run.output_tokens), ' tokens'), h('span.dim', money(run.cost_micros)),
			(run.tags ?? []).map(t => h('span.tag', t)));
		fill(note, run.detail || (over(run) && run.state !== 'succeeded') ? h('p', {class: run.state === 'failed' ? 'notice' : 'dim'}, run.reason, run.detail ? ': ' + run.detail : '') : null, run.note ? h('p.notice', 'Note: ' + run.note) : null);
		fill(tabBar, tabs.map(([name, title]) => h('a', {href: `#/run/${seg(id)}${name ? '/' + name : ''}`, 'aria-current': name === tab ? 'page' : null}, title)));
		showVerbs();
	}
	function showVerbs() {
		const verb = (name, done, body) => async () => { await post(`v1/runs/${seg(id)}/${name}`, body ?? {}); soon(); return done; };
		const live = !over(run), can = may('run');
		const key = run.state + can;
		if (verbs.key === key) return;
		verbs.key = key;
		fill(verbs, can && live ? act('Stop', async () => {
			if (await confirm('Cancel this run?', [h('p', 'The run and its child runs end. All their processes are ended; transcript and files are kept.')], 'Cancel 1 run')) return verb('cancel', 'The run is being cancelled', {reason: 'dashboard'})();
		}, {class: 'danger'}) : null,
		can && live && run.state !== 'paused' ? act('Pause', verb('pause', 'Paused')) : null, can && run.state === 'paused' ? act('Resume', verb('resume', 'Resumed')) : null,
		can && live ? act('Send a message…', async () => {
			const v = await ask('Send a message to the run', h('textarea', {name: 'text', rows: 4, required: true, 'aria-label': 'Message'}), {ok: 'Send'});
			if (v?.text) return verb('messages', 'Sent', {text: v.text})();
		}) : null,
		can && !live ? act('Retry', async () => { const next = await post(`v1/runs/${seg(id)}/retry`); location.hash = '#/run/' + seg(next.id); return 'A new run started'; }) : null,
		can ? act('Run again with changes…', async () => { const input = await get(`v1/runs/${seg(id)}/input`); return startRun({agent: run.agent, prompt: input.prompt}); }) : null,
		can ? act('Note…', async () => {
			const v = await ask('Note on this run', h('textarea', {name: 'text', rows: 3, 'aria-label': 'Note'}, run.note ?? ''), {ok: 'Save'});
			if (v) return verb('note', 'Saved', {text: v.text})();
		}) : null,
		h('span.grow'), act('Download JSONL', downloadLog, {title: 'The same bytes as: skep logs --json ' + id}));
	}
	async function downloadLog() {
		const pages = [];
		let after = null;
		do {
			const answer = await call('GET', `v1/runs/${seg(id)}/log` + query({after}), undefined, {as: 'response'});
			pages.push(await answer.blob());
			after = answer.headers.get('Skep-Next');
		} while (after);
		download(id + '.jsonl', new Blob(pages));
	}

	// --- views ------------------------------------------------------------------
	const views = {
		async ''() {
			const t = document.createElement('skep-transcript');
			const find = searchBar(t);
			t.live = !over(run);
			t.href = seq => `#/run/${seg(id)}?at=${seq}`;
			const tools = e => may('run') ? [act('Fork', () => forkAt(e.seq)), act('Rewind', () => rewindTo(e.seq), {class: 'danger'})] : null;
			fill(body, find.bar, t);
			t.addEventListener('skep-status', e => soon());
			return {t, find, shown: () => t.start(run, {tools, at: Number(values.at) || 0})};
		},
		async timeline() { fill(body, busy('Reading events…')); fill(body, waterfall(await steps())); },
		async cost() { fill(body, busy('Reading events…')); fill(body, costs(await steps())); },
		async files() { await showFiles(); },
		async attempts() {
			const [moves, commands] = await Promise.all([get(`v1/runs/${seg(id)}/transitions`), get(`v1/runs/${seg(id)}/commands`)]);
			fill(body, h('section.panel', h('h2', 'Transitions'), table([['Time', t => clock(t.at)], ['Attempt', t => t.attempt, 'num'], ['From', t => t.from_state ? state(t.from_state) : '–'], ['To', t => state(t.to_state)], ['Reason', t => [t.reason, t.detail ? h('span.dim', ' ' + t.detail) : null]]], moves.items, {label: 'Transitions'})),
				h('section.panel', h('h2', 'Commands'), commands.items.length ? table([['Time', c => clock(c.created_at ?? c.at ?? c.asked_at)], ['Verb', c => c.verb], ['State', c => state(c.state)], ['By', c => c.by ?? c.sent_by ?? '']], commands.items, {label: 'Commands'}) : h('p.dim', 'No command was sent to this run.')));
		},
		async details() {
			const [input, boxes] = await Promise.all([get(`v1/runs/${seg(id)}/input`), get('v1/sandboxes')]);
			const sandbox = boxes.items.find(s => s.run === id);
			const rows = Object.entries(run).filter(([, v]) => v !== null && v !== '' && typeof v !== 'object').map(([k, v]) => [h('dt', k.replace(/_/g, ' ')), h('dd', /_at$/.test(k) ? clock(v) : k === 'parent' || k === 'retry_of' ? h('a', {href: '#/run/' + seg(v)}, v) : String(v))]);
			fill(body, h('section.panel', h('h2', 'Input'), long(input.prompt ?? '')), h('section.panel', h('h2', 'Sandbox and limits'), sandbox ? h('dl', h('dt', 'mode'), h('dd', sandbox.mode), h('dt', 'network'), h('dd', sandbox.network), Object.entries(sandbox.limits ?? {}).map(([k, v]) => [h('dt', k.replace(/_/g, ' ')), h('dd', typeof v === 'object' ? JSON.stringify(v) : String(v))])) : h('p.dim', over(run) ? 'The sandbox was removed with the run.' : 'The run has no sandbox.')),
				h('section.panel', h('h2', 'Run'), h('dl', rows)), (run.deliveries ?? []).length ? h('section.panel', h('h2', 'Deliveries'), table([['State', d => state(d.state)], ['Channel', d => d.channel], ['To', d => d.conversation ?? d.peer ?? '']], run.deliveries, {href: d => '#/channels/deliveries/' + seg(d.id)})) : null);
		},
	};

	// Steps for timeline and cost: all events, at most 20,000 of them.
	async function steps() {
		const events = [];
		let after = 0;
		do {
			const page = await get(`v1/runs/${seg(id)}/events${query({after: after || null, limit: 1000})}`);
			events.push(...page.items);
			after = page.next;
		} while (after && events.length < 20000);
		return events;
	}
	function waterfall(events) {
		if (!events.length) return empty('No events yet');
		const start = events[0].at, end = Math.max(run.ended_at ?? Date.now(), events.at(-1).at, start + 1);
		const lanes = [], open = new Map();
		events.forEach((e, i) => {
			const b = e.body ?? {}, until = events[i + 1]?.at ?? end;
			if (e.type === 'run_started') lanes.push({k: 'turn', name: 'Attempt ' + b.attempt, from: e.at, to: end, seq: e.seq});
			else if (e.type === 'tool_call') { const l = {k: 'tool', name: b.name ?? 'tool', from: e.at, to: until, seq: e.seq}; lanes.push(l); if (b.call_id) open.set(b.call_id, l); }
			else if (e.type === 'tool_result') { const l = open.get(b.call_id); if (l) { l.to = e.at; if (b.is_error) l.k = 'bad'; } }
			else if (e.type === 'approval') { const l = open.get('a' + b.key); if (l) l.to = e.at; else { const n = {k: 'wait', name: 'Approval: ' + (b.title ?? b.key), from: e.at, to: over(run) ? until : end, seq: e.seq}; lanes.push(n); open.set('a' + b.key, n); } }
			else if (e.type === 'message' && b.role !== 'user') { lanes.push({k: 'model', name: 'Answer' + (b.turn ? ' · turn ' + b.turn : ''), from: e.at, to: until, seq: e.seq}); for (const p of e.parts ?? []) if (p?.kind === 'tool') lanes.push({k: p.state === 'error' ? 'bad' : 'tool', name: '  ' + (p.name ?? 'tool'), from: e.at, to: until, seq: e.seq}); }
			else if (e.type === 'error') lanes.push({k: 'bad', name: 'Error', from: e.at, to: e.at, seq: e.seq});
		});
		for (const d of run.deliveries ?? []) lanes.push({k: 'turn', name: 'Delivery ' + d.state, from: d.created_at ?? end, to: d.delivered_at ?? d.updated_at ?? end});
		const svg = l => {
			const ns = 'http://www.w3.org/2000/svg', s = document.createElementNS(ns, 'svg'), r = document.createElementNS(ns, 'rect');
			s.setAttribute('viewBox', '0 0 1000 12'); s.setAttribute('preserveAspectRatio', 'none'); s.setAttribute('aria-hidden', 'true');
			r.setAttribute('x', (l.from - start) / (end - start) * 1000); r.setAttribute('width', Math.max(3, (l.to - l.from) / (end - start) * 1000)); r.setAttribute('height', 12);
			s.append(r);
			return s;
		};
		return h('section.panel.waterfall', h('h2', `${plural(lanes.length, 'step')} in ${age(end - start)}`), lanes.slice(0, 500).map(l => h('div.lane', {class: 'k-' + l.k}, h('a', {href: `#/run/${seg(id)}?at=${l.seq ?? ''}`, title: l.name}, l.name), svg(l), h('span.num.dim', age(l.to - l.from)))), lanes.length > 500 ? h('p.dim', `The first 500 of ${lanes.length} steps.`) : null);
	}
	function costs(events) {
		const rows = events.filter(e => e.type === 'usage');
		if (!rows.length) return empty('No usage was reported', 'The driver of this agent reports no tokens or cost.');
		const sum = k => rows.reduce((n, e) => n + (e.body[k] ?? 0), 0);
		return h('section.panel', h('h2', `${count(sum('input_tokens'))} in, ${count(sum('output_tokens'))} out, ${money(sum('cost_micros'))}`),
			table([['Step', e => h('a', {href: `#/run/${seg(id)}?at=${e.seq}`}, '#' + e.seq)], ['Time', e => clock(e.at)], ['Model', e => e.body.model ?? ''], ['Input', e => count(e.body.input_tokens), 'num'], ['Cached', e => count(e.body.cached_tokens), 'num'], ['Output', e => count(e.body.output_tokens), 'num'], ['Cost', e => money(e.body.cost_micros), 'num']], rows, {label: 'Usage per step'}));
	}
	async function showFiles() {
		const turn = Number(values.turn) || 0;
		fill(body, busy('Comparing the workspace…'));
		let changes;
		try { changes = (await get(`v1/runs/${seg(id)}/diff` + query({turn: turn || null}))).items; } catch (error) {
			fill(body, error.status === 501 || error.status === 409 || error.status === 404 ? empty('No changes are recorded', error.message) : failure(error, showFiles));
			return;
		}
		const pick = h('input', {type: 'number', min: 0, value: turn || '', placeholder: 'all', 'aria-label': 'Turn', onchange: e => { location.hash = `#/run/${seg(id)}/files` + query({turn: e.target.value}); }});
		fill(body, h('div.bar', h('label', 'Turn ', pick), h('span.dim', plural(changes.length, 'changed file')), h('span.grow'), may('run') && changes.length ? act('Revert…', async () => {
			if (!await confirm(`Revert ${plural(changes.length, 'file')}?`, [h('p', `The workspace gets the state before ${turn ? 'turn ' + turn : 'this run'} for:`), h('ul', changes.slice(0, 40).map(c => h('li', c.change + ' ' + c.path)))], `Revert ${plural(changes.length, 'file')}`)) return;
			await post(`v1/runs/${seg(id)}/revert`, turn ? {turn} : {});
			showFiles();
			return 'Reverted';
		}, {class: 'danger'}) : null), changes.length ? changes.map(c => {
			const d = h('details.panel', h('summary', h('b', {A: 'added ', D: 'deleted ', M: 'changed ', m: 'mode '}[c.change] ?? c.change + ' '), h('code', c.path)));
			d.addEventListener('toggle', async () => {
				if (!d.open || d.filled) return;
				d.filled = true;
				const wait = busy('Reading the diff…');
				d.append(wait);
				try { const r = await get(`v1/runs/${seg(id)}/diff` + query({turn: turn || null, path: c.path, patch: true})); wait.replaceWith(r.items.length ? diff(r.items.map(i => i.text ?? '').join('\n')) : h('p.dim', 'No text.')); } catch (error) { wait.replaceWith(failure(error)); }
			});
			return d;
		}) : empty('This run changed no files', turn ? 'Turn ' + turn + ' left the workspace as it was.' : ''));
	}

	async function forkAt(seq) {
		const v = await ask('Fork the session here', [h('p', `A new session starts with the events up to #${seq}. This session stays as it is.`), field('Name of the new session', h('input', {name: 'key', required: true, value: run.session + '-' + seq})), h('label', h('input', {type: 'checkbox', name: 'files', checked: true}), ' Fork the workspace at this point, too')], {ok: 'Fork'});
		if (!v) return;
		await post(`v1/sessions/${seg(run.agent)}/${seg(run.session)}/fork`, {key: v.key, at: seq, files: v.files});
		location.hash = `#/sessions/${seg(run.agent)}/${seg(v.key)}`;
	}
	async function rewindTo(seq) {
		const v = await ask('Rewind the session to this event?', [h('p', `All events after #${seq} are hidden from the agent. “Restore” in the session undoes this.`), h('label', h('input', {type: 'checkbox', name: 'files', checked: true}), ' Move the workspace to the same point, too')], {ok: `Rewind to #${seq}`, danger: true});
		if (!v) return;
		await post(`v1/sessions/${seg(run.agent)}/${seg(run.session)}/rewind`, {seq, files: v.files});
		location.hash = `#/sessions/${seg(run.agent)}/${seg(run.session)}`;
	}

	// Search: reads page by page from the current hit on, so that the first hit
	// appears at once, whatever the length.
	function searchBar(t) {
		const box = h('input', {type: 'search', placeholder: 'Search this run', 'aria-label': 'Search this run', 'data-search': ''});
		const regex = h('input', {type: 'checkbox'}), only = h('input', {type: 'checkbox'}), tool = h('input', {placeholder: 'Tool', 'aria-label': 'Tool name', size: 10}), info = h('span.dim', {role: 'status'});
		let at = 0, seeking = null;
		function matcher() {
			if (!box.value && !tool.value && !only.checked) return null;
			let re = null;
			if (box.value) try { re = new RegExp(regex.checked ? box.value : box.value.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'gi'); } catch (error) { info.textContent = 'The regular expression is invalid'; return null; }
			return {re, test: e => (!re || textOf(e).search(re) >= 0) && (!tool.value || toolOf(e).some(n => n.includes(tool.value))) && (!only.checked || failed(e))};
		}
		async function seek(direction) {
			const m = matcher();
			if (!m) { t.refresh(null); return; }
			seeking?.abort();
			const mine = seeking = new AbortController();
			let from = at, passed = 0;
			try {
				for (;;) {
					const after = direction > 0 ? from : Math.max(0, from - 501);
					const page = await get(`v1/runs/${seg(id)}/events` + query({after: after || null, limit: 500}), {signal: mine.signal});
					const items = direction > 0 ? page.items : page.items.filter(e => e.seq < from).reverse();
					const hit = items.find(m.test);
					if (hit) { at = hit.seq; info.textContent = 'Hit in #' + at; await t.show(at, m.re); return; }
					passed += items.length;
					info.textContent = `Searched ${count(passed)} events…`;
					if (direction > 0 ? !page.next : after === 0) { info.textContent = at ? 'No further hit' : 'No hit'; return; }
					from = direction > 0 ? page.next : after + 1;
				}
			} catch (error) { if (error.name !== 'AbortError') info.textContent = error.message; }
		}
		const begin = () => { at = 0; seek(1); };
		box.addEventListener('search', begin);
		box.addEventListener('keydown', e => { if (e.key === 'Enter') { e.preventDefault(); at ? seek(e.shiftKey ? -1 : 1) : begin(); } });
		for (const control of [box, regex, only, tool]) control.addEventListener('change', begin);
		return {seek, bar: h('div.bar', box, h('label', regex, ' Regex'), tool, h('label', only, ' Failed only'), act('Previous', () => seek(-1)), act('Next', () => seek(1)), info, h('span.grow'), act('End', () => t.toEnd(), {title: 'G'}))};
	}

	async function load() { run = await get('v1/runs/' + seg(id)); if (closed) return; showHead(); if (view?.t) view.t.live = !over(run); }
	function soon() { clearTimeout(timer); timer = setTimeout(() => load().catch(() => {}), 150); }
	async function show() {
		showHead();
		view = null;
		try { view = await (views[tab] ?? views[''])() ?? {}; } catch (error) { fill(body, failure(error, show)); }
	}
	await show();
	const stop = onHost((event, row) => { if (row.subject === id || (event === 'approval' && row.body?.run === id)) soon(); });
	const unfollow = over(run) ? () => {} : follow(id, run.last_seq, e => { if (e === 'status' || e === 'end') soon(); });
	return {
		close() { closed = true; clearTimeout(timer); stop(); unfollow(); },
		shown() { view?.shown?.()?.catch?.(error => toast(error.message, 'bad')); },
		moved(w, v) {
			values = v;
			if ((w[1] ?? '') === tab && tab === '' && view?.t) { if (v.at) view.t.show(Number(v.at)); return true; }
			tab = w[1] ?? '';
			show().then(() => view?.shown?.());
			return true;
		},
		key(k) { if (k === 'n') view?.find?.seek(1); else if (k === 'N') view?.find?.seek(-1); else if (k === 'G') view?.t?.toEnd(); },
	};
}
