#ifndef CLI_IMPORT_IMPORT_CLI_H
#define CLI_IMPORT_IMPORT_CLI_H

#include "cli/cli.h"
#include "ops/migrate/migrate.h"

/* Writes rows of the control plane for a migration: itself, or by the supervisor
 * that runs. */
struct migrate_host import_cli_host(struct cli *cli);

/* What plan and apply share: the table of pieces. */
struct import_view {
	struct cli *cli;
	struct table *t;
};

void import_view_begin(struct import_view *v, struct cli *cli,
		       struct migrate *m);
void import_view_end(struct import_view *v, const struct migrate *m);

/* A backup that was proven to be whole; its path, or NULL. */
const char *import_save_first(struct cli *cli, struct err *e);

#endif
