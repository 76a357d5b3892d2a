// Texts of agents as DOM: a small Markdown, diffs, and long texts in pieces.
import {h, add, act, bytes, download} from './dom.js';

const PIECE = 20000; // characters that are shown at once

// A long text: the first piece, and buttons for the next one and for all of it.
// Even 10 MB never enter the layout at once.
export function long(text, mark) {
	const pre = h('pre.text', {tabindex: 0});
	let shown = 0;
	const more = h('div.bar');
	const next = () => {
		const piece = text.slice(shown, shown + PIECE);
		shown += piece.length;
		add(pre, mark ? marked(piece, mark) : piece);
		more.hidden = shown >= text.length;
		info.textContent = `${bytes(shown)} of ${bytes(text.length)}`;
	};
	const info = h('span.dim');
	add(more, [act('Show more', next), act('Download', () => download('output.txt', text, 'text/plain')), info]);
	next();
	return text.length > PIECE ? h('div', pre, more) : pre;
}

// Marks the hits of a regular expression.
export function marked(text, re) {
	const out = [];
	let at = 0, n = 0;
	for (const m of text.matchAll(re)) {
		if (!m[0] || ++n > 500) break;
		out.push(text.slice(at, m.index), h('mark', m[0]));
		at = m.index + m[0].length;
	}
	out.push(text.slice(at));
	return out;
}

const safe = url => /^https?:\/\//i.test(url);

function inline(text) {
	const out = [];
	let at = 0;
	for (const m of text.matchAll(/`([^`\n]+)`|\*\*([^*\n]+)\*\*|\[([^\]\n]*)\]\(([^)\s]+)\)|(https?:\/\/[^\s<>"')\]]+)/g)) {
		out.push(text.slice(at, m.index));
		if (m[1]) out.push(h('code', m[1]));
		else if (m[2]) out.push(h('b', m[2]));
		else {
			const url = m[4] ?? m[5];
			out.push(safe(url) ? h('a', {href: url, rel: 'noopener noreferrer nofollow', target: '_blank'}, m[3] || url) : m[0]);
		}
		at = m.index + m[0].length;
	}
	out.push(text.slice(at));
	return out;
}

export function markdown(text) {
	if (text.length > PIECE) return long(text);
	const root = h('div.md');
	let items = null, para = [], code = null;
	const flush = () => {
		if (para.length) root.append(h('p', para.flatMap((l, i) => i ? [h('br'), ...inline(l)] : inline(l))));
		para = [];
	};
	for (const line of text.split('\n')) {
		const bullet = /^\s*(?:([-*+])|(\d+)[.)])\s+(.*)$/.exec(line), head = /^(#{1,6})\s+(.*)$/.exec(line);
		if (code) {
			if (line.startsWith('```')) { root.append(h('pre', code.join('\n'))); code = null; }
			else code.push(line);
			continue;
		}
		if (!bullet) items = null;
		if (line.startsWith('```')) { flush(); code = []; }
		else if (head) { flush(); root.append(h('h3', inline(head[2]))); }
		else if (bullet) {
			flush();
			const tag = bullet[1] ? 'ul' : 'ol';
			if (items?.localName !== tag) root.append(items = h(tag));
			items.append(h('li', inline(bullet[3])));
		} else if (line.trim()) para.push(line);
		else flush();
	}
	flush();
	if (code) root.append(h('pre', code.join('\n')));
	return root;
}

// A unified diff, in pieces of lines.
export function diff(text) {
	const lines = text.split('\n');
	const box = h('div.diff', {tabindex: 0});
	let shown = 0;
	const more = act('Show more lines', () => next());
	function next() {
		for (const line of lines.slice(shown, shown + 800))
			box.append(h('div', {class: line.startsWith('@@') || /^(---|\+\+\+) /.test(line) ? 'h'
				: line[0] === '+' ? 'a' : line[0] === '-' ? 'd' : null}, line || ' '));
		shown += 800;
		more.hidden = shown >= lines.length;
	}
	next();
	return h('div', box, more);
}
