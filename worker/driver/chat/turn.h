#ifndef WORKER_DRIVER_CHAT_TURN_H
#define WORKER_DRIVER_CHAT_TURN_H

#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/json/json.h"
#include "worker/driver/chat/think_tag.h"

#include <stdint.h>

/*
 * One answer of a model, assembled from streamed pieces or from a complete one.
 * Servers differ: calls have an index, an id or neither; they are complete or
 * in pieces, with arguments as text or as an object, in the old form
 * (function_call) or in that of the Responses API. The result is a usable
 * answer, or an error of the server.
 *
 * `grew` is called with each new piece, so that it can be shown.
 *
 * Reasoning arrives as text, whose member is `field`, and as state that must be
 * sent back unchanged: `details` (OpenRouter, LiteLLM), `items` (the Responses
 * API), `extra` (Google's signatures, of the message and of each call).
 */
#define CHAT_CALLS    64
#define CHAT_TEXT_MAX (16u << 20)
#define CHAT_ARGS_MAX (8u << 20)
#define CHAT_DETAILS  256

/* The reasoning is a part of the content, {"type": "thinking", …}. */
#define CHAT_FIELD_PARTS "content.thinking"

/* CHAT_THOUGHT has no text: the text until now is reasoning. */
enum chat_grows { CHAT_TEXT, CHAT_REASONING, CHAT_CALL, CHAT_THOUGHT };

#define CHAT_NAME 513 /* ids are sent back to the server unchanged */
struct chat_call {
	int64_t index; /* from the server; -1: none */
	char id[CHAT_NAME];
	char name[CHAT_NAME];
	char item[CHAT_NAME]; /* its id in a stream of the Responses API */
	struct buf args;
	bool whole;   /* was given as an object */
	bool done;    /* its item is complete */
	cJSON *extra; /* extra_content, or NULL */
};

/* One element of a list of reasoning whose text streams. */
struct chat_detail {
	cJSON *v;           /* without its text */
	const char *member; /* of the text, or NULL */
	struct buf text;
};

struct chat_usage {
	int64_t input, output, cached, reasoning;
	double cost; /* in dollars, if the server reports it; else 0 */
};

struct chat_turn {
	struct buf text, reasoning;
	struct chat_call calls[CHAT_CALLS];
	int ncalls;
	char finish[32];
	char model[128];
	struct chat_usage usage;
	struct buf error; /* error of the server */
	char error_code[64];
	bool over;       /* [DONE] or equivalent */
	bool streamed;   /* Responses: text of the current message came */
	size_t replaced; /* characters that were invalid, now U+FFFD */
	struct chat_think think;
	const char *field; /* of the text of the reasoning: a member of the
			    * message, a tag such as "<think>", or
			    * CHAT_FIELD_PARTS; or NULL */
	const char *list;  /* the member of details, or NULL */
	struct chat_detail *details;
	int ndetails;
	cJSON *items; /* [{"before": calls, "item": {…}}], or NULL */
	cJSON *extra; /* extra_content of the message, or NULL */

	/* call is its number, -1 for text. -1 stops. */
	int (*grew)(void *arg, enum chat_grows what, int call, const char *text,
		    size_t n, struct err *e);
	void *arg;
};

void chat_turn_init(struct chat_turn *t);
void chat_turn_fini(struct chat_turn *t);

/* Handles the data of one event of the stream. ERR_PROTOCOL: it is not JSON;
 * ERR_TOOBIG: over a limit; or the error of grew. */
int chat_turn_data(struct chat_turn *t, const char *data, size_t n,
		   struct err *e);

/* Handles one object of the stream, or a complete answer. */
int chat_turn_feed(struct chat_turn *t, const cJSON *v, struct err *e);

/* At the end: creates missing ids ("call_TURN_N") and maps the stop reason to
 * stop, tool_calls, length or refusal. ERR_PROTOCOL if nothing was received; an
 * answer that the server ended may be empty. */
int chat_turn_end(struct chat_turn *t, int64_t turn, struct err *e);

/* The details as the list to send back; NULL: none. The caller frees it. */
cJSON *chat_turn_details(const struct chat_turn *t);

/* responses.c: an event, and a whole answer, of the Responses API. */
int chat_turn_typed(struct chat_turn *t, const char *type, const cJSON *v,
		    struct err *e);
int chat_turn_response(struct chat_turn *t, const cJSON *r, struct err *e);

/* reasoning.c: reads the reasoning in a message. */
int chat_turn_reasoning(struct chat_turn *t, const cJSON *m, struct err *e);

/* For these: adds text and calls, and sets the stop reason. */
int chat_turn_text(struct chat_turn *t, enum chat_grows what, const cJSON *v,
		   struct err *e);
int chat_turn_add_args(struct chat_turn *t, int i, const cJSON *args,
		       struct err *e);
int chat_turn_new_call(struct chat_turn *t, int64_t index, struct err *e);
int chat_turn_store_item(char *to, size_t cap, const char *what,
			 const char *text, struct err *e); /* or ERR_TOOBIG */
int chat_turn_call_by_id(const struct chat_turn *t, const char *id,
			 int64_t index);
void chat_turn_error(struct chat_turn *t, const cJSON *v);
void chat_turn_usage(struct chat_turn *t, const cJSON *u);
void chat_turn_finish(struct chat_turn *t, const char *word);

/* The number of calls with a name; the others are ignored. */
int chat_turn_calls(const struct chat_turn *t);

/* The arguments of a call as an object that the caller frees; NULL with
 * ERR_INVALID, in a form for the model. */
cJSON *chat_call_args(const struct chat_call *c, struct err *e);

#endif
