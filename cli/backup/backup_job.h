#ifndef CLI_BACKUP_BACKUP_JOB_H
#define CLI_BACKUP_BACKUP_JOB_H

#include "cli/cli.h"

struct backup_job_options {
	const char *kind; /* manual, scheduled, safety */
	const char *out;  /* a file, a directory, "-"; NULL: backups/ */
	const char *const *agents;
	int nagents;
	bool with_workspaces, zstd;
};

/* Creates the backup, shows progress and records its row. Texts in *row are
 * valid as long as the command. An incomplete backup succeeds, and row->problem
 * names what is missing. */
int ops_backup_make(struct cli *cli, const struct backup_job_options *want,
		    struct backup_run_row *row, struct err *e);

#endif
