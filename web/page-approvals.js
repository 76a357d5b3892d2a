// Approvals: one inbox for all agents, oldest first.
import {h, add, fill, since, age, state, act, toast, empty, clock, seg, short} from './dom.js';
import {get, post, all, may} from './api.js';
import {onHost, onLink} from './live.js';
import {long} from './text.js';

const later = new Set(JSON.parse(sessionStorage.getItem('skep-later') ?? '[]'));

export async function open(box, words) {
	const cards = new Map(), listBox = h('div'), note = h('p.dim');
	let closed = false, timer = 0;
	add(box, [h('div.head', h('h1', 'Approvals'), note), listBox]);

	function card(a) {
		const detail = typeof a.detail === 'string' ? a.detail : a.detail ? JSON.stringify(a.detail.input ?? a.detail.tool ?? a.detail, null, 2) : '';
		const choices = a.detail?.options ?? a.detail?.choices ?? [];
		const text = h('input', {placeholder: 'Note to the agent (optional)', 'aria-label': 'Note to the agent'});
		const answer = (allow, choice) => async () => {
			await post('v1/approvals/' + seg(a.id), {allow, ...(choice ? {choice} : {}), ...(text.value ? {note: text.value} : {})});
			el.remove(); cards.delete(a.id); show();
			return allow ? 'Allowed' : 'Denied';
		};
		const find = re => choices.find(c => re.test(c.kind ?? c.id ?? ''));
		const once = find(/allow_once|once/), always = find(/allow_always|always/), no = find(/reject_once|deny|reject/);
		const known = [once, always, no].filter(Boolean);
		const el = h('article.card', {tabindex: -1, 'aria-label': a.title, 'data-id': a.id, class: Date.now() - a.asked_at > 600000 && 'is-old'},
			h('h2', a.title), h('p.dim', h('b', a.agent), ' asks in ', h('a', {href: '#/run/' + seg(a.run)}, 'run ' + short(a.run)), ', ', since(a.asked_at), ' ago. ',
				a.expires_at ? `Without an answer it is ${a.fallback === 'allow' ? 'allowed' : 'denied'} at ${clock(a.expires_at)}.` : 'The run waits until you answer.'),
			detail ? h('details', {open: detail.length < 1500}, h('summary', 'What is requested'), long(detail)) : null,
			may('approve') ? [h('div.field', text), h('div.buttons', act('Not now', () => { later.add(a.id); sessionStorage.setItem('skep-later', JSON.stringify([...later])); el.classList.add('later'); show(); }, {title: 'Moves the card to the end. The run keeps waiting.'}),
				act('Deny', answer(false, no?.id), {class: 'danger'}), always ? act(always.name ?? 'Allow always', answer(true, always.id)) : null,
				choices.filter(c => !known.includes(c)).map(c => act(c.name ?? c.id, answer(!/reject|deny/.test(c.kind ?? ''), c.id))), act(once?.name ?? 'Allow once', answer(true, once?.id), {class: 'primary'}))]
				: h('p.dim', 'This login may not answer approvals.'));
		return el;
	}
	function show() {
		const order = [...cards.values()].sort((x, y) => later.has(x.a.id) - later.has(y.a.id) || x.a.asked_at - y.a.asked_at);
		if (!order.length) fill(listBox, empty('No open questions', 'When a run asks a question, its card appears here, oldest first.'));
		else {
			listBox.querySelector('.empty')?.remove();
			order.forEach((c, i) => { if (listBox.children[i] !== c.el) listBox.insertBefore(c.el, listBox.children[i] ?? null); });
		}
		note.textContent = order.length ? `${order.length} open` : '';
	}
	async function load() {
		const items = await all('v1/approvals', {state: 'open'}, 'before', 2000);
		if (closed) return;
		const now = new Set(items.map(a => a.id));
		for (const [id, c] of cards) if (!now.has(id)) { c.el.remove(); cards.delete(id); }
		for (const a of items) if (!cards.has(a.id)) cards.set(a.id, {a, el: card(a)});
		show();
	}
	await load();
	const soon = () => { clearTimeout(timer); timer = setTimeout(() => load().catch(() => {}), 80); };
	const stops = [onHost(e => { if (e === 'approval') soon(); }), onLink(l => { if (l.state === 'live') soon(); })];
	if (words[0] && !cards.has(words[0])) {
		const a = await get('v1/approvals/' + seg(words[0])).catch(() => null);
		if (a) box.prepend(h('div.notice', `“${a.title}” was answered: `, state(a.state), a.answered_by ? ` by ${a.answered_by}` : '', a.note ? ` “${a.note}”` : ''));
	}
	return {close() { closed = true; clearTimeout(timer); stops.forEach(s => s()); }, shown() { cards.get(words[0])?.el.focus(); }};
}
