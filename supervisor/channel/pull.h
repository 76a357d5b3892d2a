#ifndef SUPERVISOR_CHANNEL_PULL_H
#define SUPERVISOR_CHANNEL_PULL_H

#include "supervisor/channel/channel.h"

/* Receivers that come and ask: what the HTTP route of pull channels calls. */

/* json NULL: there was nothing in that time, or the channel is gone. */
typedef void pull_answer(void *arg, const char *json);

/* fn is called once: with the next message for the conversation, when it is
 * claimed and committed, or after ms with NULL; with 0 ms as soon as it is
 * known that there is none. */
void pull_wait(struct channel *c, const char *conversation, int64_t ms,
	       pull_answer *fn, void *arg);

/* It was shown; false if it does not wait to be shown. */
bool pull_ack(struct channel *c, const char *delivery);

#endif
