#ifndef SUPERVISOR_CORE_OPERATOR_H
#define SUPERVISOR_CORE_OPERATOR_H

#include "supervisor/core/commands.h"

/*
 * What operators' commands have skepd write for them while it runs, since it
 * alone writes the control plane: a backup's row; an audit row; a slice of a
 * prune or a vacuum; a restored file, beside the agent's own, that takes its
 * place (its runs must be over).
 */
int supervisor_backup_note(struct supervisor *s,
			   const struct backup_run_row *row, const char *by,
			   struct completion done, struct err *e);
int supervisor_audit(struct supervisor *s, const char *act, const char *subject,
		     const char *detail, const char *by, struct completion done,
		     struct err *e);
/* Rows of a migration: of itself, of a piece, and that sources are gone. */
int supervisor_migration_run(struct supervisor *s,
			     const struct migration_run_row *row,
			     const char *by, struct completion done,
			     struct err *e);
int supervisor_migration_source(struct supervisor *s,
				const struct migration_source_row *row,
				const char *by, struct completion done,
				struct err *e);
int supervisor_migration_removed(struct supervisor *s,
				 const struct migration_source_removed_in *in,
				 const char *by, struct completion done,
				 struct err *e);
/* Removes at most ask->count old runs; how many is the note. */
int supervisor_prune(struct supervisor *s, const struct prune_runs_in *req,
		     const char *by, struct completion done, struct err *e);
/* Gives at most so many free pages of the control plane back; likewise. */
int supervisor_vacuum(struct supervisor *s, int64_t pages, const char *by,
		      struct completion done, struct err *e);
int supervisor_agent_restore(struct supervisor *s, const char *name,
			     const char *path, const char *by,
			     struct completion done, struct err *e);

#endif
