#ifndef SCHEMA_CONTROL_ID_FIND_H
#define SCHEMA_CONTROL_ID_FIND_H

#include "lib/base/err.h"
#include "lib/base/id.h"
#include "lib/db/sql.h"

/*
 * The id that a word of the user means, for runs, approvals, deliveries and
 * inbound messages. In this order:
 *
 *   run_01m7p98269w41a3xckfqacn3rc   an id; the row need not exist
 *   last, -1, -2, …                  the newest row, the one before it, …
 *   nightly                          runs: the newest run of that name
 *   coder                            runs: the newest run of that agent
 *   run_01m7p9, 01m7p9               the beginning of exactly one id
 *
 * Each of them is one look-up in an index. ERR_USAGE lists the candidates of an
 * ambiguous word; ERR_NOTFOUND if nothing matches.
 */
int id_find(struct sql *db, enum id_kind kind, const char *word, struct id *out,
	    struct err *e);

#endif
