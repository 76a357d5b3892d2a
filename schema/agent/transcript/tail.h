#ifndef SCHEMA_AGENT_TRANSCRIPT_TAIL_H
#define SCHEMA_AGENT_TRANSCRIPT_TAIL_H

#include "lib/base/buf.h"
#include "schema/agent/agent_file.h"
#include "schema/agent/transcript/history.h"

/*
 * Reads a session as it grows: its events in order, and the growth of the parts
 * of messages since the last read. The position of a reader is a short text,
 * the cursor. Another reader, also in another process, continues from it
 * without losing or repeating anything.
 *
 *   17                 all events up to 17; the state of parts is unknown, so
 *                      open parts of the last message are reported from the start
 *   17.15:3,2-120-7    the same, and three parts of message 15, of which part 2
 *                      was open, reported up to character 120, at revision 7
 *
 * No statement stays open between two reads. Session and file may be created
 * later.
 */
struct tail;

struct tail_options {
	const char *session; /* key, or ses_… */
	const char *run;     /* only what this run wrote; NULL: everything */
	const char *after;   /* a cursor; NULL: from the start */
};

/* ERR_USAGE if the cursor is invalid. */
int tail_open(struct tail **out, const struct tail_options *want,
	      struct err *e);
void tail_close(struct tail *t); /* accepts NULL */

/* One new item. Either event or part is set; borrowed for the call. */
struct tail_item {
	const struct event *event;
	const struct tail_part *part; /* text: only the new text */
	int64_t seq;                  /* of the event, or of the message of the
				       * part */
	int64_t at;      /* part: the position at which the text continues */
	bool is_new;     /* part: not reported before */
	bool has_values; /* part: input, output or meta may have changed */
};

/*
 * Calls fn for each new item, at most one page; a nonzero return ends the page
 * after that item. Returns 1 if there is more to read, 0 if not, or -1.
 */
typedef int tail_fn(void *arg, const struct tail *t,
		    const struct tail_item *item);
int tail_read(struct tail *t, struct agent_file *f, tail_fn *fn, void *arg,
	      struct err *e);

/* The position after the current item; may be called from fn. */
void tail_cursor(const struct tail *t, struct buf *out);

#endif
