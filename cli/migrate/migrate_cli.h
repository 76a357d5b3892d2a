#ifndef CLI_MIGRATE_MIGRATE_CLI_H
#define CLI_MIGRATE_MIGRATE_CLI_H

#include "cli/cli.h"
#include "ops/migrate/migrate.h"

/* Writes rows of the control plane for a migration: itself, or by the supervisor
 * that runs. */
struct migrate_host migrate_cli_host(struct cli *cli);

/* What plan and apply share: the table of pieces. */
struct migrate_view {
	struct cli *cli;
	struct table *t;
};

void migrate_view_begin(struct migrate_view *v, struct cli *cli,
			struct migrate *m);
void migrate_view_end(struct migrate_view *v, const struct migrate *m);

/* A backup that was proven to be whole; its path, or NULL. */
const char *migrate_save_first(struct cli *cli, struct err *e);

#endif
