#ifndef SUPERVISOR_API_LIST_H
#define SUPERVISOR_API_LIST_H

#include "schema/control/lists.h"
#include "supervisor/api/request.h"

/* Lists of rows; the shape of the query defines the members. */

/* Adds all rows of a query of the control plane. */
int api_list(struct api_request *q, unsigned query, const void *in,
	     struct buf *out, struct err *e);

/* The same for a page of q->limit rows. If it is full, `next` is the field
 * `cursor` of its last row; several fields are joined by dots. */
int api_page(struct api_request *q, unsigned query, const void *in,
	     const char *cursor, struct buf *out, struct err *e);

/* The same for a list of schema/control/lists.h; `each` may change a row (or is
 * NULL). */
struct api_lists {
	enum lists_kind kind;
	const struct shape *shape; /* of its rows */
	const char *cursor;
	void (*each)(struct api_request *q, void *row);
};

int api_lists(struct api_request *q, const struct api_lists *l,
	      const void *filter, struct buf *out, struct err *e);

#endif
