#ifndef SCHEMA_CONTROL_CURSOR_H
#define SCHEMA_CONTROL_CURSOR_H

#include "lib/base/id.h"
#include "schema/control_queries.h"

/*
 * Where a page of a list begins: `before` names the last row of the page before
 * by its id, in a command and in a query of HTTP alike. NULL is the first page.
 * What is no id of that kind is ERR_USAGE.
 */

/* For lists that go by their ids. *out is borrowed. */
int page_before(enum id_kind kind, const char *before, const char **out,
		struct err *e);

/* Deliveries go by their number: ERR_NOTFOUND if the row is not there. */
int page_before_delivery(struct sql *db, const char *before, int64_t *seq,
			 struct err *e);

/* Conversations go by their last message. A conversation's id stands for where
 * it is now; MILLISECONDS.ID, as a page's `next` has it, for where it was then,
 * and it may have become lively since. */
int page_before_conversation(struct sql *db, const char *before,
			     struct conversation_filter *in, struct arena *a,
			     struct err *e);

#endif
