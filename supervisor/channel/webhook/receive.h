#ifndef SUPERVISOR_CHANNEL_WEBHOOK_RECEIVE_H
#define SUPERVISOR_CHANNEL_WEBHOOK_RECEIVE_H

#include "supervisor/channel/channel.h"
#include "supervisor/channel/secret_file.h"
#include "supervisor/channel/webhook/signature.h"

/* Keys of webhook channels, and authentication of inbound messages. */

/* The path of the secret; the keys in it. */
const char *webhook_secret(const struct supervisor *s, const char *name,
			   const struct channel_config *config,
			   struct arena *a);
int webhook_keys_read(struct secret_file *f, struct webhook_keys **out,
		      struct err *e);

/* webhook.c: keys of an open channel, valid until control returns to the
 * loop. */
struct webhook_keys *webhook_keys_of(struct channel *c);

/* Authenticates a message. ERR_UNAUTHORIZED, with the same text whether or not
 * the channel exists; ERR_BUSY for an authenticated message to a closed
 * channel. */
int webhook_admit(struct supervisor *s, const char *name,
		  struct webhook_claim *claim, struct err *e);

#endif
