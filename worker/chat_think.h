#ifndef WORKER_CHAT_THINK_H
#define WORKER_CHAT_THINK_H

#include "base/err.h"

#include <stddef.h>

/*
 * Some servers send the reasoning of a model inside of its text, between a tag
 * at the very beginning and its counterpart: <think>…</think>. This separates
 * them while the text streams; a tag may be split over any number of pieces.
 * Tags anywhere else are text.
 */
#define CHAT_THINK_HELD 32

struct chat_think {
	enum { THINK_START, THINK_INSIDE, THINK_BEHIND, THINK_TEXT } state;
	const char *tag;            /* as "<think>"; NULL: none was seen */
	char held[CHAT_THINK_HELD]; /* the beginning of what may be a tag */
	size_t n;
};

/* Receives the pieces. -1 stops. */
typedef int chat_think_fn(void *arg, bool reasoning, const char *text, size_t n,
			  struct err *e);

int chat_think_feed(struct chat_think *t, const char *text, size_t n,
		    chat_think_fn *give, void *arg, struct err *e);
int chat_think_end(struct chat_think *t, chat_think_fn *give, void *arg,
		   struct err *e);

#endif
