#ifndef CLI_RUN_RUN_SELECT_H
#define CLI_RUN_RUN_SELECT_H

#include "cli/cli.h"
#include "schema/vocab.h"

/*
 * The runs that a command is about: its words, which are ids here (cli_resolve),
 * or options that select runs. The results live in the arena of the command.
 */
#define RUN_SELECT_OPTIONS                                              \
	OPT_AGENT("select the runs of this agent"),                     \
		OPTION(TEXT, 't', "tag", "TAG",                         \
		       "select the runs with this tag"),                \
		OPTION(WORD, 0, "state", vocab_control_run_state,       \
		       "select the runs in this state"),                \
		OPTION(MILLIS, 0, "older", "TIME",                      \
		       "select the runs that were created longer ago, " \
		       "such as 2h or 7d")

struct run_ids {
	const char **id;
	int n;
};

/* The first `nwords` words of the command, or, without words, the runs that the
 * options select, oldest first. `states`: "queued running", the states that are
 * selected without --state; NULL for all. ERR_USAGE if there is neither;
 * ERR_NOTFOUND if no run matches. */
int run_select(struct cli *cli, int nwords, const char *states,
	       struct run_ids *out, struct err *e);

/* Whether the options select runs. */
bool run_select_given(const struct cli *cli);

/* Calls fn for each run, also after a failure: the first error is returned,
 * the others are printed. */
int run_each(struct cli *cli, const struct run_ids *runs,
	     int (*fn)(struct cli *cli, const char *id, struct err *e),
	     struct err *e);

#endif
