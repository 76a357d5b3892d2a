#ifndef SCHEMA_AGENT_TRANSCRIPT_TAIL_H
#define SCHEMA_AGENT_TRANSCRIPT_TAIL_H

#include "lib/base/buf.h"
#include "schema/agent/agent_file.h"
#include "schema/agent/transcript/history.h"

/*
 * Reads a session as it grows: its events in order, and the parts of messages
 * as they grow, by what is new since the last look. Where a reader stands is a
 * short text, the cursor: another reader goes on from it, in another process,
 * without loss and without doubles.
 *
 *   17                 all events up to 17; of parts nothing is known, so those
 *                      still open in the last message are told from their start
 *   17.15:3,2-120-7    likewise, and of message 15 three parts, of which part 2
 *                      was open, told up to character 120, at revision 7
 *
 * Nothing stays open between two reads; the session, and the file, may come
 * into being later.
 */
struct tail;

struct tail_options {
	const char *session; /* key, or ses_… */
	const char *run;     /* only what this run wrote; NULL: everything */
	const char *after;   /* a cursor; NULL: from the start */
};

/* ERR_USAGE if the cursor is none. */
int tail_open(struct tail **out, const struct tail_options *want,
	      struct err *e);
void tail_close(struct tail *t); /* NULL is fine */

/* One thing that is new. Either event or part is set; borrowed for the call. */
struct tail_item {
	const struct event *event;
	const struct tail_part *part; /* text: only what is new */
	int64_t seq;                  /* of the event; of the part's message */
	int64_t at;      /* part: the character at which the text goes on */
	bool is_new;     /* part: not told of before */
	bool has_values; /* part: input, output or meta may have changed */
};

/*
 * Calls fn for what is new, a page at most; a nonzero return ends the page
 * after that item. 1: there is more to read at once; 0: all is told; -1.
 */
typedef int tail_fn(void *arg, const struct tail *t,
		    const struct tail_item *item);
int tail_read(struct tail *t, struct agent_file *f, tail_fn *fn, void *arg,
	      struct err *e);

/* Also from inside fn: the place after this item. */
void tail_cursor(const struct tail *t, struct buf *out);

#endif
