// The tab's end of the event stream (stream.js).
import {root} from './api.js';

const host = new Set(), link = new Set(), runs = new Map();
let send = () => {};
export let linkState = {state: 'connecting'};

function receive(message) {
	if (message.kind === 'host') for (const f of [...host]) f(message.event, message.body);
	else if (message.kind === 'run') for (const f of [...runs.get(message.run) ?? []]) f(message.event, message.body);
	else if (message.kind === 'link') { linkState = message; for (const f of [...link]) f(message); }
	else if (message.kind === 'seen') window.dispatchEvent(new CustomEvent('skep-seen', {detail: message}));
}

export async function startLive() {
	const url = new URL('stream.js', location.href.split('#')[0]).href;
	if (typeof SharedWorker === 'function') {
		const policy = window.trustedTypes?.createPolicy('skep', {createScriptURL: u => {
			if (u !== url) throw new TypeError('unknown script');
			return u;
		}});
		const worker = new SharedWorker(policy ? policy.createScriptURL(url) : url, {type: 'module', name: 'skep ' + root});
		worker.port.onmessage = e => receive(e.data);
		send = message => worker.port.postMessage(message);
		addEventListener('pagehide', () => send({do: 'bye'}));
		addEventListener('pageshow', e => { if (e.persisted) location.reload(); });
	} else {
		const {makeStream} = await import('./stream.js');
		const stream = makeStream(root, (to, m) => receive(m));
		send = m => stream[m.do]?.(...(m.run ? ['tab', m.run, m.from] : ['tab']));
	}
	send({do: 'hello'});
	addEventListener('online', () => send({do: 'wake'}));
	document.addEventListener('visibilitychange', () => { if (!document.hidden) send({do: 'wake'}); });
}

const listen = (set, f) => { set.add(f); return () => set.delete(f); };
export const onHost = f => listen(host, f);
export const onLink = f => listen(link, f);
export const signedIn = () => send({do: 'signedIn'});
export const askSeen = () => send({do: 'seen'});

// Events of a run after the sequence number `from`; returns the function that
// ends it.
export function follow(run, from, f) {
	if (!runs.has(run)) {
		runs.set(run, new Set());
		send({do: 'follow', run, from});
	}
	runs.get(run).add(f);
	return () => {
		const set = runs.get(run);
		if (!set?.delete(f) || set.size) return;
		runs.delete(run);
		send({do: 'leave', run});
	};
}
