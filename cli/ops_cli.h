#ifndef CLI_OPS_CLI_H
#define CLI_OPS_CLI_H

#include "cli/cli.h"
#include "ops/tell.h"

/* What the commands of operators share. */

/* A bar for work of ops/: begins with the first call, ends with ops_bar_end. */
struct ops_bar {
	const struct output *out;
	const char *what;
	struct progress p;
	bool begun;
};

struct ops_tell ops_bar(struct ops_bar *b, const struct cli *cli,
			const char *what);
void ops_bar_end(struct ops_bar *b);

/* Others come first: least weight on processor and disk. */
void ops_step_back(void);

/* The row of a backup, by the supervisor if one runs. */
int ops_backup_note(struct cli *cli, struct backup_run_row *row, struct err *e);

/* An audit row, likewise. */
int ops_audit(struct cli *cli, const char *act, const char *subject,
	      const char *detail, struct err *e);

/* An archive to read, "-" is stdin; its size, or 0. The fd, or -1. */
int ops_open_archive(const char *path, int64_t *size, struct err *e);

/* A backup of the whole home before something is changed, of kind `kind`, into
 * backups/: its path, or NULL. */
const char *ops_backup(struct cli *cli, const char *kind, struct err *e);

/* Words of --agents "a,b c" as an array in the arena; *n of them. */
const char *const *ops_names(struct cli *cli, const char *option, int *n,
			     struct err *e);

#endif
