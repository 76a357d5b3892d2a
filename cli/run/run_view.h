#ifndef CLI_RUN_RUN_VIEW_H
#define CLI_RUN_RUN_VIEW_H

#include "cli/cli.h"
#include "schema/agent/transcript/tail.h"

/* The row and the output of a run. */

/* The row; ERR_NOTFOUND names the run. */
int run_view_get(struct cli *cli, const char *id, struct run_row *row,
		 struct err *e);

/* Opens the agent's file for reading, as cli->agent: 1; 0 if there is none yet:
 * the agent's first run creates it. */
int run_view_open_file(struct cli *cli, const char *agent, struct err *e);

/* Prints the output of a run; with `follow` until it is over, across restarts
 * of the supervisor; with `quiet` waits without printing. */
struct run_view {
	const char *id;
	const char *after; /* cursor to start after, or NULL */
	bool follow;
	bool quiet;
	/* Prints an item; NULL: each event in full (event_view.h). */
	tail_fn *print;
	void *print_arg;
	/* Called a few times a second with the row of a run that has not ended;
	 * or NULL. */
	int (*tick)(void *arg, const struct run_row *row, struct err *e);
	void *tick_arg;
};

int run_view_print(struct cli *cli, const struct run_view *v, struct err *e);

/* 0 for a run that succeeded; otherwise -1 with its outcome and reason. */
int run_view_outcome(struct cli *cli, const char *id, struct err *e);

#endif
