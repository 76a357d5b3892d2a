#ifndef SCHEMA_CONTROL_CURSOR_H
#define SCHEMA_CONTROL_CURSOR_H

#include "lib/base/id.h"
#include "schema/control_queries.h"

/*
 * The start of a page: `before` is the id of the last row of the previous page,
 * in commands and HTTP queries alike. NULL is the first page. An id of another
 * kind is ERR_USAGE.
 */

/* For lists that are ordered by id. *out is borrowed. */
int page_before(enum id_kind kind, const char *before, const char **out,
		struct err *e);

/* Deliveries are ordered by number: ERR_NOTFOUND if the row does not exist. */
int page_before_delivery(struct sql *db, const char *before, int64_t *seq,
			 struct err *e);

/* Conversations are ordered by their last message. The id of a conversation
 * means its current position; MILLISECONDS.ID, as in `next` of a page, means
 * its position at that time, since it may have received messages meanwhile. */
int page_before_conversation(struct sql *db, const char *before,
			     struct conversation_filter *in, struct arena *a,
			     struct err *e);

#endif
