#ifndef SUPERVISOR_CHANNEL_COMMANDS_H
#define SUPERVISOR_CHANNEL_COMMANDS_H

#include "supervisor/core/commands.h"

/*
 * The commands on channels, bindings and deliveries. The rules of
 * supervisor/core/commands.h apply.
 */

/* definition: {"kind", "enabled", "command", "config"} */
int supervisor_channel_put(struct supervisor *s, const char *name,
			   const char *definition, const char *by,
			   struct completion done, struct err *e);
int supervisor_channel_delete(struct supervisor *s, const char *name,
			      const char *by, struct completion done,
			      struct err *e);
/* verb: enable, disable, pause, resume or default. */
int supervisor_channel_switch(struct supervisor *s, const char *name,
			      const char *verb, const char *by,
			      struct completion done, struct err *e);
int supervisor_binding_put(struct supervisor *s, const struct binding_row *b,
			   const char *by, struct completion done,
			   struct err *e);
int supervisor_binding_delete(struct supervisor *s, const struct binding_row *b,
			      const char *by, struct completion done,
			      struct err *e);

/* held.c: puts what came with an imported agent into effect. */
struct held_choice {
	const char *agent;
	int64_t number; /* 0: all of the agent */
	bool discard;   /* delete it instead */
	const char *by;
};
int supervisor_held_confirm(struct supervisor *s,
			    const struct held_choice *choice,
			    struct completion done, struct err *e);

/* Queues a message; creates the conversation if necessary. With a key, the same
 * message is accepted only once. */
struct post_request {
	const char *channel, *peer, *body, *key; /* peer, key: NULL for none */
};
int supervisor_post_message(struct supervisor *s, const struct post_request *l,
			    struct completion done, struct err *e);

/* verb: retry, discard or resend. */
int supervisor_delivery_verb(struct supervisor *s, const char *id,
			     const char *verb, const char *by,
			     struct completion done, struct err *e);

#endif
