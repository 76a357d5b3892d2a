#ifndef LIB_BASE_ARENA_H
#define LIB_BASE_ARENA_H

#include <stddef.h>

/*
 * Memory with one lifetime: a request, a turn of the loop, a command.
 * arena_fini frees everything that was allocated from an arena; arena_reset
 * makes it reusable. Meant for small objects of known size. Aborts when out of
 * memory.
 */
struct arena {
	struct arena_block *blocks;
	size_t used; /* bytes handed out since the last reset */
};

void arena_fini(struct arena *a);  /* an all-zero arena is a valid empty one */
void arena_reset(struct arena *a); /* keeps one block for reuse */

void *arena_alloc(struct arena *a, size_t n); /* zeroed, aligned for anything */
void *arena_copy(struct arena *a, const void *p, size_t n);
char *arena_text(struct arena *a, const char *text); /* NULL gives NULL */
char *arena_textn(struct arena *a, const char *text, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
