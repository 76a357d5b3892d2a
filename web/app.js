// The frame: sign-in, navigation by the address, keyboard, theme.
import {h, add, fill, failure, busy, ask, toast, field, age, act} from './dom.js';
import {call, get, me, may, has, loadCapabilities, onSignedOut} from './api.js';
import {startLive, onLink, onHost, signedIn} from './live.js';

// name, title, key after g, module, whether this server has it
const pages = [
	['now', 'Now', 'n', () => import('./page-now.js'), () => true],
	['approvals', 'Approvals', 'a', () => import('./page-approvals.js'), () => true],
	['sessions', 'Sessions', 's', () => import('./page-sessions.js'), () => true],
	['workspaces', 'Workspaces', 'w', () => import('./page-workspaces.js'), () => has('GET', '/v1/workspaces/{agent}')],
	['channels', 'Channels', 'c', () => import('./page-channels.js'), () => true],
	['plans', 'Plans', 'p', () => import('./page-plans.js'), () => has('GET', '/v1/budgets') || has('GET', '/v1/schedules')],
	['agents', 'Agents', 'g', () => import('./page-agents.js'), () => true],
	['host', 'Host', 'h', () => import('./page-host.js'), () => true],
	['run', null, null, () => import('./page-run.js'), () => true],
];
const main = document.getElementById('main');
const nav = document.querySelector('nav');
let page = null, shown = '';

// --- navigation ---------------------------------------------------------------

// #/run/ID/files?turn=2 → ['run', 'ID', 'files'], {turn: '2'}
export function place() {
	const [path, search] = location.hash.replace(/^#\/?/, '').split('?');
	return {words: path.split('/').filter(Boolean).map(decodeURIComponent), values: Object.fromEntries(new URLSearchParams(search ?? ''))};
}

async function navigate() {
	const {words, values} = place();
	const row = pages.find(p => p[0] === (words[0] ?? 'now') && p[4]());
	const hash = location.hash;
	for (const a of nav.children)
		if (a.dataset.page === words[0] || (!words[0] && a.dataset.page === 'now')) a.setAttribute('aria-current', 'page');
		else a.removeAttribute('aria-current');
	if (page?.moved && shown === words.slice(0, 2).join('/') && page.moved(words.slice(1), values)) return;
	shown = words.slice(0, 2).join('/');
	page?.close?.();
	page = null;
	if (!row) {
		fill(main, h('div.empty', h('p.empty-title', 'There is no such page'), h('a', {href: '#/now'}, 'Show what runs now')));
		return;
	}
	fill(main, busy());
	try {
		const {open} = await row[3]();
		if (location.hash !== hash) return;
		document.title = (row[1] ?? 'Run') + ' · skep';
		const box = h('div');
		page = await open(box, words.slice(1), values) ?? {};
		if (location.hash !== hash) { page.close?.(); return; }
		fill(main, box);
		page.shown?.();
	} catch (error) {
		if (location.hash === hash && error.status !== 401) fill(main, failure(error, navigate));
	}
}

function buildNav() {
	fill(nav, pages.filter(p => p[1] && p[4]()).map(([name, title, key]) =>
		h('a', {href: '#/' + name, 'data-page': name, title: 'g ' + key}, title, name === 'approvals' ? h('span.badge#waiting', {'aria-label': 'open approvals'}) : null)));
}

// --- sign-in -----------------------------------------------------------------

function showLogin(problem) {
	page?.close?.();
	page = null;
	shown = '';
	const token = h('input', {name: 'token', type: 'password', autocomplete: 'off', required: true, 'aria-label': 'Token'});
	const error = h('p', {role: 'alert'}, problem ?? '');
	const form = h('form', {onsubmit: async event => {
		event.preventDefault();
		try {
			await call('POST', 'v1/logins', {token: token.value.trim()}, {signIn: true});
			await begin();
		} catch (failed) {
			error.textContent = failed.message;
		}
	}}, field('Token', token), h('div.buttons', h('button.primary', 'Sign in')));
	fill(main, h('div.login.panel', h('h1', 'Sign in to skep'), h('p.dim', 'Run ', h('code', 'skep ui'), ' on the host to get a link that signs this browser in, or enter a token (', h('code', 'skep token add'), ').'), error, form));
	token.focus();
}

async function begin() {
	const who = await get('v1/login');
	Object.assign(me, who);
	await loadCapabilities();
	buildNav();
	signedIn();
	await countApprovals();
	await navigate();
}

async function start() {
	const code = /^#login=([\w.-]+)/.exec(location.hash)?.[1];
	let problem = '';
	if (code) {
		history.replaceState(null, '', location.pathname + '#/now');
		try {
			await call('POST', 'v1/logins', {code}, {signIn: true});
		} catch (error) {
			problem = error.message;
		}
	}
	await startLive();
	try {
		await begin();
	} catch (error) {
		if (error.status === 401) showLogin(problem);
		else fill(main, failure(error, start));
	}
}

onSignedOut(problem => showLogin(problem.message));

// --- the badge and the state of the stream -------------------------------------

let counting = null;
async function countApprovals() {
	const {items, next} = await get('v1/approvals?state=open&limit=100');
	const badge = document.getElementById('waiting');
	if (badge) badge.textContent = items.length ? items.length + (next ? '+' : '') : '';
}
onHost((event) => {
	if (event !== 'approval') return;
	clearTimeout(counting);
	counting = setTimeout(() => countApprovals().catch(() => {}), 100);
});

const linkBox = document.getElementById('link');
onLink(({state, resumed, lostAt, at}) => {
	linkBox.className = state;
	if (state === 'signed-out') { linkBox.textContent = 'signed out'; return; }
	linkBox.textContent = state === 'live' ? 'live' : 'reconnecting…';
	if (state === 'live' && resumed) {
		const text = `Connected again after ${age(at - lostAt)}; continued where the stream ended.`;
		toast(text);
		linkBox.title = text;
	}
});
onHost(event => { if (event === 'resync_required') { toast('The host log was pruned meanwhile; the page was loaded again.', 'wait'); shown = ''; navigate(); } });

// --- theme ---------------------------------------------------------------------

const dark = matchMedia('(prefers-color-scheme: dark)');
function applyTheme() {
	const set = localStorage.getItem('skep-theme');
	document.documentElement.dataset.theme = set ?? (dark.matches ? 'dark' : 'light');
}
applyTheme();
dark.addEventListener('change', applyTheme);
document.getElementById('theme').onclick = () => {
	localStorage.setItem('skep-theme', document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
	applyTheme();
};

// --- keyboard --------------------------------------------------------------------

const help = () => ask('Keyboard', h('dl', [
	['j / k', 'next / previous row'], ['Enter', 'open the row'], ['/', 'search or filter'], ['Esc', 'leave the field'],
	['n / N', 'next / previous hit in a run'], ['G', 'end of the transcript'],
	...pages.filter(p => p[2] && p[4]()).map(p => ['g ' + p[2], p[1]]), ['?', 'this help'],
].flatMap(([k, t]) => [h('dt', h('kbd', k)), h('dd', t)])), {ok: null});
document.getElementById('help').onclick = help;

let gTime = 0;
document.addEventListener('keydown', event => {
	if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
	const typing = event.target.closest?.('input,textarea,select');
	if (typing) { if (event.key === 'Escape') typing.blur(); return; }
	if (Date.now() - gTime < 1500) {
		gTime = 0;
		const row = pages.find(p => p[2] === event.key && p[4]());
		if (row) { event.preventDefault(); location.hash = '#/' + row[0]; return; }
	}
	if (event.key === 'g') gTime = Date.now();
	else if (event.key === '?') help();
	else if (event.key === '/') { const box = main.querySelector('[data-search]'); if (box) { event.preventDefault(); box.focus(); box.select?.(); } }
	else if (event.key === 'j' || event.key === 'k') moveRow(event.key === 'j' ? 1 : -1);
	else if (event.key === 'Enter' && page?.enter && !event.target.closest?.('a,button')) page.enter();
	else page?.key?.(event.key, event);
});

function moveRow(by) {
	const list = main.querySelector('skep-list');
	if (list) { list.move(by); return; }
	const rows = [...main.querySelectorAll('.leads, .card')];
	const at = rows.indexOf(document.activeElement.closest?.('.leads, .card'));
	const row = rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + by))];
	if (row) { row.tabIndex = row.tabIndex < 0 ? -1 : row.tabIndex; row.focus(); row.scrollIntoView({block: 'nearest'}); }
}

addEventListener('hashchange', () => { if (me.scopes.length) navigate(); });
start();
