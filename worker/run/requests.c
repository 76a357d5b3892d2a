#include "worker/run/requests.h"

#include "lib/base/fault.h"
#include "worker/run/run.h"

#include <stdlib.h>

int request_begin(struct run *r, const struct run_socket_request *q,
		  request_done *fn, void *arg, struct err *e)
{
	struct msg m = {.type = MSG_TYPE_REQUEST};
	struct pending_request *p;

	m.u.request.id = r->requests.last + 1;
	m.u.request.verb = q->verb;
	m.u.request.key = q->key;
	m.u.request.args = q->args;
	if (ipc_client_request(r->link, &m, e)) {
		/* it is the request that is wrong, not the protocol */
		if (e->code == ERR_PROTOCOL)
			e->code = ERR_INVALID;
		return -1;
	}
	p = calloc(1, sizeof *p);
	if (!p)
		abort();
	*p = (struct pending_request){.next = r->requests.first,
				      .id = ++r->requests.last,
				      .fn = fn,
				      .arg = arg};
	r->requests.first = p;
	return fault_point(FAULT_child_asked, e);
}

void request_forget(struct run *r, const void *arg)
{
	for (struct pending_request *p = r->requests.first; p; p = p->next)
		if (p->arg == arg)
			p->fn = NULL;
}

void request_result(struct run *r, const struct msg_result *m)
{
	struct pending_request **at = &r->requests.first, *p;

	while (*at && (*at)->id != m->id)
		at = &(*at)->next;
	p = *at;
	if (!p)
		return;
	*at = p->next;
	if (p->fn)
		p->fn(r, p->arg, m);
	free(p);
}

void requests_drop(struct run *r)
{
	while (r->requests.first) {
		struct pending_request *next = r->requests.first->next;

		free(r->requests.first);
		r->requests.first = next;
	}
}

/* --- and wait --------------------------------------------------------- */

struct awaited {
	struct buf *out;
	struct err *e;
	bool done;
	int rc;
};

static void take_result(struct run *r, void *arg, const struct msg_result *m)
{
	struct awaited *w = arg;

	(void)r;
	w->done = true;
	if (m->error)
		w->rc = err_set(w->e, err_from_name(m->code ? m->code : ""),
				"%s", m->error);
	else
		w->rc = buf_adds(w->out, m->body ? m->body : "{}");
}

int request_wait(struct run *r, const struct run_socket_request *q,
		 struct buf *out, struct err *e)
{
	struct awaited w = {.out = out, .e = e};

	if (request_begin(r, q, take_result, &w, e))
		return -1;
	while (!w.done) {
		int rc = 0;

		if (run_ending(r))
			rc = err_set(e, ERR_CANCELED,
				     "the run was asked to stop");
		if (rc || run_poll(r, NULL, 0, 60000, e)) {
			request_forget(r, &w);
			return -1;
		}
	}
	return w.rc ? -1 : buf_ok(out, "the result", e);
}
