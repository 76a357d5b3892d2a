#ifndef SUPERVISOR_CHANNEL_WEBHOOK_RECEIVE_H
#define SUPERVISOR_CHANNEL_WEBHOOK_RECEIVE_H

#include "supervisor/channel/channel.h"
#include "supervisor/channel/secret_file.h"
#include "supervisor/channel/webhook/signature.h"

/* The keys of a webhook channel, and who has one. */

/* Where its secret is, and what is in it now. */
const char *webhook_secret(const struct supervisor *s, const char *name,
			   const struct channel_config *config,
			   struct arena *a);
int webhook_keys_read(struct secret_file *f, struct webhook_keys **out,
		      struct err *e);

/* webhook.c: of an open one; good until the loop is let go. */
struct webhook_keys *webhook_keys_of(struct channel *c);

/* Whether it is the message of a friend: ERR_UNAUTHORIZED, in the same words
 * whether or not there is such a channel; ERR_BUSY to a friend of one that is
 * closed. */
int webhook_admit(struct supervisor *s, const char *name,
		  struct webhook_claim *claim, struct err *e);

#endif
