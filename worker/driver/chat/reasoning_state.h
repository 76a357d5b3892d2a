#ifndef WORKER_DRIVER_CHAT_REASONING_STATE_H
#define WORKER_DRIVER_CHAT_REASONING_STATE_H

#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "schema/agent/transcript/part.h"
#include "worker/driver/chat/turn.h"

/*
 * Reasoning that must be sent back to a provider, as stored in the transcript:
 * in the meta of the part of the reasoning and of each call. `from` is the
 * model and server that produced it; others cannot use it.
 */
struct chat_state {
	const char *from;      /* NULL: none */
	const char *reasoning; /* the text, or NULL */
	const char *field;     /* turn.h, or NULL */
	const char *list;      /* name of the member for details, or NULL */
	const char *details;   /* JSON */
	const char *extra;     /* JSON, or NULL */
	struct chat_state_item {
		int64_t before; /* the call with this number */
		const char *json;
	} * items;
	int nitems;
};

/* The meta of the part of the reasoning, and of a call; NULL if there is
 * nothing to store. */
void chat_state_write(const struct chat_turn *t, const char *from,
		      struct buf *out);
void chat_state_write_call(const struct chat_call *c, const char *from,
			   struct buf *out);

/* All in a. */
void chat_state_read(struct chat_state *s, const struct part_row *p,
		     struct arena *a);

#endif
