#ifndef SCHEMA_AGENT_TRANSCRIPT_HISTORY_H
#define SCHEMA_AGENT_TRANSCRIPT_HISTORY_H

#include "schema/agent/agent_file.h"
#include "schema/agent/transcript/event.h"

/*
 * What a session consists of. A fork stands on its base, and a rewind leaves
 * events aside, so a history is a list of stretches, each a range of numbers
 * in one session:
 *
 *   HISTORY_LOG    everything, in the order in which it was written
 *   HISTORY_PATH   what is shown: from the leaf back along the parents
 *   HISTORY_MODEL  the path after its last compaction, whose summary stands
 *                  for what came before
 *
 * Finding the stretches costs one look-up for each fork and rewind, however
 * many events there are. Reading is by pages; nothing stays open in between.
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
	const char *summary;  /* HISTORY_MODEL with a compaction, else NULL */
	int64_t summary_upto; /* last seq that it stands for */
};

int history_load(struct agent_file *f, int64_t session, enum history_view view,
		 struct history *h, struct arena *a, struct err *e);

int64_t history_last(const struct history *h); /* seq; 0 when empty */

/* One event as read back. Texts are in the arena given to the reader. */
struct event {
	int64_t session; /* whose row it is: an ancestor's in a fork */
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
	bool more; /* there are further events in that direction */
};

/*
 * At most `count` events of the history with seq > after (forward), or seq <
 * before (backward; 0 means from the end), and at most about 4 MiB of bodies.
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
