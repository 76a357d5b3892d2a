#ifndef OPS_IMPORT_IMPORT_LEDGER_H
#define OPS_IMPORT_IMPORT_LEDGER_H

#include "ops/import/importer.h"

/* Shared by all kinds of items: the record of imports, and the agent's
 * file. */

struct import_item import_item_of(struct import_run *m, const char *importer,
				  const char *part, const char *target);

/* Returns 1 if it is recorded with its current content: it is then reported as
 * done, with its earlier warning. 0; -1. p->records is the earlier number, else
 * 0. */
int import_was_done(struct import_run *m, struct import_item *p, struct err *e);

/* Records the item, unless this is a plan, and reports it. `why` NULL: it was
 * imported; p->warning may still say that some of it could not be read. */
int import_record(struct import_run *m, struct import_item *p, const char *why,
		  struct err *e);

/* The agent's file; creates the agent and the file if necessary. */
int import_open_agent(struct import_run *m, const char *name,
		      struct agent_file *f, struct err *e);

#endif
