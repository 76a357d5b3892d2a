#ifndef SUPERVISOR_CHANNEL_OUTBOX_H
#define SUPERVISOR_CHANNEL_OUTBOX_H

#include "schema/agent_queries.h"
#include "supervisor/core/supervisor.h"

/* Retries files that could not be read. */
void outbox_tick(struct supervisor *s);
int outbox_open(struct supervisor *s, struct err *e);
void outbox_close(struct supervisor *s);

/* outbox_route.c: turns an outbox row into a delivery or a message to a
 * session, in the transaction. */
struct outbox_entry {
	const char *agent, *session;
	struct outbox_row entry;
};

int outbox_route(struct supervisor *s, const struct outbox_entry *r,
		 struct err *e);

#endif
