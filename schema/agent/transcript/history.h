#ifndef SCHEMA_AGENT_TRANSCRIPT_HISTORY_H
#define SCHEMA_AGENT_TRANSCRIPT_HISTORY_H

#include "schema/agent/agent_file.h"
#include "schema/agent/transcript/event.h"

/*
 * The history of a session. A fork continues its base, and a rewind skips
 * events, so a history is a list of ranges of numbers, each in one session:
 *
 *   HISTORY_LOG    all events, in the order in which they were written
 *   HISTORY_PATH   the visible events: from the leaf back along the parents
 *   HISTORY_MODEL  the path after its last compaction, whose summary replaces
 *                  the earlier events
 *
 * Finding the ranges costs one look-up for each fork and rewind, for any number
 * of events. Events are read by pages; no statement stays open in between.
 */
enum history_view { HISTORY_LOG, HISTORY_PATH, HISTORY_MODEL };

struct segment {
	int64_t session;
	int64_t first; /* seq */
	int64_t last;
};

struct history {
	struct segment *segments; /* ascending; in the arena */
	int count;
	const char *summary;  /* for HISTORY_MODEL with a compaction, else
			       * NULL */
	int64_t summary_upto; /* last seq that the summary replaces */
};

int history_load(struct agent_file *f, int64_t session, enum history_view view,
		 struct history *h, struct arena *a, struct err *e);

int64_t history_last(const struct history *h); /* seq; 0 if the history is
					        * empty */

/* One event. Texts are in the arena of the reader. */
struct event {
	int64_t session; /* of the row: in a fork, possibly an ancestor */
	int64_t seq;
	const char *id;
	const char *type;
	const char *run; /* NULL: none */
	const char *key; /* NULL: none */
	const char *body;
	int64_t parent; /* seq, 0 for a root */
	int64_t at;
};

struct page {
	struct event *events; /* in the order of reading */
	int count;
	bool more; /* there are more events in that direction */
};

/*
 * Reads at most `count` events of the history with seq > after (forward), or
 * seq < before (backward; 0: from the end), and at most about 4 MiB of bodies.
 */
int history_forward(struct agent_file *f, const struct history *h,
		    int64_t after, int count, struct page *p, struct arena *a,
		    struct err *e);
int history_backward(struct agent_file *f, const struct history *h,
		     int64_t before, int count, struct page *p, struct arena *a,
		     struct err *e);

/* Sum of tokens and cost over the history. */
int history_usage(struct agent_file *f, const struct history *h,
		  struct usage_total *out, struct err *e);

#endif
