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
 * The internals of the chat driver: a loop of requests and tools (driver.c),
 * the request (request.c), the answer as parts of an event (answer.c), the
 * tools (tools.c), and compaction (compact.c). Everything that a later attempt
 * needs is in the transcript.
 */
struct chat {
	struct run *run;
	struct chat_config config;
	struct chat_http *http;
	struct mcp files;
	struct chat_mcp *servers; /* of the user, or NULL */
	struct run_end *end;
	bool over;      /* *end is set */
	int64_t turns;  /* answered requests of this attempt */
	int64_t tokens; /* of this attempt */
	double cost;
	bool no_encrypted;      /* the model has no encrypted reasoning */
	unsigned refused_media; /* CHAT_MEDIA_BIT: it rejects such files */
	unsigned sent_media;    /* in the last request */
	size_t media_room;      /* bytes of files, in this request */
	int compactions;        /* in a row */
	size_t request_bytes;   /* bytes of the last request */
	int64_t asked_seq;      /* the last event that it contained */
	double token_bytes;     /* of all requests, as counted by the server; 0:
			     * none */
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
void chat_answer_begin(struct chat *x); /* x->turn is empty */
int chat_answer_flush(void *arg, int64_t *ms, struct err *e);
/* Commits the usage, then the whole answer with its calls. */
int chat_answer_store(struct chat *x, struct err *e);
int chat_answer_drop(struct chat *x, const char *why, struct err *e);
/* Stores the result of a call whose part is open. */
int chat_answer_result(struct chat *x, int call, const struct buf *text,
		       bool failed, struct err *e);
void chat_answer_end(struct chat *x); /* frees only memory */

/* Commits what an answer used. */
int chat_store_usage(struct chat *x, const struct chat_turn *t, struct err *e);

/* --- budget.c: before each request. 1: the run ends ----------------- */
int chat_reserve(struct chat *x, size_t bytes, struct err *e);

/* --- tools.c ------------------------------------------------------ */
struct chat_use {
	const char *id, *name;
	const cJSON *args; /* an object */
	int64_t seq;       /* of the event of the call */
	struct part *part; /* of the call; NULL: of a dead attempt */
};

/* Descriptions of the tools that the agent may use, in the format of the
 * API. */
void chat_tools_list(const struct chat *x, struct buf *out);

/* 0: text is the result, and *failed is set if it is an error; -1 with
 * ERR_CANCELED when the run ends, else *e is the result. */
#define CHAT_RESULT_MAX (16u << 20) /* as long as a message of an MCP server */
int chat_tool_run(struct chat *x, const struct chat_use *use, struct buf *text,
		  bool *failed, struct err *e);

/* May the call be repeated if it is unknown whether it was executed? */
bool chat_tool_is_repeatable(const char *name);

/* --- compact.c ------------------------------------------------------ */

/* Is a request of this size probably too large for the model, and can it be
 * compacted? *tokens is the estimated size. */
bool chat_is_too_long(const struct chat *x, const struct chat_history *h,
		      size_t bytes, int64_t *tokens);

/* Stores the number of tokens of the last request, from the server. */
void chat_learn_tokens(struct chat *x, int64_t tokens);

/* 0 with a shorter history, or the run ends. */
int chat_compact(struct chat *x, const struct chat_history *h, const char *why,
		 struct err *e);

#endif
