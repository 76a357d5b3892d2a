#ifndef SUPERVISOR_CHANNEL_DELIVERY_EVENTS_H
#define SUPERVISOR_CHANNEL_DELIVERY_EVENTS_H

#include "supervisor/channel/delivery.h"

/* What followers of /v1/events hear of a delivery before its first outcome; the
 * outcomes themselves are told where the row moves
 * (schema/control/channel/delivery.h). Called in the transaction. */
int delivery_event_new(struct supervisor *s, const struct delivery_new *d,
		       const char *id, int64_t now, struct err *e);
/* One event for all claims of a commit: there may be thousands a second. */
int delivery_event_claimed(struct channel *c, const struct delivery_taken *rows,
			   int n, int64_t now, struct err *e);

#endif
