/* Reads of very many rows, in a thread, so that they do not block the loop. */
#include <stdlib.h>

#include "schema/control/control.h"
#include "supervisor/api/request.h"

struct async_read {
	uv_work_t work;
	struct api_request *q;
	struct buf out;
	struct err err;
	int rc;
};

static void read_in_thread(uv_work_t *w)
{
	struct async_read *a = w->data;
	struct api_request *q = a->q;

	a->rc = control_open(&q->db, supervisor_home(q->api->sup), SQL_READONLY,
			     &a->err);
	if (a->rc)
		return;
	a->rc = q->read(q, &a->out, &a->err);
	sql_close(q->db);
}

static void read_done(uv_work_t *w, int status)
{
	struct async_read *a = w->data;

	if (status)
		a->rc = err_set(&a->err, ERR_CANCELED,
				"the request was cancelled");
	request_answer(a->q, a->rc, &a->out, &a->err);
	buf_fini(&a->out);
	free(a);
}

/* Starts after the commit, so that a client sees its own changes. */
static void queue_read(void *arg, const struct err *failed)
{
	struct api_request *q = arg;
	struct async_read *a;

	if (failed) {
		request_fail(q, failed);
		return;
	}
	a = calloc(1, sizeof *a);
	if (!a)
		abort();
	a->q = q;
	a->work.data = a;
	buf_init(&a->out, REQUEST_ANSWER_MAX);
	uv_queue_work(q->api->loop, &a->work, read_in_thread, read_done);
}

void request_read_async(struct api_request *q,
			int (*read)(struct api_request *q, struct buf *out,
				    struct err *e))
{
	q->read = read;
	supervisor_after_commit(q->api->sup, queue_read, q);
}
