#ifndef SUPERVISOR_API_OPENAI_WRITER_H
#define SUPERVISOR_API_OPENAI_WRITER_H

#include "lib/base/buf.h"
#include "lib/base/id.h"
#include "lib/json/sse.h"
#include "schema/control_queries.h"
#include "supervisor/api/openai/deltas.h"

/*
 * The answer of a run in a format of OpenAI: a chat completion or a response,
 * complete or as a stream of events.
 *
 * Stream: openai_writer_begin, openai_writer_item for each row of the run,
 * openai_writer_end. Events go to `send`. Complete: openai_writer_item for each
 * row, then openai_writer_complete.
 */
struct openai_format;

extern const struct openai_format openai_chat_format;
extern const struct openai_format openai_response_format;

struct openai_writer {
	const struct openai_format *format;
	char run[ID_SIZE];
	char *model, *session; /* owned */
	int64_t created_at;    /* milliseconds */
	bool is_stream;
	bool shows_usage;    /* chat: in a last chunk of its own */
	bool shows_activity; /* as reasoning */
	bool is_background;

	/* During the calls for a stream. */
	void (*send)(void *arg, const struct sse_event *ev);
	void *arg;

	struct openai_deltas deltas;
	struct buf text, activity; /* so far; chat streams do not keep them */
	struct buf event;
	int64_t sequence; /* of the next event of a response */
	bool has_begun;
	/* Response: the items of its output that have begun, and their number. */
	int message_index, reasoning_index; /* -1: not yet */
	int items;
};

struct openai_writer_options {
	const struct openai_format *format;
	const char *run, *model, *session;
	int64_t created_at;
	bool is_stream, shows_usage, shows_activity, is_background;
};

struct openai_writer *openai_writer_new(const struct openai_writer_options *o);
void openai_writer_free(struct openai_writer *w); /* accepts NULL */

void openai_writer_begin(struct openai_writer *w);
void openai_writer_item(struct openai_writer *w, const struct tail_item *item);
void openai_writer_end(struct openai_writer *w, const struct run_row *row);

/* Adds the complete answer, and returns its HTTP status. */
int openai_writer_complete(struct openai_writer *w, const struct run_row *row,
			   struct buf *out);

/* --- for the formats ------------------------------------------------------ */

struct openai_format {
	void (*begin)(struct openai_writer *w);
	void (*text)(struct openai_writer *w, const char *more);
	void (*activity)(struct openai_writer *w, const char *more);
	void (*end)(struct openai_writer *w, const struct run_row *row);
	int (*complete)(struct openai_writer *w, const struct run_row *row,
			struct buf *out);
};

/* Sends w->event. */
void openai_writer_send(struct openai_writer *w, const char *type);
/* Why the run has not succeeded. */
const char *openai_failure(const struct run_row *row);

#endif
