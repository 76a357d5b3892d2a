#ifndef WORKER_DRIVER_CHAT_THINK_TAG_H
#define WORKER_DRIVER_CHAT_THINK_TAG_H

#include "lib/base/err.h"

#include <stddef.h>

/*
 * Some servers send the reasoning of a model inside of its text, between a tag
 * at the very beginning and its counterpart: <think>…</think> and the like
 * (think_tag.def). This separates them while the text streams; a tag may be
 * split over any number of pieces.
 *
 * Where the server's template has the opening tag, the model writes only the
 * closing one: what came before it is reasoning after all. The first closing tag
 * counts, unless its opening tag stands before it, or it is quoted, or in code.
 * All other tags are text.
 */
#define CHAT_THINK_HELD 32

struct chat_think_tag {
	const char *open, *close;
};

struct chat_think {
	enum {
		THINK_START,
		THINK_INSIDE,
		THINK_BEHIND,
		THINK_LOOKING, /* text in which there may be a closing tag */
		THINK_TEXT
	} state;
	const struct chat_think_tag *tag; /* NULL: none was seen */
	char held[CHAT_THINK_HELD];       /* the beginning of what may be one */
	size_t n;
	char before;  /* the character before what is held, or 0 */
	bool in_code; /* behind an odd number of ` */
};

/* Receives the pieces. THINK_IS_REASONING comes without text: all the text until
 * now is reasoning. -1 stops. */
enum chat_think_kind {
	THINK_OUT_TEXT,
	THINK_OUT_REASONING,
	THINK_IS_REASONING
};

typedef int chat_think_fn(void *arg, enum chat_think_kind what,
			  const char *text, size_t n, struct err *e);

int chat_think_feed(struct chat_think *t, const char *text, size_t n,
		    chat_think_fn *fn, void *arg, struct err *e);
int chat_think_end(struct chat_think *t, chat_think_fn *fn, void *arg,
		   struct err *e);

/* The closing tag for an opening one; NULL: it is none. */
const char *chat_think_close(const char *open);

#endif
