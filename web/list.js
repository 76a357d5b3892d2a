// <skep-list>: a keyed list of rows of equal height, of which only the visible
// ones exist. Thousands of rows may change many times per second.
export class List extends HTMLElement {
	#items = []; #rows = new Map(); #space; #frame = 0; #render = null; #key = null; #height = 32; #selected = null;

	// render(item, row) fills the element of a row; it is called again only if
	// the item is another object.
	setup({render, key, height = 32, label, fit = true}) {
		this.#render = render; this.#key = key; this.#height = height;
		this.setAttribute('role', 'listbox');
		this.setAttribute('aria-label', label);
		this.tabIndex = 0;
		this.#space = document.createElement('div');
		this.#space.className = 'space';
		this.#space.setAttribute('role', 'presentation');
		this.replaceChildren(this.#space);
		this.addEventListener('scroll', () => this.#later(), {passive: true});
		this.fit = fit;
		return this;
	}
	connectedCallback() { this.resize = new ResizeObserver(() => this.#later()); this.resize.observe(this); }
	disconnectedCallback() { this.resize?.disconnect(); cancelAnimationFrame(this.#frame); this.#frame = 0; }
	get items() { return this.#items; }
	get selected() { return this.#items.find(i => this.#key(i) === this.#selected); }
	set items(items) { this.#items = items; this.#later(); }
	#later() { if (!this.#frame) this.#frame = requestAnimationFrame(() => { this.#frame = 0; this.#draw(); }); }
	draw() { this.#draw(); }

	#draw() {
		const n = this.#items.length, hgt = this.#height;
		if (this.fit) this.style.height = Math.max(hgt + 2, Math.min(n * hgt + 2, Math.max(240, innerHeight - this.getBoundingClientRect().top - scrollY - 60))) + 'px';
		this.#space.style.height = n * hgt + 'px';
		const from = Math.max(0, Math.floor(this.scrollTop / hgt) - 6);
		const to = Math.min(n, Math.ceil((this.scrollTop + this.clientHeight) / hgt) + 6);
		const wanted = new Map();
		for (let i = from; i < to; i++) wanted.set(this.#key(this.#items[i]), i);
		for (const [key, row] of this.#rows)
			if (!wanted.has(key)) { row.remove(); this.#rows.delete(key); }
		for (const [key, i] of wanted) {
			let row = this.#rows.get(key);
			const item = this.#items[i];
			if (!row) {
				row = document.createElement('div');
				row.className = 'row';
				row.setAttribute('role', 'option');
				row.style.height = hgt + 'px';
				this.#rows.set(key, row);
				this.#space.append(row);
			}
			if (row.item !== item) { row.item = item; row.replaceChildren(); this.#render(item, row); }
			row.style.transform = `translateY(${i * hgt}px)`;
			row.setAttribute('aria-setsize', n);
			row.setAttribute('aria-posinset', i + 1);
			row.setAttribute('aria-selected', key === this.#selected);
		}
	}
	redraw() { for (const row of this.#rows.values()) row.item = undefined; this.#draw(); }

	// j and k
	move(by) {
		const at = this.#items.findIndex(i => this.#key(i) === this.#selected);
		const next = Math.max(0, Math.min(this.#items.length - 1, at < 0 ? 0 : at + by));
		if (!this.#items[next]) return;
		this.#selected = this.#key(this.#items[next]);
		const top = next * this.#height;
		if (top < this.scrollTop) this.scrollTop = top;
		else if (top + this.#height > this.scrollTop + this.clientHeight) this.scrollTop = top + this.#height - this.clientHeight;
		this.#draw();
	}
}
customElements.define('skep-list', List);
export const list = options => document.createElement('skep-list').setup(options);
