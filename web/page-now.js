// Now: every active run, the queue, gauges of the host; bulk actions.
import {h, add, fill, age, since, state, act, toast, ask, confirm, money, count, bytes, plural, empty, select, short, link, failure, seg} from './dom.js';
import {get, post, patch, query, may, has} from './api.js';
import {onHost, onLink} from './live.js';
import {list} from './list.js';

const filters = ['agent', 'state', 'kind', 'tag', 'longer'];

// What the run does, in one word that is true.
function doing(r) {
	if (r.state === 'running' && r.phase === 'waiting') return 'waiting';
	return r.state;
}
function kind(r) {
	if (r.parent) return 'child run';
	const by = r.submitted_by ?? '';
	return by.startsWith('channel') ? 'message' : by.startsWith('http') ? 'http' : by.startsWith('experiment') ? 'experiment' : by ? 'command' : 'idle worker';
}

export async function open(box, words, values) {
	const filter = Object.fromEntries(filters.map(f => [f, values[f] ?? '']));
	const picked = new Set();
	let runs = [], health = {}, timer = 0, closed = false, pending = false;
	const gauges = h('div.gauges'), head = h('div.bar'), bulk = h('div.bar'), rest = h('div');
	const rows = list({key: r => r.id, height: innerWidth <= 900 ? 54 : 32, label: 'Active and queued runs', render});
	rows.classList.add('runs');
	const heading = h('div.runs-head', {'aria-hidden': 'true'}, ['', 'Agent · session', 'State', 'Doing', 'Age', 'Last', 'Tokens', 'Cost', 'Memory'].map((t, i) => h('span', {class: i > 3 ? 'num' : null}, t)));
	add(box, [h('div.head', h('h1', 'Now'), h('span.grow'), may('run') ? act('Start a run', startRun, {class: 'primary'}) : null), gauges, head, bulk, heading, rows, rest]);

	function render(r, row) {
		const what = doing(r);
		const tick = h('input', {type: 'checkbox', checked: picked.has(r.id), 'aria-label': 'Select run ' + r.id, disabled: r.state === 'idle', onchange: e => { e.target.checked ? picked.add(r.id) : picked.delete(r.id); showBulk(); }});
		add(row, [tick,
			h('a', {href: '#/run/' + seg(r.id), title: r.agent + ' · ' + r.session}, r.agent, h('span.dim', ' · ' + (r.session === r.id ? short(r.id) : r.session))),
			h('span', state(r.severity === 'error' && what === 'running' ? 'stuck' : what, what)),
			h('span.doing', what === 'waiting' && r.waits_for ? [h('a', {href: '#/approvals/' + seg(r.approval)}, 'you: ' + r.waits_for), h('span.dim', ' for '), since(r.waits_since)]
				: r.state === 'queued' ? h('span.dim', 'in the queue') : [r.phase, r.attempt > 1 ? ' · attempt ' + r.attempt : '', r.health && r.health !== 'ok' && r.health !== r.phase ? h('span.dim', ' · ' + r.health) : null]),
			h('span.num.wide', since(r.created_at)), h('span.num.wide', r.last_at ? since(r.last_at) : '–'),
			h('span.num.wide', {title: `${r.input_tokens} in, ${r.output_tokens} out`}, r.input_tokens + r.output_tokens ? count(r.input_tokens + r.output_tokens) : '–'),
			h('span.num.wide', money(r.cost_micros)), h('span.num.wide', r.rss ? h('span', {title: `${plural(r.processes ?? 0, 'process', 'processes')}, ${age(r.cpu_ms ?? 0)} CPU`}, bytes(r.rss)) : '–')]);
		link(row, '#/run/' + seg(r.id));
		row.tabIndex = -1;
	}

	const wanted = r => (!filter.agent || r.agent === filter.agent) && (!filter.state || doing(r) === filter.state) && (!filter.kind || kind(r) === filter.kind)
		&& (!filter.tag || (r.tags ?? []).includes(filter.tag)) && (!filter.longer || (doing(r) === 'waiting' && Date.now() - (r.waits_since ?? Date.now()) >= filter.longer * 60000));

	function show() {
		const shown = runs.filter(wanted);
		rows.items = shown;
		heading.hidden = rows.hidden = shown.length === 0;
		fill(rest, shown.length ? null : runs.length ? empty('No run matches the filter', `${plural(runs.length, 'run')} hidden.`, h('a', {href: '#/now'}, 'Clear the filter'))
			: empty('Nothing runs', 'Active and queued runs appear here by themselves.', h('p', h('code', 'skep run AGENT "PROMPT"')), h('a', {href: '#/now/ended'}, 'Show ended runs')));
		for (const id of picked) if (!runs.some(r => r.id === id)) picked.delete(id);
		showBulk();
	}
	function showGauges() {
		const g = (n, text, tone) => h('span.gauge', {class: tone}, h('b', n), text);
		const waiting = runs.filter(r => doing(r) === 'waiting').length;
		fill(gauges, g(health.active ?? 0, 'active'), g(waiting, 'waiting for you'), g(health.queued ?? 0, 'queued'), g(health.idle ?? 0, 'idle workers'), g(bytes(health.disk_free), 'disk free'),
			health.disk && health.disk !== 'ok' ? state('warning', 'disk ' + health.disk) : null, health.read_only ? state('failed', 'read only') : null, health.stopping ? state('ending', 'stopping') : null,
			h('span.grow'), h('a', {href: '#/now/ended'}, 'Ended runs'));
	}
	function showFilters() {
		const set = (name, value) => { filter[name] = value; location.hash = '#/now' + query(filter); };
		const options = (name, f) => [['', 'Any ' + name], ...[...new Set(runs.map(f).filter(Boolean).concat(filter[name] || []))].sort()];
		fill(head, select(options('agent', r => r.agent), filter.agent, v => set('agent', v), {'aria-label': 'Agent', 'data-search': ''}),
			select(options('state', doing), filter.state, v => set('state', v), {'aria-label': 'State'}), select(options('kind', kind), filter.kind, v => set('kind', v), {'aria-label': 'Kind'}),
			select([['', 'Any tag'], ...[...new Set(runs.flatMap(r => r.tags ?? []).concat(filter.tag || []))].sort()], filter.tag, v => set('tag', v), {'aria-label': 'Tag'}),
			select([['', 'Waiting any time'], ['1', 'Waiting > 1 min'], ['10', 'Waiting > 10 min'], ['60', 'Waiting > 1 h'], ['1440', 'Waiting > 1 d']], filter.longer, v => set('longer', v), {'aria-label': 'Waiting longer than'}));
	}
	function showBulk() {
		const shown = runs.filter(wanted).filter(r => r.state !== 'idle');
		const target = picked.size ? shown.filter(r => picked.has(r.id)) : Object.values(filter).some(Boolean) ? shown : [];
		const key = target.map(r => r.id).join();
		if (bulk.key === key && bulk.childElementCount) return;
		bulk.key = key;
		fill(bulk, target.length && may('run') ? [h('span.dim', plural(target.length, 'run') + (picked.size ? ' selected' : ' match')),
			act('Cancel…', () => bulkAct('Cancel', target)), act('Retry…', () => bulkAct('Retry', target)), may('admin') ? act('Archive sessions…', () => bulkAct('Archive', target)) : null,
			picked.size ? act('Clear', () => { picked.clear(); rows.redraw(); showBulk(); }) : null] : null);
	}

	// Shows what will be affected, then does it, with progress.
	async function bulkAct(verb, target) {
		const texts = {Cancel: 'These runs and their child runs end. Their files and transcripts are kept.', Retry: 'A new run with the same input starts for each of them.', Archive: 'The sessions of these runs are archived. Nothing is deleted.'};
		const subjects = verb === 'Archive' ? [...new Map(target.map(r => [r.agent + '/' + r.session, r])).values()] : target;
		const noun = verb === 'Archive' ? 'session' : 'run';
		const ok = await confirm(`${verb} ${plural(subjects.length, noun)}?`, [h('p', texts[verb]), h('div.scroll', h('ul', subjects.slice(0, 50).map(r => h('li', r.agent + ' · ' + r.session + ' ', h('span.dim', verb === 'Archive' ? '' : short(r.id) + ' ' + doing(r))))), subjects.length > 50 ? h('p.dim', `and ${subjects.length - 50} more`) : null)], `${verb} ${plural(subjects.length, noun)}`, verb === 'Cancel');
		if (!ok) return;
		const bar = h('progress', {max: subjects.length, value: 0, 'aria-label': 'Progress'});
		fill(bulk, bar);
		let done = 0;
		const bad = [];
		for (const r of subjects) {
			try {
				if (verb === 'Cancel') await post(`v1/runs/${seg(r.id)}/cancel`, {reason: 'dashboard'});
				else if (verb === 'Retry') await post(`v1/runs/${seg(r.id)}/retry`);
				else await patch(`v1/sessions/${seg(r.agent)}/${seg(r.session)}`, {status: 'archived'});
			} catch (error) { bad.push(`${r.agent} · ${r.session}: ${error.message}`); }
			bar.value = ++done;
		}
		picked.clear();
		bulk.key = null;
		if (bad.length) toast(`${bad.length} of ${subjects.length} failed. ${bad[0]}`, 'bad');
		else toast(`${verb}: ${plural(subjects.length, noun)}`);
		load();
	}

	async function load() {
		if (closed) return;
		pending = false;
		const [active, now] = await Promise.all([get('v1/active?queued=1&limit=1000'), get('v1/health')]);
		if (closed) return;
		const old = new Map(runs.map(r => [r.id, r]));
		runs = active.items.map(r => {
			const was = old.get(r.id);
			if (was) { r.rss ??= was.rss; r.processes ??= was.processes; r.cpu_ms ??= was.cpu_ms; }
			return was && same(was, r) ? was : r;
		});
		health = now;
		showGauges(); showFilters(); show();
		measure();
	}
	const same = (a, b) => Object.keys(b).every(k => k === 'age_ms' || k === 'silent_ms' || JSON.stringify(a[k]) === JSON.stringify(b[k]));

	// Memory and CPU of the runs on the screen.
	let measured = 0;
	async function measure() {
		if (!has('GET', '/v1/usage') || Date.now() - measured < 3000) return;
		measured = Date.now();
		const ids = [...rows.querySelectorAll('.row')].map(r => r.item).filter(r => r && r.state !== 'queued').map(r => r.id).slice(0, 100);
		if (!ids.length) { measured = 0; return; }
		const {items} = await get('v1/usage' + query({runs: ids.join(';')})).catch(() => ({items: []}));
		const by = new Map(items.map(i => [i.id, i]));
		runs = runs.map(r => by.has(r.id) ? {...r, ...by.get(r.id)} : r);
		if (!closed) show();
	}

	// Events come in bursts; a list is read at most four times per second.
	function soon() {
		if (pending || closed) return;
		pending = true;
		timer = setTimeout(() => load().catch(() => { pending = false; }), 250);
	}
	const ended = words[0] === 'ended';
	if (ended) return openEnded(box, values);
	await load();
	const stops = [onHost(event => { if (['run', 'approval', 'agent'].includes(event)) soon(); }), onLink(l => { if (l.state === 'live') soon(); })];
	return {
		close() { closed = true; clearTimeout(timer); stops.forEach(s => s()); },
		shown() { rows.draw(); measure(); },
		moved(w, v) { if (w.length) return false; for (const f of filters) filter[f] = v[f] ?? ''; showFilters(); show(); return true; },
		enter() { const r = rows.selected; if (r) location.hash = '#/run/' + seg(r.id); },
		key(k) { if (k === 'x' && rows.selected) { const id = rows.selected.id; picked.has(id) ? picked.delete(id) : picked.add(id); rows.redraw(); showBulk(); } },
	};
}

export async function startRun(preset = {}) {
	const {items} = await get('v1/agents?limit=1000');
	if (!items.length) { toast('There is no agent yet. The page Agents creates one.', 'wait'); return; }
	const v = await ask('Start a run', [h('label.field', h('span', 'Agent'), select(items.map(a => a.name), preset.agent ?? items.find(a => a.is_default)?.name ?? items[0].name, null, {name: 'agent'})),
		h('label.field', h('span', 'Prompt'), h('textarea', {name: 'prompt', rows: 6, required: true}, preset.prompt ?? '')),
		h('label.field', h('span', 'Session (empty: a new one)'), h('input', {name: 'session', value: preset.session ?? ''})),
		h('label.field', h('span', 'Tags, separated by spaces'), h('input', {name: 'tags'}))], {ok: 'Start'});
	if (!v) return;
	const run = await post('v1/runs', {agent: v.agent, prompt: v.prompt, ...(v.session ? {session: v.session} : {}), ...(v.tags.trim() ? {tags: v.tags.trim().split(/\s+/)} : {})});
	location.hash = '#/run/' + seg(run.id);
}

// Ended runs, newest first.
async function openEnded(box, values) {
	const body = h('div'), more = h('div.bar');
	fill(box, h('div.head', h('h1', 'Ended runs'), h('span.grow'), h('a', {href: '#/now'}, 'Active runs')),
		h('div.bar', select([['', 'Any state'], 'succeeded', 'failed', 'cancelled', 'timed_out'], values.state ?? '', v => { location.hash = '#/now/ended' + query({...values, state: v}); }, {'aria-label': 'State', 'data-search': ''})), body, more);
	const rows = list({key: r => r.id, height: innerWidth <= 900 ? 54 : 32, label: 'Ended runs', render(r, row) {
		add(row, [h('span'), h('a', {href: '#/run/' + seg(r.id)}, r.agent, h('span.dim', ' · ' + r.session)), h('span', state(r.state)), h('span.doing.dim', r.reason + (r.detail ? ': ' + r.detail : '')),
			h('span.num.wide', age((r.ended_at ?? r.created_at) - r.created_at)), h('span.num.wide', since(r.ended_at)), h('span.num.wide', count(r.input_tokens + r.output_tokens)), h('span.num.wide', money(r.cost_micros)), h('span.wide', (r.tags ?? []).map(t => h('span.tag', t)))]);
		link(row, '#/run/' + seg(r.id));
		row.tabIndex = -1;
	}});
	rows.classList.add('runs');
	let items = [], next = null;
	async function load() {
		const page = await get('v1/runs' + query({state: values.state, agent: values.agent, tag: values.tag, before: next, limit: 200}));
		items = items.concat(page.items.filter(r => r.ended_at));
		next = page.next;
		rows.items = items;
		fill(more, next ? act('Load more', load) : null);
	}
	await load();
	fill(body, items.length ? rows : empty('No run has ended yet', 'Runs stay here until retention deletes them.'));
	return {shown: () => rows.draw(), enter() { if (rows.selected) location.hash = '#/run/' + seg(rows.selected.id); }};
}
