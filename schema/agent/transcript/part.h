#ifndef SCHEMA_AGENT_TRANSCRIPT_PART_H
#define SCHEMA_AGENT_TRANSCRIPT_PART_H

#include "lib/base/buf.h"
#include "schema/agent/transcript/writer.h"

/*
 * A part of a message is a row that grows while it streams: text, reasoning,
 * a tool call with its input and output, a file, data. The message itself is an
 * event that was appended first.
 *
 * Chunks are gathered and written together, every PART_FLUSH_MS or
 * PART_FLUSH_BYTES (more in a long part). `acked` counts the bytes in the file:
 * those are never lost, and a crash leaves exactly them.
 *
 * Text behind the first PART_ROW_BYTES goes to rows of its own (part_chunk)
 * until the part ends, so that the cost of a chunk does not depend on the length
 * of the part. Read parts through the view `parts`, which joins them.
 */
#define PART_FLUSH_MS    50
#define PART_FLUSH_BYTES 8192
#define PART_FLUSH_MAX   (256u << 10)
#define PART_ROW_BYTES   8192
#define PART_TEXT_MAX    (64u << 20)

struct part_new {
	const char *kind;    /* text, reasoning, tool, file, data */
	const char *state;   /* NULL: streaming */
	const char *name;    /* tool, file name, kind of data */
	const char *call_id; /* of a tool call */
	const char *text;    /* what is there already, or NULL */
	const char *input;   /* JSON, or NULL */
	const char *output;  /* JSON, or NULL */
	const char *meta;    /* JSON object, or NULL */
};

struct part {
	struct writer *writer; /* borrowed */
	int64_t pos;
	int64_t idx;
	struct buf pending;
	int64_t pending_since; /* clock_mono_ns */
	int64_t acked;         /* bytes of text in the file */
};

/* A new part of the event at pos, behind its other parts. */
int part_open(struct part *p, struct writer *w, int64_t pos,
	      const struct part_new *n, struct err *e);

/* Adds text: 1 if everything so far is now in the file, 0 if some waits. */
int part_add(struct part *p, const char *text, size_t n, struct err *e);

/* Writes what waits. Call it when a stream pauses; part_due says when. */
int part_flush(struct part *p, struct err *e);
int64_t part_due_ns(const struct part *p); /* 0: nothing waits */

/* Writes what waits and changes kind, state, input, output, meta (NULL: as it
 * is). A final state (done, error, aborted) closes the row for good. */
struct part_change_new {
	const char *kind; /* text and reasoning may become one another */
	const char *state;
	const char *input;
	const char *output;
	const char *meta;
};

int part_set(struct part *p, const struct part_change_new *c, struct err *e);

/* Frees memory only; a part that was not finished stays as it is in the file. */
void part_close(struct part *p);

/* Parts of an event, in order: how many. */
int part_read(struct agent_file *f, int64_t pos, struct part_row **rows,
	      struct arena *a, struct err *e);

/* Closes what a dead worker left open in a session as `aborted`, with the reason
 * as output; parts that wait for an answer stay open. How many, or -1. */
int part_abort_open(struct writer *w, const char *reason, struct err *e);

/* The same for those that wait for permission; their output is
 * {"error": reason, "not_run": 1}. */
int part_abort_awaiting(struct writer *w, const char *reason, struct err *e);

/* Both, for the events from number `first` on: no part of a run that has ended
 * stays open. */
int part_abort_rest(struct writer *w, int64_t first, const char *reason,
		    struct err *e);

/* The parts as an AI SDK client takes them: the elements of UIMessage.parts. */
void part_ui_json(const struct part_row *rows, int n, struct buf *out);

#endif
