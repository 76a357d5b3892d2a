#ifndef WORKER_DRIVER_CHAT_THINK_TAG_H
#define WORKER_DRIVER_CHAT_THINK_TAG_H

#include "lib/base/err.h"

#include <stddef.h>

/*
 * Some servers send the reasoning of a model inside its text, between a tag at
 * the beginning and its closing tag: <think>…</think> and similar
 * (think_tag.def). This separates them while the text streams; a tag may be
 * split over any number of pieces.
 *
 * If the template of the server contains the opening tag, the model writes only
 * the closing one: the text before it is then reasoning. The first closing tag
 * counts, unless its opening tag precedes it, or it is quoted, or in code. All
 * other tags are text.
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
		THINK_LOOKING, /* text that may contain a closing tag */
		THINK_TEXT
	} state;
	const struct chat_think_tag *tag; /* NULL: none so far */
	char pending[CHAT_THINK_HELD];    /* a possible prefix of a tag */
	size_t n;
	char before;  /* the character before the held text, or 0 */
	bool in_code; /* after an odd number of ` */
};

/* Receives the pieces. THINK_IS_REASONING has no text: all text so far is
 * reasoning. -1 stops. */
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

/* The closing tag of an opening one, or NULL. */
const char *chat_think_close(const char *open);

#endif
