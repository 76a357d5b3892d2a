#ifndef CLI_RUN_LIVE_VIEW_H
#define CLI_RUN_LIVE_VIEW_H

#include "cli/cli.h"

/* The table of active runs, for ps and top. */
struct live_view {
	const char *agent, *tag, *invocation; /* only these; NULL: all */
	int64_t queued; /* queued runs to list; 0: only active ones */
};

int live_view_print(struct cli *cli, const struct live_view *v, struct err *e);

#endif
