#include "vfs/core/node_refs.h"

#include <assert.h>
#include <stdlib.h>

/* Open addressing with linear probing; a removal moves later keys back, so that
 * no tombstones are needed. */

static size_t slot_of(const struct node_refs *s, int64_t ino)
{
	return (size_t)((uint64_t)ino * UINT64_C(0x9e3779b97f4a7c15) >> 20) &
	       (s->cap - 1);
}

static size_t find_slot(const struct node_refs *s, int64_t ino)
{
	size_t i = slot_of(s, ino);

	while (s->key[i] && s->key[i] != ino)
		i = (i + 1) & (s->cap - 1);
	return i;
}

void node_refs_fini(struct node_refs *s)
{
	free(s->key);
	free(s->count);
	*s = (struct node_refs){0};
}

static void grow(struct node_refs *s)
{
	struct node_refs old = *s;

	s->cap = old.cap ? old.cap * 2 : 64;
	s->key = calloc(s->cap, sizeof *s->key);
	s->count = calloc(s->cap, sizeof *s->count);
	if (!s->key || !s->count)
		abort();
	for (size_t i = 0; i < old.cap; i++) {
		size_t to;

		if (!old.key[i])
			continue;
		to = find_slot(s, old.key[i]);
		s->key[to] = old.key[i];
		s->count[to] = old.count[i];
	}
	node_refs_fini(&old);
}

uint64_t node_refs_count(const struct node_refs *s, int64_t ino)
{
	size_t i;

	if (!s->n)
		return 0;
	i = find_slot(s, ino);
	return s->key[i] ? s->count[i] : 0;
}

void node_refs_add(struct node_refs *s, int64_t ino, uint64_t by)
{
	size_t i;

	assert(ino > 0);
	if (s->n * 4 >= s->cap * 3)
		grow(s);
	i = find_slot(s, ino);
	if (!s->key[i]) {
		s->key[i] = ino;
		s->count[i] = 0;
		s->n++;
	}
	s->count[i] += by;
}

static void take_out(struct node_refs *s, size_t gap)
{
	size_t i = gap;

	s->n--;
	for (;;) {
		size_t home;

		i = (i + 1) & (s->cap - 1);
		if (!s->key[i])
			break;
		home = slot_of(s, s->key[i]);
		/* whether it may move to the gap: home is not between gap and
		 * i */
		if (((i - home) & (s->cap - 1)) < ((i - gap) & (s->cap - 1)))
			continue;
		s->key[gap] = s->key[i];
		s->count[gap] = s->count[i];
		gap = i;
	}
	s->key[gap] = 0;
}

uint64_t node_refs_sub(struct node_refs *s, int64_t ino, uint64_t by)
{
	size_t i;

	if (!s->n)
		return 0;
	i = find_slot(s, ino);
	if (!s->key[i])
		return 0;
	if (s->count[i] > by)
		return s->count[i] -= by;
	take_out(s, i);
	return 0;
}

int64_t node_refs_next(const struct node_refs *s, size_t *i)
{
	while (*i < s->cap) {
		int64_t key = s->key[(*i)++];

		if (key)
			return key;
	}
	return 0;
}
