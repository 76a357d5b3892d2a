#ifndef SCHEMA_CONTROL_LISTS_H
#define SCHEMA_CONTROL_LISTS_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/db/sql.h"

#include <stdbool.h>

/*
 * Lists of the control plane, newest first, for commands and routes alike. The
 * filter is the struct of the list's queries (run_filter, delivery_filter, …);
 * a member that is NULL does not filter. schema/control/lists.def lists the
 * sets of filters that can be combined: each of them has an index, any other is
 * ERR_USAGE.
 *
 *   struct lists it;
 *   if (lists_open(&it, db, LISTS_RUNS, &filter, e)) return -1;
 *   while (lists_next(&it, &row)) …
 *   return lists_close(&it, e);
 *
 * Texts of a row are valid until the next row.
 */
enum lists_kind {
	LISTS_RUNS,
	LISTS_APPROVALS,
	LISTS_DELIVERIES,
	LISTS_INBOUND,
	LISTS_CONVERSATIONS,
	LISTS_KINDS
};

struct lists {
	struct sql *db;
	enum lists_kind kind;
	struct sql_rows ids;
	struct arena arena;
	struct err err;
	bool failed;
};

int lists_open(struct lists *it, struct sql *db, enum lists_kind kind,
	       const void *filter, struct err *e);
bool lists_next(struct lists *it, void *row);
int lists_close(struct lists *it, struct err *e);

#endif
