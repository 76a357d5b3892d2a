// The public HTTP API. The page may be below a path prefix of a reverse proxy,
// so all addresses are relative to the page.
export const root = new URL('../', location.href.split('#')[0]).href;

export class Problem extends Error {
	constructor(status, body) {
		super(body?.detail ?? 'skepd did not answer');
		this.status = status;
		this.title = body?.title;
		this.code = body?.code;
	}
}

let signedOut = () => {};
export const onSignedOut = f => { signedOut = f; };

export async function call(method, path, body, options = {}) {
	let answer;
	const headers = {'X-Skep-CSRF': '1', ...options.headers};
	if (body !== undefined && !options.raw) headers['Content-Type'] = 'application/json';
	try {
		answer = await fetch(new URL(path, root), {
			method, headers, signal: options.signal, credentials: 'same-origin', cache: 'no-store',
			body: body === undefined || options.raw ? body : JSON.stringify(body),
		});
	} catch (error) {
		if (error.name === 'AbortError') throw error;
		throw new Problem(0, {title: 'skepd is not reachable', detail: 'No connection to skepd. The page reconnects automatically.'});
	}
	if (!answer.ok) {
		const problem = new Problem(answer.status, await answer.json().catch(() => null));
		if (answer.status === 401 && !options.signIn) signedOut(problem);
		throw problem;
	}
	if (options.as === 'response') return answer;
	return answer.status === 204 ? null : answer.json();
}

export const get = (path, options) => call('GET', path, undefined, options);
export const post = (path, body = {}, options) => call('POST', path, body, options);
export const put = (path, body, options) => call('PUT', path, body, options);
export const patch = (path, body, options) => call('PATCH', path, body, options);
export const del = (path, body) => call('DELETE', path, body);

export function query(values) {
	const q = new URLSearchParams();
	for (const [k, v] of Object.entries(values))
		if (v !== '' && v !== null && v !== undefined && v !== false) q.set(k, v === true ? '1' : v);
	const text = q.toString();
	return text ? '?' + text : '';
}

// All items of a list, page by page, up to a limit.
export async function all(path, values = {}, cursor = 'before', limit = 5000) {
	const items = [];
	let next = null;
	do {
		const page = await get(path + query({...values, limit: 1000, [cursor]: next ?? values[cursor]}));
		items.push(...page.items);
		next = page.next;
	} while (next && items.length < limit);
	return items;
}

// What this login may do, and which routes the server has. A page shows only
// what the server can do.
export const me = {scopes: [], name: ''};
export const may = scope => me.scopes.includes(scope);
let routes = new Set();
export const has = (method, path) => routes.has(method + ' ' + path);
export async function loadCapabilities() {
	const doc = await get('openapi.json');
	routes = new Set(Object.entries(doc.paths).flatMap(([path, methods]) =>
		Object.keys(methods).map(m => m.toUpperCase() + ' ' + path)));
}
