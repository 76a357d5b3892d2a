#ifndef SUPERVISOR_CHANNEL_RETENTION_H
#define SUPERVISOR_CHANNEL_RETENTION_H

#include "schema/control/channel/retention.h"
#include "supervisor/core/commands.h"

/*
 * Old messages leave by themselves (channel.keep and its like): every few
 * minutes skepd walks from the oldest row to the first that stays, in slices of
 * a few milliseconds with pauses between them, so that nobody waits. What a walk
 * has removed is told in the audit log.
 */
int retention_open(struct supervisor *s, struct err *e);
void retention_close(struct supervisor *s);

/* A slice of a walk that a command asks for, again with the same `ask` until it
 * is over. The note has how many rows were looked at (0: it is over), and how
 * many deliveries, inbound messages and attachments are gone so far. */
int supervisor_prune_messages(struct supervisor *s,
			      const struct retention_options *req,
			      const char *by, struct completion done,
			      struct err *e);

#endif
