#ifndef WORKER_RUN_REPLY_H
#define WORKER_RUN_REPLY_H

#include "lib/base/err.h"
#include "worker/driver/driver.h"

/*
 * The answer of a run that a peer waits for on a channel (start's `reply`;
 * schema/agent/transcript/answer.h). It becomes the
 * outbox row of the run's last event, so both are committed or neither is.
 */
#define REPLY_MAX (256u << 10) /* bytes; what is longer is cut */

/* Fills ev->outbox, from the run's arena, if there is something to say. */
int reply_make(struct run *r, const struct run_end *end, struct event_new *ev,
	       struct err *e);

#endif
