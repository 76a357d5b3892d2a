#ifndef SUPERVISOR_API_WRITE_ASYNC_H
#define SUPERVISOR_API_WRITE_ASYNC_H

#include "schema/agent/search/vector_search.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"

/*
 * A request on an agent file that may take long: a run may hold the write lock,
 * and a search reads many rows. A thread handles it with its own connection.
 *
 * Changes of one file that arrive while a thread works on it are queued, and
 * then executed together: each in its own transaction, with one sync before the
 * first is answered (write_batch.c).
 */
struct edit;
struct vfs;

/* Fills ed->out with the answer, in the thread. */
typedef int edit_fn(struct edit *ed, struct agent_file *f, struct err *e);

struct edit {
	struct edit *next;     /* of the same batch */
	bool reads_only;       /* a read: not in a batch */
	struct api_request *q; /* .filter[0] agent, .key session, or NULL */
	const char *path;      /* of the file */
	const void *body;      /* of the request, as its route takes it */
	int64_t rev;           /* If-Match; 0: any */
	edit_fn *change;
	/* of an answer that is not JSON; it is never shown as a page */
	const char *type;
	const char *cursor; /* in the header Skep-Next, or NULL */
	/* of a request on a namespace: workspace.h */
	int (*in_namespace)(struct edit *ed, struct agent_file *f,
			    struct vfs *v, struct err *e);
	struct buf out;
	struct err err;
	int rc;
};

struct edit *edit_session(struct api_request *q);

/* Of an agent; of no session. The second one names the agent, which lives as long
 * as the request. */
struct edit *edit_new(struct api_request *q);
struct edit *edit_of(struct api_request *q, const char *agent);

/* Of the agent of run {id}, which is q->id; q->key is its session. NULL: has been
 * answered. */
struct edit *edit_run(struct api_request *q);

/* Makes the change in a thread, and answers. */
void edit_start(struct edit *ed, edit_fn *change);

/* Runs ed->change in a thread, then edit_answer on the loop. */
void edit_queue(struct edit *ed);
void edit_answer(struct edit *ed); /* with ed->rc; frees it */

#endif
