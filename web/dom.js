// Building blocks of all pages. Text is only ever set as text: transcripts,
// file names and messages are hostile.

// h('a.name#id', {href, onclick, …}, …children): an element. Children are
// elements, texts, arrays or null.
export function h(spec, props, ...children) {
	const [, tag, rest] = /^([a-z0-9-]*)(.*)$/.exec(spec);
	const el = document.createElement(tag || 'div');
	for (const part of rest.match(/[.#][^.#]+/g) ?? [])
		if (part[0] === '#') el.id = part.slice(1);
		else el.classList.add(part.slice(1));
	if (props !== null && (typeof props !== 'object' || props instanceof Node || Array.isArray(props))) {
		children.unshift(props);
		props = null;
	}
	for (const [key, value] of Object.entries(props ?? {}))
		set(el, key, value);
	add(el, children);
	return el;
}

function set(el, key, value) {
	if (value === undefined || value === null || value === false) return;
	if (key.startsWith('on')) el.addEventListener(key.slice(2), value);
	else if (key === 'value' || key === 'checked' || key === 'disabled') el[key] = value;
	else if (key === 'class') el.className += (el.className ? ' ' : '') + value;
	else el.setAttribute(key, value === true ? '' : String(value));
}

export function add(el, children) {
	for (const child of [children].flat(Infinity))
		if (child !== null && child !== undefined && child !== false && child !== '')
			el.append(child);
	return el;
}

export function fill(el, ...children) {
	el.replaceChildren();
	return add(el, children);
}

// --- formats ---------------------------------------------------------------

export function age(ms) {
	const s = Math.max(0, ms) / 1000;
	if (s < 10) return s.toFixed(1) + ' s';
	if (s < 100) return Math.floor(s) + ' s';
	if (s < 6000) return Math.floor(s / 60) + ' min';
	if (s < 172800) return Math.floor(s / 3600) + ' h';
	return Math.floor(s / 86400) + ' d';
}

export function bytes(n) {
	if (n === null || n === undefined) return '–';
	const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
	let i = 0;
	while (n >= 1024 && i < 4) { n /= 1024; i++; }
	return (i && n < 100 ? n.toFixed(1) : Math.round(n)) + ' ' + units[i];
}

export function count(n) {
	if (n === null || n === undefined) return '–';
	if (n < 10000) return String(n);
	if (n < 1e6) return (n / 1e3).toFixed(n < 1e5 ? 1 : 0) + 'k';
	return (n / 1e6).toFixed(1) + 'M';
}

export const money = micros => micros ? '$' + (micros / 1e6).toFixed(micros < 1e5 ? 4 : 2) : '–';
export const short = id => id && id.length > 16 ? id.slice(0, 4) + '…' + id.slice(-6) : id ?? '';
export const plural = (n, one, many) => n + ' ' + (n === 1 ? one : many ?? one + 's');

export function clock(at) {
	if (!at) return '–';
	const d = new Date(at), today = new Date().toDateString() === d.toDateString();
	return (today ? '' : d.toLocaleDateString(undefined, {month: 'short', day: 'numeric'}) + ' ')
		+ d.toLocaleTimeString(undefined, {hour: '2-digit', minute: '2-digit', second: '2-digit'});
}

// <skep-age at="MS">: the time since a moment; one timer updates all of them,
// only while the page is visible.
const ages = new Set();
class Age extends HTMLElement {
	static observedAttributes = ['at'];
	connectedCallback() { ages.add(this); this.show(); }
	disconnectedCallback() { ages.delete(this); }
	attributeChangedCallback() { this.show(); }
	show() {
		const at = Number(this.getAttribute('at'));
		const text = at ? age(Date.now() - at) : '–';
		if (this.textContent !== text) this.textContent = text;
		if (at) this.title = new Date(at).toLocaleString();
	}
}
customElements.define('skep-age', Age);
setInterval(() => { if (!document.hidden) for (const a of ages) a.show(); }, 1000);
export const since = at => h('skep-age', {at});

// --- states ------------------------------------------------------------------

const tones = {
	running: 'run', starting: 'run', adopted: 'run', streaming: 'run', sending: 'run',
	waiting: 'wait', open: 'wait', queued: 'idle', paused: 'wait', pending: 'idle', idle: 'idle',
	stopping: 'end', ending: 'end', succeeded: 'good', delivered: 'good', allowed: 'good', done: 'good',
	ok: 'good', recorded: 'good', enabled: 'good',
	failed: 'bad', timed_out: 'bad', dead: 'bad', error: 'bad', unknown: 'bad', lost: 'bad',
	stuck: 'bad', silent: 'bad', warning: 'wait', warn: 'wait', cancelled: 'idle', denied: 'idle', expired: 'idle',
};
export const state = (word, label) =>
	h('span.state', {class: 'tone-' + (tones[word] ?? 'idle')}, (label ?? word ?? '').replace(/_/g, ' '));

export const empty = (title, text, ...more) =>
	h('div.empty', h('p.empty-title', title), text && h('p', text), more);

export const failure = (error, again) =>
	h('div.empty.is-error', {role: 'alert'}, h('p.empty-title', error.title ?? 'The request failed'),
		h('p', error.message), again && h('button', {onclick: again}, 'Try again'));

export const busy = text => h('p.busy', {role: 'status'}, text ?? 'Loading…');

// --- notices and dialogs ---------------------------------------------------

export function toast(text, tone = 'good') {
	const el = h('div.toast', {class: 'tone-' + tone}, text);
	document.getElementById('toasts').append(el);
	setTimeout(() => el.remove(), tone === 'bad' ? 9000 : 4000);
}

// Runs an action of a button: disabled meanwhile, an error becomes a notice.
export function act(label, run, options = {}) {
	const button = h('button', {type: 'button', title: options.title, class: options.class,
		disabled: options.disabled}, label);
	button.addEventListener('click', async event => {
		event.stopPropagation();
		if (button.disabled) return;
		button.disabled = true;
		button.setAttribute('aria-busy', 'true');
		try {
			const done = await run(event);
			if (typeof done === 'string') toast(done);
		} catch (error) {
			toast(error.message, 'bad');
		} finally {
			button.disabled = false;
			button.removeAttribute('aria-busy');
		}
	});
	return button;
}

// A dialog: resolves with the form's values, or null if the user closed it.
export function ask(title, body, options = {}) {
	return new Promise(resolve => {
		const form = h('form', {method: 'dialog'});
		const dialog = h('dialog', {'aria-labelledby': 'dialog-title'}, form);
		const ok = options.ok === null ? null :
			h('button.primary', {value: 'ok', class: options.danger && 'danger'}, options.ok ?? 'OK');
		add(form, [h('h2#dialog-title', title), body,
			h('div.buttons', h('button', {value: 'no', formnovalidate: true}, ok ? 'Not now' : 'Close'), ok)]);
		dialog.addEventListener('close', () => {
			const yes = dialog.returnValue === 'ok';
			const values = Object.fromEntries([...form.querySelectorAll('input,select,textarea')]
				.filter(i => i.name).map(i => [i.name, i.type === 'checkbox' ? i.checked
					: i.type === 'file' ? i.files : i.value]));
			dialog.remove();
			resolve(yes ? values : null);
		});
		document.body.append(dialog);
		dialog.showModal();
	});
}

export const confirm = (title, text, ok, danger = true) =>
	ask(title, add(h('div'), text), {ok, danger}).then(v => v !== null);

export const field = (label, control) => h('label.field', h('span', label), control);

export function select(options, value, onchange, props = {}) {
	return h('select', {onchange: e => onchange?.(e.target.value), ...props},
		options.map(o => {
			const [v, text] = Array.isArray(o) ? o : [o, o];
			return h('option', {value: v, selected: v === value}, text);
		}));
}

// A table from columns [heading, row => content, class].
export function table(columns, rows, options = {}) {
	return h('div.scroll', h('table', {'aria-label': options.label},
		h('thead', h('tr', columns.map(c => h('th', {scope: 'col', class: c[2]}, c[0])))),
		h('tbody', rows.map(row => {
			const tr = h('tr', columns.map(c => h('td', {class: c[2]}, c[1](row))));
			if (options.href) link(tr, options.href(row));
			return tr;
		}))));
}

// A row that leads somewhere: by click and by Enter.
export function link(el, href) {
	if (!href) return el;
	el.classList.add('leads');
	el.tabIndex = 0;
	el.dataset.href = href;
	el.addEventListener('click', e => {
		if (!e.target.closest('a,button,input,select') && !String(getSelection())) location.hash = href.slice(1);
	});
	el.addEventListener('keydown', e => {
		if (e.key === 'Enter' && e.target === el) location.hash = href.slice(1);
	});
	return el;
}

export function download(name, data, type = 'application/octet-stream') {
	const url = URL.createObjectURL(data instanceof Blob ? data : new Blob([data], {type}));
	h('a', {href: url, download: name}).click();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export const seg = encodeURIComponent;
