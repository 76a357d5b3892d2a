#ifndef OPS_BACKUP_RESTORE_H
#define OPS_BACKUP_RESTORE_H

#include "ops/backup/backup.h"
#include "schema/control_queries.h"

/*
 * Restores a home from a backup. Everything is extracted beside the target,
 * checked (ops/backup/extract.h), migrated to the schema of this program and
 * prepared for a start (ops/backup/restore_fixup.h); only then does one rename
 * put it in place. An existing home is kept beside it, so that the restore can
 * be undone. Its credentials, backups and logs move to the new home.
 */
struct restore_options {
	int fd;
	const char *name;
	int64_t size; /* of the archive; 0: unknown */
	const struct home *home;
	const char *id;
	const char *const *agents; /* only these; NULL: all */
	int nagents;
	struct ops_progress progress;
};

#define RESTORE_SUM(F, S)                                                \
	F(S, text, backup) /* its id */                                  \
	F(S, text, home)                                                 \
	F(S, text, before)   /* path of the old home, or NULL */         \
	F(S, time, taken_at) /* time of the backup */                    \
	F(S, i64, agents)                                                \
	F(S, i64, files)                                                 \
	F(S, i64, runs_queued)   /* queued again */                      \
	F(S, i64, runs_ended)    /* their end was in the agent's file */ \
	F(S, i64, runs_failed)   /* had started: may be retried */       \
	F(S, i64, messages_held) /* may or may not have been sent */     \
	F(S, json, held)         /* their keys, for a single agent */    \
	F(S, i64, problems)
SHAPE_DECLARE(restore_sum, RESTORE_SUM);

/* ERR_BUSY while a supervisor or a worker of the target lives. Texts of *out
 * are in the arena. */
int restore_home(const struct restore_options *options, struct restore_sum *out,
		 struct arena *a, struct err *e);

/*
 * Extracts one agent's file and prepares it to replace the current one
 * (registry_swap): at `to`, a new file. Only ask->agents[0]. With `definition`
 * (may be NULL) also the agent's definition in the backup; its files are put
 * into the directory of `to` unless they exist there.
 */
int restore_agent(const struct restore_options *options, const char *to,
		  struct agent_row *definition, struct restore_sum *out,
		  struct arena *a, struct err *e);

/* ERR_BUSY, naming the process, if the home is in use. */
int restore_refuse_live(const struct home *home, struct err *e);

#endif
