#ifndef CLI_RUN_FOLD_VIEW_H
#define CLI_RUN_FOLD_VIEW_H

#include "cli/cli.h"
#include "schema/agent/transcript/tail.h"

/*
 * A transcript as people read it: the text of the agent as it grows, each tool
 * call on one line together with its result, the beginning and the end of a run
 * on one line each. Reasoning and internal events are left out.
 *
 * Text goes to the output of the command. Notes, which are everything else, go
 * to the same place, or to stderr, so that standard output has only the answer.
 */
#define FOLD_CALLS 64

struct fold_view {
	struct cli *cli;
	bool raw;      /* only the text */
	bool notes;    /* tool calls, begin and end of a run */
	bool prompts;  /* the messages of the user too */
	bool to_error; /* notes go to stderr */
	bool no_text;  /* only notes */

	bool mid_line;    /* private: text without a newline at its end */
	bool wrote;       /* text was printed */
	int64_t user_seq; /* the last message of a user */
	int64_t text_seq; /* the message of the last text */
	int64_t calls[FOLD_CALLS]; /* calls that were printed */
	int ncalls;
};

/* Prints one item of a tail. */
void fold_item(struct fold_view *v, const struct tail_item *item);

/* Ends an unfinished line. */
void fold_end_line(struct fold_view *v);

#endif
