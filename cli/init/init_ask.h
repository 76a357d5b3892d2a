#ifndef CLI_INIT_INIT_ASK_H
#define CLI_INIT_INIT_ASK_H

#include "cli/cli.h"

/* Questions of `skep init`, on a terminal. Answers are in the command's arena.
 * Without a terminal, or with --yes, nothing is asked and the default is the
 * answer. The end of the input is the answer "cancel": ERR_CANCELED. */
bool init_can_ask(struct cli *cli);

/* A text. */
int init_ask(struct cli *cli, const char *question, const char *other,
	     const char **out, struct err *e);

/* One of n choices, by number; *out is its index. */
int init_choose(struct cli *cli, const char *question,
		const char *const *choices, int n, int other, int *out,
		struct err *e);

int init_ask_yes(struct cli *cli, const char *question, bool other, bool *out,
		 struct err *e);

#endif
