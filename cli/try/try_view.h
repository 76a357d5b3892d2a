#ifndef CLI_TRY_TRY_VIEW_H
#define CLI_TRY_TRY_VIEW_H

#include "cli/cli.h"

/*
 * What the commands on experiments share: rows, the table of trials, waiting.
 * Texts live as long as the command.
 */

/* The row of an experiment; NULL: the newest one. ERR_NOTFOUND. */
int try_get(struct cli *cli, const char *id, struct experiment_row *out,
	    struct err *e);
/* The trial that a word names. */
int try_get_trial(struct cli *cli, const char *id, const char *word,
		  struct trial_row *out, struct err *e);

/* Prints the experiment and its trials. */
int try_print(struct cli *cli, const struct experiment_row *row, struct err *e);

/* Prints why trials failed. ERR_FAILED if none has succeeded. */
int try_print_failures(struct cli *cli, const struct experiment_row *row,
		       struct err *e);

/* Waits until the experiment has left these states, "a|b|c". On a terminal, a
 * table shows its trials meanwhile. */
int try_wait(struct cli *cli, const char *id, const char *states, bool live,
	     struct experiment_row *out, struct err *e);

/* Requests a change: POST /v1/experiments/ID/verb. */
int try_post(struct cli *cli, const char *id, const char *verb,
	     const char *body, struct err *e);

/* The error of an experiment that failed. */
int try_failed(const struct experiment_row *row, struct err *e);

#define TRY_EXPERIMENT                                                        \
	{                                                                     \
		"EXPERIMENT", "id of an experiment (exp_...); 'skep try ls' " \
			      "lists them"                                    \
	}

#endif
