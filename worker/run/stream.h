#ifndef WORKER_RUN_STREAM_H
#define WORKER_RUN_STREAM_H

#include "lib/base/err.h"
#include "worker/run/transcript.h"

/*
 * Growing texts: messages of the assistant whose parts stream, several at a
 * time, identified by a name from the driver. Each is one event with one part;
 * chunks are collected and committed together (schema/agent/transcript/part.h).
 */
#define STREAM_MAX  16
#define STREAM_NAME 64

struct stream {
	struct transcript *transcript; /* borrowed */
	struct {
		char name[STREAM_NAME + 1];
		struct part part;
		bool open;
	} slots[STREAM_MAX];
};

/* Adds text to the part `name` of a kind ("text", "reasoning"); the first chunk
 * creates it. ERR_FULL if too many are open. */
int stream_add(struct stream *s, const char *name, const char *kind,
	       const char *text, struct err *e);

/* "done", "error", "aborted". A name that is not open is ignored. */
int stream_end(struct stream *s, const char *name, const char *state,
	       struct err *e);
int stream_end_all(struct stream *s, const char *state, struct err *e);

/* Commits text that has waited long enough; *wait_ms is lowered to the time of
 * the next call. */
int stream_flush(struct stream *s, int64_t *wait_ms, struct err *e);

#endif
