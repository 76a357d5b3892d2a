#ifndef WORKER_DRIVER_CHAT_HTTP_H
#define WORKER_DRIVER_CHAT_HTTP_H

#include "worker/driver/chat/config.h"
#include "worker/driver/chat/turn.h"
#include "worker/run/run.h"

/*
 * One request to the server of the model, with its streamed answer. Waits in
 * run_poll, so commands are handled meanwhile; when the run is to end, the
 * transfer is aborted at once.
 */
enum chat_outcome {
	CHAT_ANSWERED,
	CHAT_RETRY,    /* a retry may succeed, after wait_ms if it is not 0 */
	CHAT_OVERFLOW, /* the conversation is too long for the model */
	CHAT_REFUSED,  /* the server rejects this permanently */
	CHAT_TOO_BIG,  /* the answer is over a limit, and would be again */
};

struct chat_result {
	enum chat_outcome outcome;
	int64_t wait_ms; /* requested by the server */
	long status;     /* of HTTP, 0: none came */
	bool hung;       /* no byte for longer than allowed */
	char why[400];   /* for users, without the key */
};

struct chat_http; /* keeps the connection for the next request; the caller frees
		   * it */

int chat_http_open(struct chat_http **out, const struct chat_config *c,
		   struct err *e);
void chat_http_close(struct chat_http *h); /* accepts NULL */

/* `flush`, if not NULL, is called while it waits and lowers *ms to the time of
 * its next call. -1: the run ends (ERR_CANCELED), or a local failure. */
struct chat_exchange {
	struct run *run;
	const struct buf *body;
	struct chat_turn *turn;
	int (*flush)(void *arg, int64_t *ms, struct err *e);
	void *arg;
};

int chat_http_exchange(struct chat_http *h,
		       const struct chat_exchange *exchange,
		       struct chat_result *out, struct err *e);

#endif
