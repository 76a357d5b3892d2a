// Host: health, findings, backups, audit, log, logins, benchmarks.
import {h, add, fill, since, state, act, ask, confirm, clock, bytes, plural, empty, failure, table, field, age, seg, count} from './dom.js';
import {get, post, del, query, may, has, me} from './api.js';
import {askSeen} from './live.js';

export async function open(box, words, values) {
	const tabs = [['', 'Health'], ['backups', 'Backups', 'admin'], ['audit', 'Audit log', 'admin'], ['log', 'Log', 'admin'], ['logins', 'Logins', 'admin'], ['reports', 'Benchmarks']].filter(t => (!t[2] || may(t[2])) && (t[0] !== 'reports' || has('GET', '/v1/reports')));
	const tab = words[0] ?? '', body = h('div');
	add(box, [h('div.head', h('h1', 'Host'), h('span.grow'), h('span.dim', 'signed in as ' + (me.name ?? '')), act('Sign out', async () => { await del('v1/login'); location.reload(); })), h('div.tabs', tabs.map(([k, t]) => h('a', {href: '#/host' + (k ? '/' + k : ''), 'aria-current': k === tab ? 'page' : null}, t))), body]);
	const again = () => dispatchEvent(new HashChangeEvent('hashchange'));
	const views = {
		async ''() {
			const [x, found] = await Promise.all([get('v1/health'), has('GET', '/v1/doctor') && may('admin') ? get('v1/doctor').catch(e => ({items: [{level: 'error', text: e.message}]})) : null]);
			const row = (k, v) => [h('dt', k), h('dd', v)];
			fill(body, found ? h('section.panel', h('h2', 'Findings'), found.items.length ? found.items.map(f => h('div', state(f.level === 'ok' ? 'ok' : f.level === 'error' ? 'failed' : 'warning', f.level), ' ', f.text ?? f.title, f.fix ? h('p', 'Fix: ', h('code', f.fix)) : null)) : h('p', 'No problems were found.')) : null,
				h('section.panel', h('dl', row('version', x.version), row('process', String(x.pid)), row('started', [clock(x.started_at), ' (', since(x.started_at), ' ago)']), row('active runs', String(x.active)), row('queued runs', String(x.queued)), row('idle workers', String(x.idle)), row('preforked workers', String(x.preforked)), row('disk', [state(x.disk === 'ok' ? 'ok' : 'warning', x.disk), ' ', bytes(x.disk_free), ' free']), row('listen', x.listen), row('restarts', String(x.restarts ?? 0)), x.restart_cause ? row('last restart', [clock(x.restarted_at), ' ', x.restart_cause]) : null)), found ? null : h('p.dim', 'skep doctor examines the host and lists fixes.'));
		},
		async backups() {
			const {items} = await get('v1/backups?limit=100');
			fill(body, items.length ? table([['State', b => state(b.state)], ['Kind', b => b.kind], ['Started', b => clock(b.started_at)], ['Took', b => b.ended_at ? age(b.ended_at - b.started_at) : '–', 'num'], ['Size', b => bytes(b.bytes), 'num'], ['Agents', b => b.agents, 'num'], ['Archive', b => h('code', b.path ?? '')], ['Problem', b => b.problem ?? '']], items, {label: 'Backups'}) : empty('No backup yet', 'skep makes them by schedule, or on request:', h('p', h('code', 'skep backup create'))));
		},
		async audit() {
			const {items, next} = await get('v1/audit' + query({limit: 200, before: values.before}));
			fill(body, items.length ? table([['Time', a => clock(a.at)], ['By', a => a.actor], ['Action', a => a.act], ['Subject', a => a.subject ?? ''], ['Detail', a => a.detail ? h('code', JSON.stringify(a.detail)) : '']], items, {label: 'Audit log'}) : empty('The audit log is empty'), next ? h('a', {href: '#/host/audit?before=' + seg(next)}, 'Older') : null);
		},
		async log() {
			const find = h('input', {type: 'search', placeholder: 'Search the log', 'aria-label': 'Search the log', 'data-search': '', value: values.q ?? '', onkeydown: e => { if (e.key === 'Enter') location.hash = '#/host/log' + query({q: e.target.value}); }});
			const bar = h('div.bar', find);
			try {
				const {items} = await get('v1/log' + query({text: values.q, limit: 500}));
				fill(body, bar, items.length ? h('pre.panel', items.reverse().map(l => l.line).join('\n')) : empty('No line matches'));
			} catch (error) { fill(body, bar, empty('The log cannot be read', error.message)); }
		},
		async logins() {
			const {items} = await get('v1/logins');
			fill(body, h('div.bar', act('Sign in another device…', async () => {
				const v = await ask('Sign in another device', [field('Name', h('input', {name: 'name', required: true, value: 'phone'})), h('label', h('input', {type: 'checkbox', name: 'run'}), ' may start and stop runs'), h('p'), h('label', h('input', {type: 'checkbox', name: 'approve', checked: true}), ' may answer approvals'), field('Days', h('input', {name: 'days', type: 'number', min: 1, max: 365, value: 30}))], {ok: 'Make a link'});
				if (!v) return;
				const code = await post('v1/logins/codes', {name: v.name, scopes: ['read', ...(v.run ? ['run'] : []), ...(v.approve ? ['approve'] : [])], lifetime_ms: v.days * 86400000});
				await ask('Open this link on the device', [h('p', 'It works once, within 5 minutes.'), h('pre.text', code.url)], {ok: null});
				again();
			})), table([['Name', l => [l.name, l.id === me.id ? h('span.tag', 'this browser') : null]], ['State', l => state(l.is_open ? 'open' : 'pending', l.is_open ? 'signed in' : 'code not used')], ['Scopes', l => (l.scopes ?? []).join(', ')], ['Browser', l => h('span.dim', l.browser ?? '')], ['Since', l => clock(l.opened_at ?? l.created_at)], ['Until', l => clock(l.expires_at)], ['', l => act('End', async () => { if (await confirm(`Sign out ${l.name}?`, l.id === me.id ? 'This is the login of this browser.' : 'Its next request is rejected.', 'End 1 login')) { await del('v1/logins/' + seg(l.id)); again(); return 'Ended'; } }, {class: 'danger'})]], items, {label: 'Logins'}));
		},
	};
	try { await (views[tab] ?? views[''])(); } catch (error) { fill(body, failure(error, again)); }
	return {};
}
