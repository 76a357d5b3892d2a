#ifndef SUPERVISOR_CHANNEL_COMMANDS_H
#define SUPERVISOR_CHANNEL_COMMANDS_H

#include "supervisor/core/commands.h"

/*
 * What skepd can be asked to do with channels, bindings and deliveries. The rules
 * are those of supervisor/core/commands.h.
 */

/* definition: {"kind", "enabled", "command", "config"} */
int supervisor_channel_put(struct supervisor *s, const char *name,
			   const char *definition, const char *by,
			   struct completion done, struct err *e);
int supervisor_channel_delete(struct supervisor *s, const char *name,
			      const char *by, struct completion done,
			      struct err *e);
/* enable, disable, pause, resume, default */
int supervisor_channel_switch(struct supervisor *s, const char *name,
			      const char *verb, const char *by,
			      struct completion done, struct err *e);
int supervisor_binding_put(struct supervisor *s, const struct binding_row *b,
			   const char *by, struct completion done,
			   struct err *e);
int supervisor_binding_delete(struct supervisor *s, const struct binding_row *b,
			      const char *by, struct completion done,
			      struct err *e);

/* Queues a message of our own; creates the conversation if there is none. With a
 * key it is accepted once, however often it is posted. */
struct post_request {
	const char *channel, *peer, *body, *key; /* peer, key: NULL for none */
};
int supervisor_post_message(struct supervisor *s, const struct post_request *l,
			    struct completion done, struct err *e);

/* retry, discard, resend */
int supervisor_delivery_verb(struct supervisor *s, const char *id,
			     const char *verb, const char *by,
			     struct completion done, struct err *e);

#endif
