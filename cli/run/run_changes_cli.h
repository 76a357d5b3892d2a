#ifndef CLI_RUN_RUN_CHANGES_CLI_H
#define CLI_RUN_RUN_CHANGES_CLI_H

#include "cli/vfs/difference_view.h"
#include "vfs/marker/run_changes.h"

/* Shared by `skep diff` and `skep revert`: RUN [PATH...] --turn N. */
#define OPT_TURN                      \
	OPTION(COUNT, 0, "turn", "N", \
	       "only the changes of this turn (1, 2, …) of the run")

int run_changes_cli(struct cli *cli,
		    int (*inner)(struct cli *, struct run_changes *,
				 struct err *),
		    struct err *e);

const char *const *run_changes_paths(const struct cli *cli);
int run_changes_npaths(const struct cli *cli);

#endif
