// The one event stream of this browser. It runs in a SharedWorker, to which all
// tabs connect; where there is none, each tab imports this module. The stream
// has the host log and the transcripts that tabs follow, each with a cursor, so
// that a new connection continues where the last one ended.
export function makeStream(root, post) {
	let cursor = null, abort = null, attempt = 0, timer = 0, connected = null, lostAt = 0;
	const runs = new Map(); // id → {cursor, tabs: Set}
	const seen = {events: 0, connects: 0};

	function report(state, extra = {}) {
		connected = {kind: 'link', state, at: Date.now(), lostAt, ...extra};
		post(null, connected);
	}

	function address() {
		const url = new URL('v1/events', root);
		url.searchParams.set('stream', '1');
		if (cursor !== null) url.searchParams.set('after', cursor);
		if (runs.size)
			url.searchParams.set('runs', [...runs].map(([id, r]) => id + (r.cursor ? '@' + r.cursor : '')).join(';'));
		return url;
	}

	function frame(lines) {
		let event = 'message', id = null, data = '';
		for (const line of lines) {
			if (line.startsWith('event:')) event = line.slice(6).trim();
			else if (line.startsWith('id:')) id = line.slice(3).trim();
			else if (line.startsWith('data:')) data += line.slice(line[5] === ' ' ? 6 : 5);
		}
		if (!data) return;
		seen.events++;
		const body = JSON.parse(data);
		if (event === 'event' || event === 'part' || event === 'status' || event === 'end') {
			const run = runs.get(body.run);
			if (!run) return;
			if (id) run.cursor = id;
			for (const tab of run.tabs) post(tab, {kind: 'run', event, run: body.run, body});
			return;
		}
		if (id) cursor = id;
		if (event === 'ready') return;
		post(null, {kind: 'host', event, body});
	}

	async function read(answer) {
		const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
		let rest = '', lines = [];
		for (;;) {
			const {done, value} = await reader.read();
			if (done) return;
			const parts = (rest + value).split('\n');
			rest = parts.pop();
			for (const raw of parts) {
				const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
				if (line) { lines.push(line); continue; }
				if (lines.length) frame(lines);
				lines = [];
			}
		}
	}

	async function open() {
		clearTimeout(timer);
		abort?.abort();
		const mine = abort = new AbortController();
		let signedOut = false;
		try {
			const answer = await fetch(address(), {signal: mine.signal, credentials: 'same-origin',
				headers: {Accept: 'text/event-stream'}, cache: 'no-store'});
			if (!answer.ok) {
				signedOut = answer.status === 401;
				throw new Error('status ' + answer.status);
			}
			seen.connects++;
			attempt = 0;
			report('live', {resumed: lostAt !== 0});
			lostAt = 0;
			await read(answer);
		} catch { /* also an abort */ }
		if (mine.signal.aborted) return; // another connection replaces this one
		lostAt = lostAt || Date.now();
		report(signedOut ? 'signed-out' : 'lost');
		if (!signedOut) timer = setTimeout(open, Math.min(10000, 250 * 2 ** attempt++));
	}

	let soon = 0;
	const reopen = () => { clearTimeout(soon); soon = setTimeout(open, 20); };

	return {
		seen,
		hello(tab) { if (connected) post(tab, connected); else reopen(); },
		wake() { if (!connected || connected.state !== 'live') { attempt = 0; reopen(); } },
		follow(tab, id, from) {
			const run = runs.get(id);
			if (run) { run.tabs.add(tab); return; }
			runs.set(id, {cursor: from ? String(from) : null, tabs: new Set([tab])});
			reopen();
		},
		leave(tab, id) {
			const run = runs.get(id);
			if (!run || !run.tabs.delete(tab) || run.tabs.size) return;
			runs.delete(id);
			reopen();
		},
		gone(tab) { for (const id of [...runs.keys()]) this.leave(tab, id); },
		signedIn() { cursor = null; attempt = 0; reopen(); },
	};
}

// In a SharedWorker:
if (typeof SharedWorkerGlobalScope !== 'undefined' && self instanceof SharedWorkerGlobalScope) {
	const ports = new Set();
	const stream = makeStream(new URL('../', location.href).href, (to, message) => {
		for (const port of to ? [to] : ports) port.postMessage(message);
	});
	self.onconnect = event => {
		const port = event.ports[0];
		ports.add(port);
		port.onmessage = ({data}) => {
			if (data.do === 'hello') stream.hello(port);
			else if (data.do === 'wake') stream.wake();
			else if (data.do === 'follow') stream.follow(port, data.run, data.from);
			else if (data.do === 'leave') stream.leave(port, data.run);
			else if (data.do === 'signedIn') stream.signedIn();
			else if (data.do === 'seen') port.postMessage({kind: 'seen', tabs: ports.size, ...stream.seen});
			else if (data.do === 'bye') { stream.gone(port); ports.delete(port); }
		};
	};
}
