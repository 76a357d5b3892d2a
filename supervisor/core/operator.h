#ifndef SUPERVISOR_CORE_OPERATOR_H
#define SUPERVISOR_CORE_OPERATOR_H

#include "supervisor/core/commands.h"

/*
 * Changes that maintenance commands request from a running skepd, which alone
 * writes the control plane: the row of a backup, an audit row, a batch of a
 * prune or vacuum, and the replacement of an agent's database by a restored
 * file (the agent must have no active run).
 */
int supervisor_backup_note(struct supervisor *s,
			   const struct backup_run_row *row, const char *by,
			   struct completion done, struct err *e);
int supervisor_audit(struct supervisor *s, const char *act, const char *subject,
		     const char *detail, const char *by, struct completion done,
		     struct err *e);
/* Record an import, one of its items, and that a source was removed. */
int supervisor_import_run(struct supervisor *s,
			  const struct import_run_row *row, const char *by,
			  struct completion done, struct err *e);
int supervisor_import_item(struct supervisor *s,
			   const struct import_item_row *row, const char *by,
			   struct completion done, struct err *e);
int supervisor_import_removed(struct supervisor *s,
			      const struct import_item_removed_in *in,
			      const char *by, struct completion done,
			      struct err *e);
/* Deletes at most req->count old runs; the note is their number. */
int supervisor_prune(struct supervisor *s, const struct run_prune *req,
		     const char *by, struct completion done, struct err *e);
/* Returns at most `pages` free pages of the control plane to the file system;
 * the note is their number. */
int supervisor_vacuum(struct supervisor *s, int64_t pages, const char *by,
		      struct completion done, struct err *e);
int supervisor_agent_restore(struct supervisor *s, const char *name,
			     const char *path, const char *by,
			     struct completion done, struct err *e);

/* agent_import.c: makes the directory `path` in backups/ the agent `name`
 * (schema/control/agent_bundle.h). */
int supervisor_agent_import(struct supervisor *s, const char *name,
			    const char *path, const char *by,
			    struct completion done, struct err *e);

#endif
