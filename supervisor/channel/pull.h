#ifndef SUPERVISOR_CHANNEL_PULL_H
#define SUPERVISOR_CHANNEL_PULL_H

#include "supervisor/channel/channel.h"

/* Pull channels: clients poll for messages through the HTTP route. */

/* json NULL: no message came in time, or the channel was closed. */
typedef void pull_answer(void *arg, const char *json);

/* Calls fn once: with the next message of the conversation, after its claim was
 * committed, or with NULL after ms. With ms 0, fn is called as soon as it is
 * known that there is none. */
void pull_wait(struct channel *c, const char *conversation, int64_t ms,
	       pull_answer *fn, void *arg);

/* Acknowledges a message; false if it is not waiting for that. */
bool pull_ack(struct channel *c, const char *delivery);

#endif
