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

/* Makes it, with progress, and keeps its row; *row's texts live as long as the
 * command. A backup that lacks something is done, and row->problem says what. */
int ops_backup_make(struct cli *cli, const struct backup_job_options *want,
		    struct backup_run_row *row, struct err *e);

#endif
