#ifndef WORKER_RUN_REPLY_H
#define WORKER_RUN_REPLY_H

#include "lib/base/err.h"
#include "worker/driver/driver.h"

/*
 * The reply of a run that a peer on a channel waits for (`reply` of the start
 * message; schema/agent/transcript/answer.h). It becomes the outbox row of the
 * run's last event, so both are committed or neither is.
 */
#define REPLY_MAX (256u << 10) /* bytes; a longer reply is cut */

/* Sets ev->outbox, in the run's arena, if there is a reply. */
int reply_make(struct run *r, const struct run_end *end, struct event_new *ev,
	       struct err *e);

#endif
