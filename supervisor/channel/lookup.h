#ifndef SUPERVISOR_CHANNEL_LOOKUP_H
#define SUPERVISOR_CHANNEL_LOOKUP_H

#include "supervisor/channel/channel.h"

/*
 * Looks channels up by their rows, including channels that are not open: a
 * channel may be draining before it is reopened, disabled, or failed. Call
 * these on the loop. Results are borrowed.
 */

/* The channel if it accepts messages: it is open, or drains to be reopened. Or
 * NULL. */
struct channel *channel_accepting(struct supervisor *s, const char *name);

/* Sets the error for a channel that does not accept messages, and returns -1:
 * ERR_NOTFOUND, ERR_BUSY if it will soon, ERR_CONFLICT if a user has to act. */
int channel_closed(struct supervisor *s, const char *name, struct err *e);

/* Reads the settings: 1, 0 if there are no valid ones, or -1. Texts are valid
 * as long as the arena and the channel. */
int channel_settings(struct supervisor *s, const char *name,
		     struct channel_config *out, struct arena *a,
		     struct err *e);

/* Sets ordering_key and max_age_ms of a new delivery from the settings `order`
 * and `age` of its channel. */
int channel_fill(struct supervisor *s, struct delivery_new *d, struct arena *a,
		 struct err *e);

#endif
