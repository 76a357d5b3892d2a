#ifndef SCHEMA_AGENT_TRANSCRIPT_PART_H
#define SCHEMA_AGENT_TRANSCRIPT_PART_H

#include "lib/base/buf.h"
#include "schema/agent/transcript/writer.h"

/*
 * A part of a message is a row that grows while it streams: text, reasoning, a
 * tool call with its input and output, a file, data. The message itself is an
 * event that was appended before.
 *
 * Chunks are collected and written together, every PART_FLUSH_MS or
 * PART_FLUSH_BYTES (more in a long part). `acked` counts the bytes in the file:
 * a crash loses none of these.
 *
 * Text after the first PART_ROW_BYTES is stored in separate rows (part_chunk)
 * until the part ends, so that the cost of a chunk does not depend on the
 * length of the part. Read parts through the view `parts`, which joins them.
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
	const char *text;    /* initial text, or NULL */
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

/* Adds a part to the event at pos, after its other parts. */
int part_open(struct part *p, struct writer *w, int64_t pos,
	      const struct part_new *n, struct err *e);

/* Adds text: returns 1 if all text so far is in the file, 0 if some is
 * buffered. */
int part_add(struct part *p, const char *text, size_t n, struct err *e);

/* Writes buffered text. Call it when a stream pauses; part_due returns the
 * time. */
int part_flush(struct part *p, struct err *e);
int64_t part_due_ns(const struct part *p); /* 0: nothing is buffered */

/* Writes buffered text and sets kind, state, input, output, meta (NULL:
 * unchanged). A final state (done, error, aborted) closes the row
 * permanently. */
struct part_change_new {
	const char *kind; /* text and reasoning may become one another */
	const char *state;
	const char *input;
	const char *output;
	const char *meta;
};

int part_set(struct part *p, const struct part_change_new *c, struct err *e);

/* Frees only memory; an unfinished part stays in the file. */
void part_close(struct part *p);

/* Reads the parts of an event, in order; returns their number. */
int part_read(struct agent_file *f, int64_t pos, struct part_row **rows,
	      struct arena *a, struct err *e);

/* Closes the parts of a session that a dead worker left open as `aborted`, with
 * the reason as output. Parts that wait for an answer stay open. Returns their
 * number, or -1. */
int part_abort_open(struct writer *w, const char *reason, struct err *e);

/* The same for parts that wait for permission; their output is {"error":
 * reason, "not_run": 1}. */
int part_abort_awaiting(struct writer *w, const char *reason, struct err *e);

/* Does both for the events from number `first` on: after a run has ended, none
 * of its parts is open. */
int part_abort_rest(struct writer *w, int64_t first, const char *reason,
		    struct err *e);

/* The parts in the format of the AI SDK: the elements of UIMessage.parts. */
void part_ui_json(const struct part_row *rows, int n, struct buf *out);

#endif
