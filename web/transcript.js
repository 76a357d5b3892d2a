// <skep-transcript>: the events of a run. Only those on the screen exist, and
// only pages around them are read, by sequence number; so half a million events
// open as fast as ten. Heights are estimated until a row has been measured.
import {h, add, fill, age, bytes, clock, count, money, state, act, toast, seg} from './dom.js';
import {get, root} from './api.js';
import {follow} from './live.js';
import {markdown, long, marked} from './text.js';

const ESTIMATE = 30, PAGE = 100, MARGIN = 600;

// Sums of heights: a Fenwick tree of differences to the estimate.
class Heights {
	constructor(n) { this.n = n; this.tree = new Float64Array(Math.max(1024, n * 2) + 1); this.own = new Map(); }
	grow(n) {
		if (n > this.tree.length - 1) {
			const own = this.own, next = new Heights(n);
			for (const [i, v] of own) next.set(i, v);
			this.tree = next.tree;
		}
		this.n = Math.max(this.n, n);
	}
	get(i) { return this.own.get(i) ?? ESTIMATE; }
	set(i, height) {
		const by = height - this.get(i);
		this.own.set(i, height);
		for (let k = i + 1; k < this.tree.length; k += k & -k) this.tree[k] += by;
		return by;
	}
	top(i) { let s = i * ESTIMATE; for (let k = i; k > 0; k -= k & -k) s += this.tree[k]; return s; }
	at(y) { // the row at a position
		let lo = 0, hi = this.n;
		while (lo < hi) { const m = (lo + hi) >> 1; if (this.top(m + 1) <= y) lo = m + 1; else hi = m; }
		return lo;
	}
}

export class Transcript extends HTMLElement {
	#run; #path; #watched = null; #first = 1; #events = new Map(); #pages = new Map(); #heights = new Heights(0); #rows = new Map();
	#space = h('div.space'); #frame = 0; #atEnd = true; #stop = null; #open = new Set(); #mark = null; #hit = 0;
	#sizes = new ResizeObserver(list => this.#measure(list));

	// A run, or with `path` another list of events, such as a session.
	async start(run, {tools, last, at, path} = {}) {
		this.#run = run;
		this.#path = path ?? `v1/runs/${seg(run.id)}/events`;
		this.tools = tools;
		this.setAttribute('role', 'log');
		this.setAttribute('aria-label', 'Transcript');
		this.tabIndex = 0;
		this.replaceChildren(this.#space);
		this.addEventListener('scroll', () => {
			this.#atEnd = this.scrollTop + this.clientHeight >= this.scrollHeight - 40;
			this.#later();
		}, {passive: true});
		const begin = await get(`${this.#path}?limit=${PAGE}`);
		this.#first = begin.items[0]?.seq ?? 1;
		this.#store(begin.items);
		this.#extend(Math.max(run.last_seq ?? 0, last ?? 0, begin.items.at(-1)?.seq ?? 0));
		if (at) { this.#atEnd = false; this.show(at); } else if (this.live) this.scrollTop = this.scrollHeight;
		this.#draw();
		if (run.id) this.watch(run.id);
		await this.#load(Math.max(this.#first, this.last - PAGE + 1));
	}
	// Shows what a run writes from now on.
	watch(id) {
		if (this.#watched === id) return;
		this.#stop?.();
		this.#watched = id;
		this.#stop = follow(id, this.last, (event, body) => this.#live(event, body));
	}
	disconnectedCallback() { this.#stop?.(); this.#sizes.disconnect(); cancelAnimationFrame(this.#frame); }
	get last() { return this.#first + this.#heights.n - 1; }
	get loaded() { return [...this.#events.values()].filter(Boolean); }

	#extend(seq) { this.#heights.grow(Math.max(0, seq - this.#first + 1)); }
	#store(items) {
		for (const e of items) {
			e.parts ??= [];
			this.#events.set(e.seq, e);
			this.dispatchEvent(new CustomEvent('skep-event', {detail: e}));
		}
	}
	#live(event, body) {
		if (event === 'event') {
			if (!this.#events.get(body.seq)) { body.parts ??= []; this.#events.set(body.seq, body); }
			this.#extend(body.seq);
			this.dispatchEvent(new CustomEvent('skep-event', {detail: body}));
			this.#stale(body.seq);
		} else if (event === 'part') {
			const e = this.#events.get(body.seq);
			if (!e) return;
			const p = e.parts[body.idx] ??= {idx: body.idx, text: ''};
			const {text, at, ...rest} = body;
			Object.assign(p, rest);
			if (text) p.text = (p.text ?? '').slice(0, at ?? 0) + text;
			this.#stale(body.seq);
		} else this.dispatchEvent(new CustomEvent('skep-status', {detail: {...body, end: event === 'end'}}));
	}
	#stale(seq) { const row = this.#rows.get(seq); if (row) row.stale = true; this.#later(); }

	// Reads the page that contains a sequence number, once.
	#load(seq) {
		const page = Math.max(0, Math.floor((seq - this.#first) / PAGE));
		if (!this.#pages.has(page)) this.#pages.set(page, (async () => {
			const from = this.#first + page * PAGE;
			try {
				const {items} = await get(`${this.#path}?after=${from - 1}&limit=${PAGE}`);
				const known = new Map(items.map(e => [e.seq, e]));
				for (let s = from; s < from + PAGE && s <= this.last; s++)
					if (!this.#events.has(s)) {
						if (known.has(s)) this.#store([known.get(s)]);
						else if (items.length < PAGE || s < items.at(-1).seq) { this.#events.set(s, null); this.#heights.set(s - this.#first, 0); }
					}
				this.#later();
			} catch (error) {
				setTimeout(() => { this.#pages.delete(page); this.#later(); }, 2000);
			}
		})());
		return this.#pages.get(page);
	}

	#later() { if (!this.#frame && this.isConnected) this.#frame = requestAnimationFrame(() => { this.#frame = 0; this.#draw(); }); }

	#draw() {
		const hs = this.#heights, total = hs.top(hs.n);
		this.#space.style.height = total + 'px';
		if (this.#atEnd && this.live) this.scrollTop = this.scrollHeight;
		const from = hs.at(Math.max(0, this.scrollTop - MARGIN)), to = Math.min(hs.n - 1, hs.at(this.scrollTop + this.clientHeight + MARGIN));
		for (const [seq, row] of this.#rows)
			if (seq < this.#first + from || seq > this.#first + to) { this.#sizes.unobserve(row); row.remove(); this.#rows.delete(seq); }
		for (let i = from; i <= to; i++) {
			const seq = this.#first + i, e = this.#events.get(seq);
			if (e === null) continue;
			if (e === undefined) this.#load(seq);
			let row = this.#rows.get(seq);
			if (!row) {
				row = h('div.event', {'data-seq': seq});
				this.#rows.set(seq, row);
				this.#space.append(row);
				this.#sizes.observe(row);
				row.stale = true;
			}
			if (row.stale || (e && !row.filled)) { row.stale = false; row.filled = Boolean(e); this.#fill(row, seq, e); }
			row.style.transform = `translateY(${hs.top(i)}px)`;
		}
	}
	#measure(list) {
		let above = 0, changed = false;
		for (const {target, borderBoxSize} of list) {
			if (!target.isConnected) continue;
			const i = target.dataset.seq - this.#first, height = borderBoxSize[0].blockSize;
			if (!target.filled || Math.abs(height - this.#heights.get(i)) < 0.5) continue;
			const was = this.#heights.top(i);
			const by = this.#heights.set(i, height);
			if (was < this.scrollTop) above += by;
			changed = true;
		}
		if (above && !this.#atEnd) this.scrollTop += above;
		if (changed) this.#later();
	}

	#fill(row, seq, e) {
		row.className = 'event' + (e && failed(e) ? ' is-failed' : '') + (e?.body?.role ? ' role-' + String(e.body.role).replace(/\W/g, '') : '')
			+ (seq === this.#hit ? ' is-hit is-current' : '');
		fill(row, h('a.seq', {href: this.href?.(seq) ?? '#', title: e ? new Date(e.at).toLocaleString() : ''}, '#' + seq),
			e ? view(e, this) : h('span.dim', '…'),
			e && this.tools ? h('div.event-tools', this.tools(e)) : null);
	}
	fold(key) { return {open: this.#open.has(key), ontoggle: ev => { if (ev.target.open) this.#open.add(key); else this.#open.delete(key); }}; }
	get mark() { return this.#mark; }

	// Scrolls to an event.
	async show(seq, mark) {
		this.#mark = mark ?? this.#mark;
		this.#hit = seq;
		this.#atEnd = false;
		await this.#load(seq);
		this.scrollTop = Math.max(0, this.#heights.top(seq - this.#first) - this.clientHeight / 3);
		for (const row of this.#rows.values()) row.stale = true;
		this.#draw();
		requestAnimationFrame(() => { this.scrollTop = Math.max(0, this.#heights.top(seq - this.#first) - this.clientHeight / 3); this.#later(); });
	}
	refresh(mark) { this.#mark = mark; for (const row of this.#rows.values()) row.stale = true; this.#later(); }
	toEnd() { this.#atEnd = true; this.scrollTop = this.scrollHeight; this.#later(); }
	set live(value) { this.toggleAttribute('live', value); }
	get live() { return this.hasAttribute('live'); }
}
customElements.define('skep-transcript', Transcript);

export function failed(e) {
	const b = e.body ?? {};
	return e.type === 'error' || b.is_error === true || b.error || (e.type === 'run_finished' && b.outcome && b.outcome !== 'succeeded')
		|| (e.parts ?? []).some(p => p?.state === 'error');
}

// The text of an event, for search.
export function textOf(e) {
	const b = e.body ?? {};
	return [plain(b.text), plain(b.content), b.summary, b.title, b.note, b.name, b.reason,
		...(e.parts ?? []).map(p => p && [p.name, p.text, json(p.input), json(p.output)].filter(Boolean).join('\n')),
		b.input ? json(b.input) : '', b.args ? json(b.args) : ''].filter(Boolean).join('\n');
}
export const toolOf = e => [e.body?.name, ...(e.parts ?? []).map(p => p?.name)].filter(Boolean);

const json = v => v === null || v === undefined ? '' : typeof v === 'string' ? v : JSON.stringify(v, null, 2);
function plain(v) {
	if (typeof v === 'string') return v;
	if (Array.isArray(v)) return v.map(plain).join('');
	return v?.text ?? '';
}
function raw(body) {
	if (typeof body?.base64 === 'string') try { return atob(body.base64); } catch { return body.base64; }
	return plain(body?.text ?? body?.content);
}

const label = (text, ...more) => h('div', h('span.who', text), more);
const body = (t, text) => t.mark ? h('div.body', long(text, t.mark)) : h('div.body', markdown(text));

function folded(t, key, title, ...content) {
	const box = h('details.tool', t.fold(key), h('summary', title));
	const render = () => { if (box.open && !box.rendered) { box.rendered = true; add(box, content.map(c => typeof c === 'function' ? c() : c)); } };
	box.addEventListener('toggle', render);
	render();
	return box;
}

function tool(t, key, name, input, output, status) {
	const out = json(output), inp = json(input);
	const hint = inp.replace(/\s+/g, ' ').slice(0, 90);
	return folded(t, key, [h('code', name || 'tool'), ' ', h('span.dim.mono', hint), ' ', status && status !== 'done' ? state(status) : null,
		out ? h('span.dim', ' → ' + bytes(out.length)) : null],
		inp && (() => h('div', h('h3', 'Input'), long(inp, t.mark))), out && (() => h('div', h('h3', 'Output'), long(out, t.mark))));
}

function part(t, e, p) {
	if (!p) return null;
	const key = e.seq + '.' + p.idx;
	if (p.kind === 'text') return body(t, p.text ?? '');
	if (p.kind === 'reasoning') return folded(t, key, 'Reasoning', () => h('div.reason', long(p.text ?? '', t.mark)));
	if (p.kind === 'tool') return tool(t, key, p.name, p.input, p.output ?? p.text, p.state);
	if (p.kind === 'file') return attachment(p.meta?.media ?? p.meta?.id, p.name ?? p.meta?.name, p.meta?.type, p);
	return folded(t, key, p.kind + ' ' + (p.name ?? ''), () => long(json(p.text ?? p.meta), t.mark));
}

const IMAGES = /^image\/(png|jpeg|gif|webp)$/;

// An attachment: images are shown from their bytes, as images only.
export function attachment(media, name, type, data = {}) {
	const title = name || media || 'attachment';
	const box = h('div.file', h('span.dim', 'Attachment '), h('span', title), ' ', h('span.dim', type ?? ''));
	const inlineData = data.base64 ?? data.data;
	if (typeof inlineData === 'string' && IMAGES.test(type ?? '')) box.append(h('img.media', {src: `data:${type};base64,${inlineData}`, alt: title, loading: 'lazy'}));
	else if (media) {
		const load = async () => {
			const answer = await fetch(new URL('v1/media/' + seg(media), root));
			if (!answer.ok) throw new Error('skepd no longer has this attachment');
			return answer.arrayBuffer();
		};
		if (IMAGES.test(type ?? '')) load().then(b => box.append(h('img.media', {src: URL.createObjectURL(new Blob([b], {type})), alt: title}))).catch(() => {});
		box.append(' ', act('Download', async () => {
			const {download} = await import('./dom.js');
			download(title, new Blob([await load()]));
		}));
	}
	return box;
}

const phrases = {run_started: 'Attempt started', run_finished: 'Run finished', cancelled: 'Run cancelled', compaction: 'Context compacted'};

function view(e, t) {
	const b = e.body ?? {};
	switch (e.type) {
	case 'message': {
		const who = b.role === 'user' ? 'User' : b.role === 'assistant' ? 'Agent' : b.role ?? 'Message';
		const own = plain(b.text ?? b.content);
		const files = [b.attachments, b.files, Array.isArray(b.content) ? b.content.filter(c => c?.type && c.type !== 'text') : []].flat().filter(Boolean);
		return [label(who, h('span.dim', b.model ?? '')), own && !e.parts.some(p => p?.kind === 'text') ? body(t, own) : null, e.parts.map(p => part(t, e, p)),
			files.map(f => attachment(f.media ?? f.id, f.name, f.type?.includes('/') ? f.type : f.mime ?? f.mimeType ?? f.media_type, f))];
	}
	case 'system': return folded(t, e.seq, 'System prompt', () => long(plain(b.content ?? b.text), t.mark));
	case 'tool_call': return tool(t, e.seq, b.name, b.input ?? b.args ?? b.arguments, b.output ?? b.text, null);
	case 'tool_result': return tool(t, e.seq, 'result ' + (b.name ?? ''), null, b.text ?? b.output ?? b.content, b.is_error ? 'error' : null);
	case 'output': case 'stderr': {
		const text = raw(b);
		return text.length > 400 ? [label(e.type === 'stderr' ? 'stderr' : 'Output'), long(text, t.mark)]
			: h('pre', {class: e.type === 'stderr' ? 'reason' : null}, t.mark ? marked(text, t.mark) : text);
	}
	case 'usage': return label('Usage', h('span.dim', [b.model, b.input_tokens != null && count(b.input_tokens) + ' in', b.output_tokens != null && count(b.output_tokens) + ' out',
		b.cached_tokens ? count(b.cached_tokens) + ' cached' : null, b.cost_micros ? money(b.cost_micros) : null].filter(Boolean).join(' · ')));
	case 'approval': return label('Approval', b.title ?? b.key, ' ', state(b.state ?? 'open'), b.note ? h('span.dim', ' “' + b.note + '”') : null);
	case 'error': return label('Error', h('pre.tone-bad', plain(b.text ?? b.message ?? json(b))));
	case 'steer': return [label('Message to the run'), body(t, plain(b.text))];
	case 'note': return [label('Note'), body(t, plain(b.text))];
	case 'plan': return folded(t, e.seq, 'Plan', () => long(json(b.entries ?? b), t.mark));
	case 'run_started': case 'run_finished': case 'cancelled': case 'compaction':
		return label(phrases[e.type], b.attempt ? h('span.dim', 'attempt ' + b.attempt) : null, b.outcome ? state(b.outcome) : null,
			b.reason ? h('span.dim', ' ' + b.reason) : null, h('span.dim', ' ' + clock(e.at)), b.summary ? long(b.summary) : null);
	default: return folded(t, e.seq, e.type + (b.phase ? ' ' + b.phase : ''), () => long(json(b), t.mark));
	}
}
