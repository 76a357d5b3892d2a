#ifndef WORKER_CHAT_TURN_H
#define WORKER_CHAT_TURN_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

#include <stdint.h>

/*
 * One answer of a model, put together from the pieces that a server streams, or
 * from a whole one. Servers differ: calls come by index, by id or by neither,
 * whole or in pieces, with arguments as text or as an object, in the old shape
 * (function_call) or in that of the Responses API. Whatever is given, the result
 * is an answer that can be acted on, or an error that the server sent.
 *
 * What grows is told to `grew` as it comes, so that it can be shown.
 */
#define CHAT_CALLS    64
#define CHAT_TEXT_MAX (16u << 20)
#define CHAT_ARGS_MAX (8u << 20)

enum chat_grows { CHAT_TEXT, CHAT_REASONING, CHAT_CALL };

struct chat_call {
	int64_t index; /* as the server counts; -1: it does not */
	char id[128];
	char name[128];
	struct buf args;
	bool whole; /* was given as an object */
};

struct chat_usage {
	int64_t input, output, cached, reasoning;
	double cost; /* in dollars, where the server says; else 0 */
};

struct chat_turn {
	struct buf text, reasoning;
	struct chat_call calls[CHAT_CALLS];
	int ncalls;
	char finish[32];
	char model[128];
	struct chat_usage usage;
	struct buf error; /* what the server says that went wrong */
	char error_code[64];
	bool over; /* [DONE], or its equal */

	/* call is its number, -1 for text. -1 stops. */
	int (*grew)(void *arg, enum chat_grows what, int call, const char *text,
		    size_t n, struct err *e);
	void *arg;
};

void chat_turn_init(struct chat_turn *t);
void chat_turn_fini(struct chat_turn *t);

/* The data of one event of the stream. ERR_PROTOCOL: it is not JSON; ERR_TOOBIG:
 * over a ceiling; or what grew says. */
int chat_turn_data(struct chat_turn *t, const char *data, size_t n,
		   struct err *e);

/* One object of the stream, or a whole answer. */
int chat_turn_feed(struct chat_turn *t, const cJSON *v, struct err *e);

/* At the end: ids that are missing are made ("call_TURN_N"), and the word that
 * says why it ended is one of stop, tool_calls, length, refusal. ERR_PROTOCOL
 * if there is nothing in it. */
int chat_turn_end(struct chat_turn *t, int64_t turn, struct err *e);

/* How many calls have a name; the others are nobody's. */
int chat_turn_calls(const struct chat_turn *t);

/* The arguments of a call as an object that the caller frees; NULL with
 * ERR_INVALID, in words that the model can use. */
cJSON *chat_call_args(const struct chat_call *c, struct err *e);

#endif
