#ifndef CLI_RUN_APPROVAL_PROMPT_H
#define CLI_RUN_APPROVAL_PROMPT_H

#include "cli/cli.h"

/*
 * Asks the user on the terminal about the open approvals of a run, and sends the
 * answers: y (allow), n (deny), a (always: allow, and do not ask again), w (why:
 * show the details, then ask again). "Always" selects the option of the
 * question that means this. If it has none, the same question is answered with
 * yes as long as the prompt exists.
 */
#define APPROVAL_ALWAYS_MAX 32

struct approval_prompt {
	struct cli *cli;
	/* Titles that are always allowed. */
	const char *always[APPROVAL_ALWAYS_MAX];
	int nalways;
	/* Called before a question is printed; or NULL. */
	void (*before)(void *arg);
	void *arg;
	/* Reads a line into `line`; false at the end of the input. NULL: from
	 * standard input. */
	bool (*read)(void *arg, const char *question, char *line, int size);
};

/* Whether questions can be asked: standard input and stderr are a terminal. */
bool approval_prompt_works(const struct cli *cli);

/* Asks about each open approval of the run. Returns the number of answers, or
 * -1. An end of the input leaves the question open. */
int approval_prompt_run(struct approval_prompt *p, const char *run,
			struct err *e);

#endif
