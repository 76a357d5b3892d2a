#ifndef SUPERVISOR_CORE_OPERATOR_H
#define SUPERVISOR_CORE_OPERATOR_H

#include "supervisor/core/commands.h"

/*
 * What operators' commands have skepd write for them while it runs, since it
 * alone writes the control plane: a backup's row; an audit row; a slice of a prune or a vacuum; a restored file,
 * beside the agent's own, that takes its place (its runs must be over).
 */
int sup_backup_note(struct sup *s, const struct backup_run_row *row,
		    const char *by, struct sup_done done, struct err *e);
int sup_audit(struct sup *s, const char *act, const char *subject,
	      const char *detail, const char *by, struct sup_done done,
	      struct err *e);
/* Rows of a migration: of itself, of a piece, and that sources are gone. */
int sup_migration_run(struct sup *s, const struct migration_run_row *row,
		      const char *by, struct sup_done done, struct err *e);
int sup_migration_source(struct sup *s, const struct migration_source_row *row,
			 const char *by, struct sup_done done, struct err *e);
int sup_migration_removed(struct sup *s,
			  const struct migration_source_removed_in *in,
			  const char *by, struct sup_done done, struct err *e);
/* Removes at most ask->count old runs; how many is the note. */
int sup_prune(struct sup *s, const struct prune_runs_in *ask, const char *by,
	      struct sup_done done, struct err *e);
/* Gives at most so many free pages of the control plane back; likewise. */
int sup_vacuum(struct sup *s, int64_t pages, const char *by,
	       struct sup_done done, struct err *e);
int sup_agent_restore(struct sup *s, const char *name, const char *path,
		      const char *by, struct sup_done done, struct err *e);

#endif
