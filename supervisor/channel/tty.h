#ifndef SUPERVISOR_CHANNEL_TTY_H
#define SUPERVISOR_CHANNEL_TTY_H

#include "supervisor/channel/channel.h"

/* Receivers that come and ask: what the HTTP route of tty channels calls. */

/* json NULL: there was nothing in that time, or the channel is gone. */
typedef void tty_answer(void *arg, const char *json);

/* fn is called once: with the next message for the conversation, when it is
 * claimed and committed, or after ms with NULL; with 0 ms as soon as it is
 * known that there is none. */
void tty_wait(struct channel *c, const char *conversation, int64_t ms,
	      tty_answer *fn, void *arg);

/* It was shown; false if nobody waits for that. */
bool tty_ack(struct channel *c, const char *delivery);

#endif
