// Plans: schedules with their next firings and log; budgets with what is used,
// reserved and left. Only what the server has is shown.
import {h, add, fill, act, state, empty, failure, table, money, count, age, clock, short, seg} from './dom.js';
import {get, post, has, may} from './api.js';
import {onHost} from './live.js';

const amount = (unit, n) => n === null || n === undefined ? '–' : unit === 'money' ? money(n) : unit === 'time' ? age(n) : count(n);

// used, reserved and left as a bar
function bar(b) {
	const ns = 'http://www.w3.org/2000/svg', svg = document.createElementNS(ns, 'svg'), total = Math.max(b.hard, (b.used ?? 0) + (b.reserved ?? 0), 1);
	svg.setAttribute('viewBox', '0 0 100 8');
	svg.setAttribute('preserveAspectRatio', 'none');
	svg.setAttribute('class', 'bars');
	svg.setAttribute('role', 'img');
	svg.setAttribute('aria-label', `${amount(b.unit, b.used)} used of ${amount(b.unit, b.hard)}`);
	let x = 0;
	for (const [n, kind] of [[b.used ?? 0, b.used >= b.hard ? 'bad' : 'used'], [b.reserved ?? 0, 'reserved']]) {
		const r = document.createElementNS(ns, 'rect');
		r.setAttribute('x', x);
		r.setAttribute('width', n / total * 100);
		r.setAttribute('height', 8);
		r.setAttribute('class', 'bar-' + kind);
		x += n / total * 100;
		svg.append(r);
	}
	return svg;
}

async function budgets() {
	const {items} = await get('v1/budgets');
	return h('section.panel', h('h2', 'Budgets'), items.length ? table([['Budget', b => h('b', b.name)], ['For', b => [b.per, b.agent, b.session, b.channel, b.subject].filter(Boolean).join(' · ')], ['Period', b => b.period], ['', bar, 'bar-cell'], ['Used', b => amount(b.unit, b.used), 'num'], ['Reserved', b => amount(b.unit, b.reserved), 'num'], ['Left', b => amount(b.unit, b.left ?? b.hard - (b.used ?? 0) - (b.reserved ?? 0)), 'num'], ['Limit', b => amount(b.unit, b.hard), 'num'], ['Then', b => b.at_hard]], items, {label: 'Budgets'})
		: empty('No budgets', 'A budget limits tokens, money, runs or time.', h('p', h('code', 'skep budget add day --unit money --hard 5'))));
}

async function schedules(again) {
	const {items} = await get('v1/schedules?limit=1000');
	const verb = (name, v, done) => async () => { await post(`v1/schedules/${seg(name)}/${v}`, undefined); again(); return done; };
	return h('section.panel', h('h2', 'Schedules'), items.length ? table([['Schedule', s => h('a', {href: '#/plans/' + seg(s.name)}, s.name)], ['State', s => state(s.is_paused ? 'paused' : s.held ? 'waiting' : 'ok', s.is_paused ? 'paused' : s.held ? 'held: ' + s.held : s.state ?? 'active')], ['When', s => s.cron ?? (s.every_ms ? 'every ' + age(s.every_ms) : clock(s.at))], ['Starts', s => s.flow ? 'flow ' + s.flow : s.agent], ['Next', s => clock(s.due_at)], ['Last', s => clock(s.last_slot)], ['Fired', s => count(s.fired), 'num'],
		['', s => may('run') ? [act(s.is_paused || s.held ? 'Resume' : 'Pause', verb(s.name, s.is_paused || s.held ? 'resume' : 'pause', 'Done')), ' ', act('Fire now', verb(s.name, 'fire', 'Started once'))] : null]], items, {label: 'Schedules', href: s => '#/plans/' + seg(s.name)})
		: empty('No schedules', 'A schedule starts runs at points in time.', h('p', h('code', 'skep schedule add --help'))));
}

async function schedule(name) {
	const [s, next, log] = await Promise.all([get('v1/schedules/' + seg(name)), get(`v1/schedules/${seg(name)}/next?limit=10`), get(`v1/schedules/${seg(name)}/log?limit=100`)]);
	return [h('div.bar', h('a', {href: '#/plans'}, 'All plans')), h('section.panel', h('h2', name), h('dl', Object.entries(s).filter(([, v]) => v !== null && v !== '' && typeof v !== 'object').map(([k, v]) => [h('dt', k.replace(/_/g, ' ')), h('dd', /(_at|slot)$/.test(k) ? clock(v) : String(v))]))),
		h('section.panel', h('h2', 'Next firings'), next.items.length ? table([['Local time', n => n.local ?? clock(n.slot)], ['Due', n => clock(n.due_at)]], next.items, {label: 'Next firings'}) : h('p.dim', 'It does not fire again.')),
		h('section.panel', h('h2', 'Log'), log.items.length ? table([['Slot', f => clock(f.slot)], ['Outcome', f => f.outcome], ['Reason', f => f.reason ?? ''], ['Started', f => f.target?.startsWith('run_') ? h('a', {href: '#/run/' + seg(f.target)}, short(f.target)) : f.target ?? ''], ['State', f => f.state ? state(f.state) : '']], log.items, {label: 'Log'}) : h('p.dim', 'It has not fired yet.'))];
}

export async function open(box, words) {
	const body = h('div');
	let timer = 0;
	add(box, [h('div.head', h('h1', 'Plans')), body]);
	const show = async () => {
		try {
			const parts = words[0] ? await schedule(words[0]) : await Promise.all([has('GET', '/v1/schedules') ? schedules(show) : null, has('GET', '/v1/budgets') ? budgets() : null]);
			fill(body, parts);
		} catch (error) { fill(body, failure(error, show)); }
	};
	await show();
	const stop = onHost(event => { if (['run', 'budget', 'schedule'].includes(event)) { clearTimeout(timer); timer = setTimeout(show, 500); } });
	return {close() { stop(); clearTimeout(timer); }};
}
