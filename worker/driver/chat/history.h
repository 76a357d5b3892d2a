#ifndef WORKER_DRIVER_CHAT_HISTORY_H
#define WORKER_DRIVER_CHAT_HISTORY_H

#include "lib/base/arena.h"
#include "schema/agent/transcript/history.h"
#include "worker/driver/chat/reasoning_state.h"

/*
 * The conversation for the model, read from the transcript; only committed data
 * counts. An incomplete answer of the assistant is left out; a call with an
 * unknown result has no output.
 *
 * The answer of the assistant is an event `message` with a body {"turn": n,
 * "after": seq} and parts. `after` is the last event that the request
 * contained: a message that arrived after the request and before the answer
 * comes after the answer here, so that the model is asked again. The parts are
 * reasoning, text, and a part of kind tool for each call. Its input is set when
 * the answer is complete, and its output when the tool has run. A result that
 * is found after the worker died is an event `tool_result`.
 */
struct chat_past_call {
	const char *id, *name, *input;
	const char *output; /* NULL: unknown */
	bool not_run;       /* it never began: it waited for permission */
	struct chat_state state;
};

struct chat_item {
	bool by_user;
	bool of_run; /* of the current run */
	int64_t seq;
	const char *text; /* may be "" */
	struct chat_past_call *calls;
	int ncalls;
	struct chat_state state;
};

struct chat_history {
	const char *summary; /* of the earlier messages, or NULL */
	struct chat_item *items;
	int n, cap;
};

/* All in a. */
int chat_history_load(struct chat_history *h, struct agent_file *f,
		      int64_t session, const char *run, struct arena *a,
		      struct err *e);

/* The greatest seq of its items; 0: none. */
int64_t chat_history_last_seq(const struct chat_history *h);

/* The last item of this run with a call that has no output, or NULL. */
struct chat_item *chat_history_unsettled(const struct chat_history *h);

#endif
