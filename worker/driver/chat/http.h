#ifndef WORKER_DRIVER_CHAT_HTTP_H
#define WORKER_DRIVER_CHAT_HTTP_H

#include "worker/driver/chat/config.h"
#include "worker/driver/chat/turn.h"
#include "worker/run/run.h"

/*
 * One request to the model's server, and its answer as it streams. Waits in
 * run_poll, so commands are carried out meanwhile; when the run shall end, the
 * transfer is aborted at once.
 */
enum chat_outcome {
	CHAT_ANSWERED,
	CHAT_RETRY,    /* worth another try, after wait_ms if it is not 0 */
	CHAT_OVERFLOW, /* the conversation does not fit the model */
	CHAT_REFUSED,  /* the server does not want this, now or later */
};

struct chat_result {
	enum chat_outcome outcome;
	int64_t wait_ms; /* that the server asks for */
	long status;     /* of HTTP, 0: none came */
	char why[400];   /* for a person, without the key */
};

struct chat_http; /* gives one; keeps the connection for the next request */

int chat_http_open(struct chat_http **out, const struct chat_config *c,
		   struct err *e);
void chat_http_close(struct chat_http *h); /* NULL is fine */

/* `flush`, if not NULL, is called while it waits and lowers *ms to the time
 * until it wants to be called again. -1: the run ends (ERR_CANCELED), or it
 * failed here. */
struct chat_exchange {
	struct run *run;
	const struct buf *body;
	struct chat_turn *turn;
	int (*flush)(void *arg, int64_t *ms, struct err *e);
	void *arg;
};

int chat_http_exchange(struct chat_http *h, const struct chat_exchange *ask,
		       struct chat_result *out, struct err *e);

#endif
