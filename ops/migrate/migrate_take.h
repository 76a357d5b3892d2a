#ifndef OPS_MIGRATE_MIGRATE_TAKE_H
#define OPS_MIGRATE_MIGRATE_TAKE_H

#include "ops/migrate/importer.h"

/* What the kinds of pieces share: the ledger, and the agent's file. */

struct migrate_piece migrate_piece_of(struct migrate *m, const char *importer,
				      const char *part, const char *target);

/* 1 if the ledger has it as it is now: then it is told as done, with the warning
 * that it had. 0; -1. p->records is what there was before, else 0. */
int migrate_was_done(struct migrate *m, struct migrate_piece *p, struct err *e);

/* Notes the piece, unless it is only planned, and tells of it. `why` NULL: it
 * was taken; p->warning may still say that not all of it could be read. */
int migrate_settle(struct migrate *m, struct migrate_piece *p, const char *why,
		   struct err *e);

/* The agent's file, the agent and the file made if need be. */
int migrate_open_agent(struct migrate *m, const char *name,
		       struct agent_file *f, struct err *e);

#endif
