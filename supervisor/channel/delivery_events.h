#ifndef SUPERVISOR_CHANNEL_DELIVERY_EVENTS_H
#define SUPERVISOR_CHANNEL_DELIVERY_EVENTS_H

#include "supervisor/channel/delivery.h"

/* Host events of a delivery before its first outcome; delivery_record
 * (schema/control/channel/delivery.h) adds those of the outcomes. Call them in
 * the transaction. */
int delivery_event_new(struct supervisor *s, const struct delivery_new *d,
		       const char *id, int64_t now, struct err *e);
/* One event for all claims of a commit, since there may be thousands a
 * second. */
int delivery_event_claimed(struct channel *c,
			   const struct claimed_delivery *rows, int n,
			   int64_t now, struct err *e);

#endif
