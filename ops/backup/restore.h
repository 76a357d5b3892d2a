#ifndef OPS_BACKUP_RESTORE_H
#define OPS_BACKUP_RESTORE_H

#include "ops/backup/backup.h"
#include "schema/control_queries.h"

/*
 * A backup becomes a home again. Everything is unpacked beside the target,
 * checked (ops/backup/extract.h), brought forward to the schema of this program
 * and made fit to live (ops/backup/restore_fixup.h); only then does it take the
 * target's place, by one rename. A home that was there before stays beside it,
 * whole: the way back. Its credentials, backups and logs move along into the
 * new one.
 */
struct restore_options {
	int fd;
	const char *name;
	int64_t size; /* of the archive; 0: unknown */
	const struct home *home;
	const char *id;
	const char *const *agents; /* only these; NULL: all */
	int nagents;
	struct ops_tell tell;
};

#define RESTORE_SUM(F, S)                                                  \
	F(S, text, backup) /* its id */                                    \
	F(S, text, home)                                                   \
	F(S, text, before)   /* where the old home is, or NULL */          \
	F(S, time, taken_at) /* the moment that came back */               \
	F(S, i64, agents)                                                  \
	F(S, i64, files)                                                   \
	F(S, i64, runs_queued)   /* wait as they did */                    \
	F(S, i64, runs_settled)  /* the agent's file knew their end */     \
	F(S, i64, runs_failed)   /* were in the middle: may be retried */  \
	F(S, i64, messages_held) /* nobody knows whether they were sent */ \
	F(S, json, held)         /* their keys, of one agent alone */      \
	F(S, i64, problems)
SHAPE_DECLARE(restore_sum, RESTORE_SUM);

/* ERR_BUSY while a supervisor or a worker of the target lives. Texts of *out
 * are in the arena. */
int restore_home(const struct restore_options *ask, struct restore_sum *out,
		 struct arena *a, struct err *e);

/*
 * One agent's file, out of the archive and ready to be put in place of the
 * present one (registry_swap): at `to`, a new file. Only ask->agents[0]. With
 * `definition` (NULL: not wanted) also how the backup defines the agent, and what
 * of that lies in files comes to the directory of `to`, where there is none yet.
 */
int restore_agent(const struct restore_options *ask, const char *to,
		  struct agent_row *definition, struct restore_sum *out,
		  struct arena *a, struct err *e);

/* ERR_BUSY, saying who, if anybody works in the home. */
int restore_refuse_live(const struct home *home, struct err *e);

#endif
