#ifndef CLI_BUDGET_BUDGET_EDIT_H
#define CLI_BUDGET_BUDGET_EDIT_H

#include "cli/cli.h"

/* What budget add and budget set share: their options, and storing the row. */
#define BUDGET_OPTIONS                                                      \
	OPTION(TEXT, 0, "tokens", "N",                                      \
	       "hard limit: input and output tokens, such as 500000"),      \
		OPTION(TEXT, 0, "money", "DOLLARS",                         \
		       "hard limit: cost of the models, such as 2.50"),     \
		OPTION(TEXT, 0, "runs", "N", "hard limit: number of runs"), \
		OPTION(TEXT, 0, "time", "TIME",                             \
		       "hard limit: time of runs, such as 8h"),             \
		OPTION(TEXT, 0, "soft", "AMOUNT",                           \
		       "ask the user at this amount, in the unit of the "   \
		       "hard limit; 'none' asks never"),                    \
		OPTION(WORD, 0, "per", "home|agent|channel|session|run",    \
		       "what has a count of its own"),                      \
		OPTION(WORD, 0, "period", "day|month|total",                \
		       "when the count begins again"),                      \
		OPTION(WORD, 0, "then", "pause|end",                        \
		       "what happens to a run at the hard limit"),          \
		OPT_AGENT("count only runs of this agent"),                 \
		OPTION(TEXT, 's', "session", "SESSION",                     \
		       "count only runs of this session of --agent"),       \
		OPTION(NAME, 'c', "channel", "CHANNEL",                     \
		       "count only runs that messages of this channel start")

/* Changes the row as the options say. */
int budget_read_options(struct cli *cli, struct budget_row *row, struct err *e);
int budget_send(struct cli *cli, struct budget_row *row, const char *done,
		struct err *e);

/* Finds a budget; ERR_NOTFOUND. */
int budget_find(struct cli *cli, const char *name, struct budget_row *row,
		struct err *e);

#endif
