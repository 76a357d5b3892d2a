#ifndef SUPERVISOR_WEB_EDIT_H
#define SUPERVISOR_WEB_EDIT_H

#include "schema/near.h"
#include "supervisor/web_ask.h"
#include "supervisor/web_routes.h"

/*
 * A request that works on an agent's file and may take its time: a run may hold
 * the write lock, and a search reads much. So a thread does it, with a
 * connection of its own, and the loop goes on. Private to web_*.c.
 */
struct edit;

/* Fills ed->out with the answer, in the thread. */
typedef int edit_fn(struct edit *ed, struct agent_file *f, struct err *e);

struct edit {
	uv_work_t work;
	struct ask *q;    /* .filter[0] agent, .key session, or NULL */
	const char *path; /* of the file */
	const char *body; /* of the request */
	int64_t rev;      /* If-Match; 0: any */
	struct web_fork fork;
	struct web_seq to;
	struct web_vector vector;
	struct web_near near;
	edit_fn *change;
	struct buf out;
	struct err err;
	int rc;
};

struct edit *edit_session(void *app, const struct http_request *r,
			  struct http_reply *reply);

/* Of an agent; of no session. */
struct edit *edit_new(void *app, const struct http_request *r,
		      struct http_reply *reply);

/* Goes on with `change`, or answers with *e if rc is not 0. */
void edit_go(struct edit *ed, int rc, const struct err *e, edit_fn *change);

#endif
