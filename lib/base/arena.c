#include "lib/base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 4096

struct arena_block {
	struct arena_block *next;
	size_t used;
	size_t size;
	max_align_t data[];
};

static struct arena_block *block_new(size_t size)
{
	struct arena_block *b = malloc(sizeof *b + size);

	if (!b)
		abort();
	b->next = NULL;
	b->used = 0;
	b->size = size;
	return b;
}

static void free_blocks(struct arena_block *b)
{
	while (b) {
		struct arena_block *next = b->next;

		free(b);
		b = next;
	}
}

void arena_fini(struct arena *a)
{
	free_blocks(a->blocks);
	*a = (struct arena){0};
}

void arena_reset(struct arena *a)
{
	struct arena_block *keep = a->blocks;

	a->used = 0;
	if (!keep)
		return;
	free_blocks(keep->next);
	keep->next = NULL;
	keep->used = 0;
	if (keep->size > BLOCK_BYTES) {
		free(keep);
		a->blocks = NULL;
	}
}

void *arena_alloc(struct arena *a, size_t n)
{
	size_t need = (n + alignof(max_align_t) - 1) &
		      ~(alignof(max_align_t) - 1);
	struct arena_block *b = a->blocks;
	void *p;

	if (n > SIZE_MAX / 2)
		abort(); /* a corrupt size, not a real allocation */
	if (!b || b->size - b->used < need) {
		b = block_new(need > BLOCK_BYTES ? need : BLOCK_BYTES);
		b->next = a->blocks;
		a->blocks = b;
	}
	p = (char *)b->data + b->used;
	b->used += need;
	a->used += need;
	memset(p, 0, n);
	return p;
}

void *arena_copy(struct arena *a, const void *p, size_t n)
{
	void *to = arena_alloc(a, n);

	if (n > 0)
		memcpy(to, p, n);
	return to;
}

char *arena_textn(struct arena *a, const char *text, size_t n)
{
	char *to = arena_alloc(a, n + 1);

	if (n > 0)
		memcpy(to, text, n);
	return to;
}

char *arena_text(struct arena *a, const char *text)
{
	return text ? arena_textn(a, text, strlen(text)) : NULL;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char *to;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		abort();
	to = arena_alloc(a, (size_t)n + 1);
	vsnprintf(to, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return to;
}
