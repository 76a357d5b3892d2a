#ifndef SUPERVISOR_CHANNEL_LOOKUP_H
#define SUPERVISOR_CHANNEL_LOOKUP_H

#include "supervisor/channel/channel.h"

/*
 * Channels as their rows say, also one that is not open just now: it may leave
 * to be opened anew, be switched off, or have failed. Called on the loop; gives
 * what others own.
 */

/* One that takes messages: it is open, or leaves to be opened anew. Or NULL. */
struct channel *channel_accepting(struct supervisor *s, const char *name);

/* Why there is none that takes messages: -1. ERR_NOTFOUND; ERR_BUSY if that is
 * soon over; ERR_CONFLICT if a person has to do something. */
int channel_closed(struct supervisor *s, const char *name, struct err *e);

/* Its settings: 1; 0: there are none that can be read; -1. Texts live in the
 * arena, or as long as the channel is open. */
int channel_settings(struct supervisor *s, const char *name,
		     struct channel_config *out, struct arena *a,
		     struct err *e);

/* Line and age of a delivery that is to be, as its channel's settings say:
 * `order` is what goes out one after the other, and `age` how long it may. */
int channel_fill(struct supervisor *s, struct delivery_new *d, struct arena *a,
		 struct err *e);

#endif
