#include "vfs/core/cookie.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct cookie_note {
	int64_t dir, cookie;
	char *name;
	bool seen; /* in the listing in progress */
};

struct item {
	int64_t cookie;
	struct vfs_entry entry;
	bool settled;
};

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

void cookies_fini(struct cookie_book *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->notes[i].name);
	free(b->notes);
	*b = (struct cookie_book){.hash_bits = b->hash_bits};
}

static int64_t cookie_of(const struct cookie_book *b,
			 const struct vfs_entry *en)
{
	unsigned bits = b->hash_bits ? b->hash_bits : COOKIE_BITS;
	uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (const char *p = en->name; *p; p++)
		h = (h ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
	h ^= h >> 32;
	return en->ino << COOKIE_BITS |
	       (int64_t)(h & ((UINT64_C(1) << bits) - 1));
}

static int by_cookie(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->cookie != y->cookie)
		return x->cookie < y->cookie ? -1 : 1;
	if (x->settled != y->settled)
		return x->settled ? -1 : 1;
	return strcmp(x->entry.name, y->entry.name);
}

static void sort(struct item *items, size_t n)
{
	if (n)
		qsort(items, n, sizeof *items, by_cookie);
}

/* The cookie that the name already has; otherwise the default one. */
static void recall(struct cookie_book *b, int64_t dir, struct item *it)
{
	for (size_t i = 0; i < b->n && !it->settled; i++) {
		struct cookie_note *note = &b->notes[i];

		if (note->dir != dir ||
		    note->cookie >> COOKIE_BITS != it->entry.ino ||
		    strcmp(note->name, it->entry.name) != 0)
			continue;
		it->cookie = note->cookie;
		it->settled = note->seen = true;
	}
}

static void remember_cookie(struct cookie_book *b, int64_t dir,
			    const struct item *it)
{
	if (b->n == b->room) {
		b->room = b->room ? 2 * b->room : 16;
		b->notes = must(realloc(b->notes, b->room * sizeof *b->notes));
	}
	b->notes[b->n++] = (struct cookie_note){
		.dir = dir,
		.cookie = it->cookie,
		.name = must(strdup(it->entry.name)),
		.seen = true,
	};
}

/* Deleted names of this directory. */
static void forget(struct cookie_book *b, int64_t dir)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->n; i++) {
		if (b->notes[i].dir == dir && !b->notes[i].seen)
			free(b->notes[i].name);
		else
			b->notes[kept++] = b->notes[i];
	}
	b->n = kept;
	for (size_t i = 0; i < b->n; i++)
		b->notes[i].seen = false;
}

static bool is_taken(const struct item *items, size_t n, int64_t cookie)
{
	for (size_t i = 0; i < n; i++)
		if (items[i].cookie == cookie)
			return true;
	return false;
}

/* Another cookie for the same node; there are far more than names of a node
 * with the same hash in one listing. */
static int64_t next_free(const struct item *items, size_t n, int64_t cookie)
{
	int64_t mask = (INT64_C(1) << COOKIE_BITS) - 1;
	int64_t node = cookie & ~mask;

	do
		cookie = node | ((cookie + 1) & mask);
	while (is_taken(items, n, cookie));
	return cookie;
}

/* Whether any two were equal. */
static bool part(struct cookie_book *b, int64_t dir, struct item *items,
		 size_t n)
{
	bool equal = false;

	for (size_t i = 0; i < n;) {
		size_t first = i, end = i + 1;

		while (end < n && items[end].cookie == items[i].cookie)
			end++;
		for (i = first + 1; i < end; i++) {
			/* the first keeps it permanently, too */
			if (i == first + 1 && !items[first].settled)
				remember_cookie(b, dir, &items[first]);
			items[i].cookie = next_free(items, n, items[i].cookie);
			remember_cookie(b, dir, &items[i]);
			equal = true;
		}
		i = end;
	}
	return equal;
}

int64_t *cookies_sort(struct cookie_book *b, int64_t dir,
		      struct vfs_entry *entries, size_t n)
{
	struct item *items = must(calloc(n + 1, sizeof *items));
	int64_t *out = must(calloc(n + 1, sizeof *out));

	for (size_t i = 0; i < n; i++) {
		items[i].entry = entries[i];
		items[i].cookie = cookie_of(b, &entries[i]);
		if (b->n)
			recall(b, dir, &items[i]);
	}
	sort(items, n);
	if (part(b, dir, items, n))
		sort(items, n);
	forget(b, dir);
	for (size_t i = 0; i < n; i++) {
		entries[i] = items[i].entry;
		out[i] = items[i].cookie;
	}
	free(items);
	return out;
}
