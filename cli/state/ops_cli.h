#ifndef CLI_STATE_OPS_CLI_H
#define CLI_STATE_OPS_CLI_H

#include "cli/cli.h"
#include "ops/progress.h"

/* Shared by the maintenance commands. */

/* A progress bar for functions of ops/; it starts with the first call. */
struct ops_bar {
	const struct output *out;
	const char *what;
	struct progress p;
	bool begun;
};

struct ops_progress ops_bar(struct ops_bar *b, const struct cli *cli,
			    const char *what);
void ops_bar_end(struct ops_bar *b);

/* Lowers CPU and I/O priority. Not for processes that hold write locks, since
 * others would wait for them. */
void ops_lower_priority(void);

/* Records the row of a backup, through the supervisor if one runs. */
int ops_backup_note(struct cli *cli, struct backup_run_row *row, struct err *e);

/* An audit row, likewise. */
int ops_audit(struct cli *cli, const char *act, const char *subject,
	      const char *detail, struct err *e);

/* Lets the supervisor run batches until nothing is left; returns the number of
 * rows, or -1. */
int64_t ops_ask_batches(struct cli *cli, const char *path, const char *body,
			struct err *e);

/* Opens an archive for reading ("-" is stdin) and sets its size, or 0. Returns
 * the descriptor, or -1. */
int ops_open_archive(const char *path, int64_t *size, struct err *e);

/* Creates a backup of the whole home before a change, of kind `kind`, in
 * backups/: returns its path, or NULL. */
const char *ops_backup(struct cli *cli, const char *kind, struct err *e);

/* Calls fn for every agent file in the registry (--only NAME: for that one),
 * with a progress bar. A failure of fn is reported on stderr and does not end
 * the walk; the result is then -1, with the first reason. */
typedef int ops_file(struct cli *cli, const struct agent_database_row *row,
		     void *arg, struct err *e);
int ops_each_file(struct cli *cli, const char *what, ops_file *fn, void *arg,
		  struct err *e);

/* Splits the words of --agents "a,b c" into an array in the arena; *n of
 * them. */
const char *const *ops_names(struct cli *cli, const char *option, int *n,
			     struct err *e);

#endif
