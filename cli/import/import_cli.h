#ifndef CLI_IMPORT_IMPORT_CLI_H
#define CLI_IMPORT_IMPORT_CLI_H

#include "cli/cli.h"
#include "ops/import/import.h"

/* Writes rows of an import to the control plane, through the supervisor if one
 * runs. */
struct import_writer import_cli_host(struct cli *cli);

/* The table of items, for plan and apply. */
struct import_view {
	struct cli *cli;
	struct table *t;
};

void import_view_begin(struct import_view *v, struct cli *cli,
		       struct import_run *m);
void import_view_end(struct import_view *v, const struct import_run *m);

/* Creates and verifies a backup; returns its path, or NULL. */
const char *import_save_first(struct cli *cli, struct err *e);

#endif
