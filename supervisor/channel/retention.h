#ifndef SUPERVISOR_CHANNEL_RETENTION_H
#define SUPERVISOR_CHANNEL_RETENTION_H

#include "schema/control/channel/retention.h"
#include "supervisor/core/commands.h"

/*
 * Prunes old messages (settings channel.keep and similar). Every few minutes
 * skepd walks from the oldest row to the first one to keep, in batches of a few
 * milliseconds with pauses between them. The audit log records what a walk
 * deleted.
 */
int retention_open(struct supervisor *s, struct err *e);
void retention_close(struct supervisor *s);

/* Runs one batch for a command, which repeats the call with the same options
 * until it is over. The note has the number of examined rows (0: it is over)
 * and the numbers of deliveries, inbound messages, messages and attachments
 * deleted so far. */
int supervisor_prune_messages(struct supervisor *s,
			      const struct retention_options *req,
			      const char *by, struct completion done,
			      struct err *e);

#endif
