#ifndef CLI_APPROVALS_APPROVAL_ANSWER_H
#define CLI_APPROVALS_APPROVAL_ANSWER_H

#include "cli/cli.h"

/* What `approvals allow` and `approvals deny` share: their options, and giving
 * the answer to the supervisor. */
#define APPROVAL_ANSWER_OPTIONS                                            \
	{"note", "TEXT", "for the run and the record", OPTION_TEXT},       \
		{"choice", "ID",                                           \
		 "an option of the question; 'approvals show' lists them", \
		 OPTION_TEXT},                                             \
	{                                                                  \
		NULL, NULL, NULL, OPTION_FLAG                              \
	}

int approval_answer(struct cli *cli, bool allow, struct err *e);

#endif
