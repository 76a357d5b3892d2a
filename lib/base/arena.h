#ifndef LIB_BASE_ARENA_H
#define LIB_BASE_ARENA_H

#include <stddef.h>

/*
 * Memory of one lifetime: a request, a turn of the loop, a command. Everything
 * taken from an arena is freed at once by arena_fini, or made free for reuse
 * by arena_reset. Meant for small things of known size; aborts without memory.
 */
struct arena {
	struct arena_block *blocks;
	size_t used; /* bytes handed out since the last reset */
};

void arena_fini(struct arena *a);  /* an all-zero arena is a valid empty one */
void arena_reset(struct arena *a); /* keeps one block for the next round */

void *arena_alloc(struct arena *a, size_t n); /* zeroed, aligned for anything */
void *arena_copy(struct arena *a, const void *p, size_t n);
char *arena_text(struct arena *a, const char *text); /* NULL gives NULL */
char *arena_textn(struct arena *a, const char *text, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
