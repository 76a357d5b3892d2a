#include "ipc/client_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_MAX 32

static int add_request(struct ipc_client *c, struct open_request *r,
		       struct err *e)
{
	struct open_request **at = &c->open;
	int n = 0;

	for (; *at; at = &(*at)->next)
		n++;
	if (n >= OPEN_MAX)
		return err_set(e, ERR_BUSY,
			       "%d requests are waiting for the supervisor",
			       OPEN_MAX);
	*at = r;
	return 0;
}

int ipc_client_request(struct ipc_client *c, const struct msg *m, struct err *e)
{
	struct buf b = BUF_MAX(MSG_MAX_BYTES);
	struct open_request *r;
	struct msg full = *m;
	int rc;

	assert(msg_kind(m->type) == MSG_IS_REQUEST && c->config.calls.result);
	full.u.who = (struct msg_who){c->config.hello.run,
				      c->config.hello.attempt,
				      c->config.hello.token};
	if (msg_encode(&full, &b, e)) {
		buf_fini(&b);
		return -1;
	}
	r = malloc(sizeof *r + b.n);
	if (!r)
		abort();
	*r = (struct open_request){.n = b.n};
	memcpy(r->json, b.p, b.n);
	buf_fini(&b);
	pthread_mutex_lock(&c->lock);
	rc = add_request(c, r, e);
	pthread_mutex_unlock(&c->lock);
	if (rc)
		free(r);
	else
		client_wake(c);
	return rc;
}

void open_requests_send(struct ipc_client *c)
{
	pthread_mutex_lock(&c->lock);
	for (struct open_request *r = c->open; r && c->greeted; r = r->next)
		if (r->number == 0)
			r->number = ipc_link_send(c, r->json, r->n);
	pthread_mutex_unlock(&c->lock);
}

static struct open_request **find_request(struct ipc_client *c, uint32_t number)
{
	struct open_request **at = &c->open;

	while (*at && (*at)->number != number)
		at = &(*at)->next;
	return at;
}

bool open_request_is(struct ipc_client *c, uint32_t number)
{
	bool found;

	if (number == 0)
		return false;
	pthread_mutex_lock(&c->lock);
	found = *find_request(c, number) != NULL;
	pthread_mutex_unlock(&c->lock);
	return found;
}

void open_request_end(struct ipc_client *c, uint32_t number)
{
	struct open_request **at, *done;

	pthread_mutex_lock(&c->lock);
	at = find_request(c, number);
	done = *at;
	assert(done);
	*at = done->next;
	pthread_mutex_unlock(&c->lock);
	free(done);
}

void open_requests_reset(struct ipc_client *c)
{
	for (struct open_request *r = c->open; r; r = r->next)
		r->number = 0;
}

void open_requests_drop(struct ipc_client *c)
{
	while (c->open) {
		struct open_request *next = c->open->next;

		free(c->open);
		c->open = next;
	}
}
