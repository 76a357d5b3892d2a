#ifndef WORKER_DRIVER_CHAT_CHAT_H
#define WORKER_DRIVER_CHAT_CHAT_H

#include "schema/agent/transcript/part.h"
#include "worker/driver/chat/config.h"
#include "worker/driver/chat/history.h"
#include "worker/driver/chat/http.h"
#include "worker/driver/chat/mcp_tools.h"
#include "worker/driver/chat/turn.h"
#include "worker/driver/driver.h"
#include "worker/mcp/mcp.h"

/*
 * The chat driver's inside: a loop of requests and tools (driver.c), the
 * request (request.c), the answer as parts of an event (answer.c),
 * the tools (tools.c), and making room (compact.c). Everything that a
 * later attempt needs is in the transcript.
 */
struct chat {
	struct run *run;
	struct chat_config config;
	struct chat_http *http;
	struct mcp files;
	struct chat_mcp *servers; /* the user's, or NULL */
	struct run_end *end;
	bool over;      /* *end is filled */
	int64_t turns;  /* requests that were answered, in this attempt */
	int64_t tokens; /* of this attempt */
	double cost;
	bool no_encrypted;      /* the model has no encrypted reasoning */
	unsigned refused_media; /* CHAT_MEDIA_BIT: it takes no such files */
	unsigned sent_media;    /* in the last request */
	size_t media_room;      /* bytes of files, in this request */
	int compactions;        /* in a row */
	size_t asked;           /* bytes of the last request */
	int64_t asked_seq;      /* the last event that it contained */
	double token_bytes; /* of requests so far, as the server counted; 0: none */
	struct chat_turn turn;
	int64_t pos; /* of the event of the answer; 0: none yet */
	struct part text, reasoning;
	bool text_open, reasoning_open;
	struct part calls[CHAT_CALLS];
	bool call_open[CHAT_CALLS];
};

/* Ends the run; returns 0. */
int chat_end(struct chat *x, enum reason reason, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* --- request.c: appended to out ---------------------------------- */
int chat_request(struct chat *x, const struct chat_history *h, struct buf *out,
		 struct err *e);

/* --- answer.c ----------------------------------------------------- */
void chat_answer_begin(struct chat *x); /* x->turn is fresh */
int chat_answer_flush(void *arg, int64_t *ms, struct err *e);
/* Commits what was spent, then the whole answer with its calls. */
int chat_answer_store(struct chat *x, struct err *e);
int chat_answer_drop(struct chat *x, const char *why, struct err *e);
/* The result of a call whose part is open. */
int chat_answer_result(struct chat *x, int call, const struct buf *text,
		       bool failed, struct err *e);
void chat_answer_end(struct chat *x); /* frees memory only */

/* --- tools.c ------------------------------------------------------ */
struct chat_use {
	const char *id, *name;
	const cJSON *args; /* an object */
	struct part *part; /* of the call; NULL: of an attempt that died */
};

/* Descriptions of those that the agent may use, as the API wants them. */
void chat_tools_list(const struct chat *x, struct buf *out);

/* 0: text is the result; -1 with ERR_CANCELED when the run ends, else *e is the
 * result. */
int chat_tool_run(struct chat *x, const struct chat_use *use, struct buf *text,
		  struct err *e);

/* May it be done once more, when nobody knows whether it was? */
bool chat_tool_is_repeatable(const char *name);

/* --- compact.c ------------------------------------------------------ */

/* Is a request of so many bytes more than the model takes, as far as we know,
 * and can something be done about it? *tokens is how many they may be. */
bool chat_is_too_long(const struct chat *x, const struct chat_history *h,
		      size_t bytes, int64_t *tokens);

/* The last request had so many tokens, as the server says. */
void chat_learn_tokens(struct chat *x, int64_t tokens);

/* 0 with less history, or the run has its end. */
int chat_compact(struct chat *x, const struct chat_history *h, const char *why,
		 struct err *e);

#endif
