#ifndef OPS_MIGRATE_IMPORT_LEDGER_H
#define OPS_MIGRATE_IMPORT_LEDGER_H

#include "ops/migrate/importer.h"

/* Shared by all kinds of pieces: the record of imports, and the agent's
 * file. */

struct migrate_item migrate_item_of(struct migrate *m, const char *importer,
				    const char *part, const char *target);

/* Returns 1 if it is recorded with its current content: it is then reported as
 * done, with its earlier warning. 0; -1. p->records is the earlier number, else
 * 0. */
int migrate_was_done(struct migrate *m, struct migrate_item *p, struct err *e);

/* Records the piece, unless this is a plan, and reports it. `why` NULL: it was
 * imported; p->warning may still say that some of it could not be read. */
int migrate_record(struct migrate *m, struct migrate_item *p, const char *why,
		   struct err *e);

/* The agent's file; creates the agent and the file if necessary. */
int migrate_open_agent(struct migrate *m, const char *name,
		       struct agent_file *f, struct err *e);

#endif
