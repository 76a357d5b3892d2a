// Channels, deliveries and inbound messages.
import {h, add, fill, since, state, act, confirm, clock, plural, empty, failure, select, table, link, count, short, seg} from './dom.js';
import {get, post, query, may} from './api.js';
import {onHost, onLink} from './live.js';
import {long} from './text.js';

export async function open(box, words, values) {
	const tab = words[0] ?? 'channels', body = h('div');
	let timer = 0, closed = false;
	add(box, [h('div.head', h('h1', 'Channels and deliveries')), h('div.tabs', [['channels', 'Channels'], ['deliveries', 'Deliveries'], ['inbound', 'Inbound'], ['conversations', 'Conversations']].map(([k, t]) => h('a', {href: '#/channels/' + k, 'aria-current': k === tab ? 'page' : null}, t))), body]);
	const verb = (path, done) => async () => { await post(path, undefined); soon(); return done; };

	const views = {
		async channels() {
			const [{items}, stats] = await Promise.all([get('v1/channels'), get('v1/delivery-stats')]);
			const of = (c, s) => stats.items.filter(r => r.channel === c && s.includes(r.state)).reduce((n, r) => n + (r.count ?? r.n ?? 0), 0);
			const cell = (c, s, label) => { const n = of(c.name, s); return n ? h('a', {href: '#/channels/deliveries' + query({channel: c.name, state: s[0]})}, n) : '0'; };
			fill(body, items.length ? table([['Channel', c => h('b', c.name)], ['Kind', c => c.kind], ['State', c => state(c.is_enabled ? c.is_paused ? 'paused' : c.state ?? 'ok' : 'disabled', c.is_enabled ? c.is_paused ? 'paused' : c.state ?? 'ready' : 'disabled')], ['Received', c => count(c.received), 'num'], ['Delivered', c => count(c.delivered), 'num'], ['Pending', c => cell(c, ['pending', 'sending']), 'num'], ['Unknown', c => cell(c, ['unknown']), 'num'], ['Dead', c => cell(c, ['dead']), 'num'], ['Last error', c => c.last_error ? [h('span', c.last_error), h('span.dim', ' ' + clock(c.last_error_at))] : ''],
				['', c => may('admin') ? [act(c.is_enabled ? 'Disable' : 'Enable', verb(`v1/channels/${seg(c.name)}/${c.is_enabled ? 'disable' : 'enable'}`, 'Done')), ' ', act(c.is_paused ? 'Resume' : 'Pause', verb(`v1/channels/${seg(c.name)}/${c.is_paused ? 'resume' : 'pause'}`, 'Done'))] : null]], items, {label: 'Channels'})
				: empty('No channels', 'A channel connects agents to webhooks, mail, files or plugins.', h('p', h('code', 'skep channel add NAME --kind webhook'))));
		},
		async deliveries() {
			if (words[1]) { await delivery(words[1]); return; }
			const {items, next} = await get('v1/deliveries' + query({state: values.state, channel: values.channel, limit: 200, before: values.before}));
			const set = (k, v) => { location.hash = '#/channels/deliveries' + query({...values, before: null, [k]: v}); };
			fill(body, h('div.bar', select([['', 'Any state'], 'pending', 'sending', 'unknown', 'delivered', 'dead', 'discarded'], values.state ?? '', v => set('state', v), {'aria-label': 'State', 'data-search': ''}), values.channel ? h('span.tag', values.channel) : null), items.length ? table([['State', d => state(d.state)], ['Channel', d => d.channel], ['From', d => [d.agent, d.session ? h('span.dim', ' · ' + d.session) : null]], ['Message', d => preview(d.body)], ['Attempts', d => d.attempts, 'num'], ['Created', d => since(d.created_at), 'num'], ['', d => verbs(d)]], items, {label: 'Deliveries', href: d => '#/channels/deliveries/' + seg(d.id)}) : empty('No deliveries', values.state ? 'None is ' + values.state + '.' : 'Replies of agents to channels appear here.'), next ? h('a', {href: '#/channels/deliveries' + query({...values, before: next})}, 'Older') : null);
		},
		async inbound() {
			const {items, next} = await get('v1/inbound' + query({state: values.state, channel: values.channel, limit: 200, before: values.before}));
			fill(body, h('div.bar', select([['', 'Any state'], 'queued', 'recorded', 'dead', 'discarded'], values.state ?? '', v => { location.hash = '#/channels/inbound' + query({...values, state: v}); }, {'aria-label': 'State', 'data-search': ''})), items.length ? table([['State', m => state(m.state)], ['Channel', m => m.channel], ['Sender', m => m.sender], ['Message', m => preview(m.body)], ['Why', m => m.run ? h('a', {href: '#/run/' + seg(m.run)}, 'became run ' + short(m.run)) : [m.reason ?? '', m.detail ? h('span.dim', ' ' + m.detail) : null]], ['Received', m => since(m.received_at), 'num'],
				['', m => m.state === 'dead' && may('run') ? [act('Retry', verb(`v1/inbound/${seg(m.id)}/retry`, 'It becomes a run again')), ' ', act('Discard', verb(`v1/inbound/${seg(m.id)}/discard`, 'Discarded'))] : null]], items, {label: 'Inbound messages'}) : empty('No inbound messages', 'Each message is listed with the reason why it became, or did not become, a run.'), next ? h('a', {href: '#/channels/inbound' + query({...values, before: next})}, 'Older') : null);
		},
		async conversations() {
			const {items} = await get('v1/conversations' + query({channel: values.channel, limit: 200}));
			fill(body, items.length ? table([['Channel', c => c.channel], ['Peer', c => [c.peer, c.title ? h('span.dim', ' ' + c.title) : null]], ['Kind', c => c.kind], ['Agent', c => c.agent], ['Session', c => c.session ? h('a', {href: `#/sessions/${seg(c.agent)}/${seg(c.session)}`}, c.session) : ''], ['Messages', c => c.messages, 'num'], ['Last', c => since(c.last_message_at), 'num']], items, {label: 'Conversations'}) : empty('No conversations'));
		},
	};
	const preview = b => { const t = typeof b === 'string' ? b : b?.text ?? b?.content ?? JSON.stringify(b ?? ''); return h('span', {title: String(t).slice(0, 500)}, String(t).replace(/\s+/g, ' ').slice(0, 90)); };
	function verbs(d) {
		if (!may('run')) return null;
		const p = 'v1/deliveries/' + seg(d.id);
		if (d.state === 'unknown') return [act('It arrived: discard', verb(p + '/discard', 'Discarded')), ' ', act('Send again', async () => { if (await confirm('Send this message again?', 'skep does not know whether it arrived. The receiver may get it twice.', 'Send 1 message again')) return verb(p + '/resend', 'Sent again')(); })];
		if (d.state === 'dead') return [act('Retry', verb(p + '/retry', 'It is sent again')), ' ', act('Discard', verb(p + '/discard', 'Discarded'))];
		if (d.state === 'pending') return act('Discard', verb(p + '/discard', 'Discarded'));
		return null;
	}
	async function delivery(id) {
		const [d, tries] = await Promise.all([get('v1/deliveries/' + seg(id)), get(`v1/deliveries/${seg(id)}/attempts`)]);
		fill(body, h('section.panel', h('h2', d.channel, ' ', state(d.state)), h('p', d.detail ?? ''), h('div.bar', verbs(d)), h('dl', [['id', d.id], ['agent', d.agent], ['session', d.session], ['attempts', d.attempts], ['created', clock(d.created_at)], ['sent', clock(d.sent_at)], ['done', clock(d.done_at)], ['due', d.due_at ? clock(d.due_at) : '–'], ['remote status', d.remote_status ?? '–']].flatMap(([k, v]) => [h('dt', k), h('dd', String(v ?? '–'))]))), h('section.panel', h('h2', 'Message'), long(typeof d.body === 'string' ? d.body : JSON.stringify(d.body, null, 2))), tries.items.length ? h('section.panel', h('h2', 'Failed attempts'), table([['Time', t => clock(t.at ?? t.sent_at ?? t.started_at)], ['Status', t => t.remote_status ?? t.status ?? ''], ['Detail', t => t.detail ?? '']], tries.items)) : null);
	}
	async function show() { try { await (views[tab] ?? views.channels)(); } catch (error) { if (!closed) fill(body, failure(error, show)); } }
	const soon = () => { clearTimeout(timer); timer = setTimeout(() => { if (!closed) show(); }, 200); };
	await show();
	const stops = [onHost(e => { if (['channel', 'delivery', 'inbound', 'conversation'].includes(e)) soon(); }), onLink(l => { if (l.state === 'live') soon(); })];
	return {close() { closed = true; clearTimeout(timer); stops.forEach(s => s()); }};
}
