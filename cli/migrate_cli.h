#ifndef CLI_MIGRATE_CLI_H
#define CLI_MIGRATE_CLI_H

#include "cli/cli.h"
#include "ops/migrate.h"

/* What plan and apply share: the table of pieces. */
struct migrate_view {
	struct cli *cli;
	struct table *t;
};

void migrate_view_begin(struct migrate_view *v, struct cli *cli,
			struct migrate *m);
void migrate_view_end(struct migrate_view *v, const struct migrate *m);

#endif
