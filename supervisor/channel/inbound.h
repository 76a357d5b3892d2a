#ifndef SUPERVISOR_CHANNEL_INBOUND_H
#define SUPERVISOR_CHANNEL_INBOUND_H

#include "supervisor/channel/envelope.h"
#include "supervisor/core/commands.h"

/*
 * The way in. One step writes the message, its conversation and the run that it
 * becomes; `done` is called after the commit, and only then may the platform be
 * told. A message whose id is known adds nothing and is told the same. One that
 * nobody can answer is kept as dead, with the reason, and told as taken: to send
 * it again would not help.
 *
 * done's result: id of the inbound row, changed false if it was known, and the
 * row's state as the note.
 */
int inbound_accept(struct supervisor *s, const char *channel,
		   const struct inbound_message *m, struct completion done,
		   struct err *e);

/* A dead one again: it becomes a run, or is dead once more. */
int inbound_retry(struct supervisor *s, const char *id, const char *by,
		  struct completion done, struct err *e);
int inbound_discard(struct supervisor *s, const char *id, const char *by,
		    struct completion done, struct err *e);

/* device_rpc.c: answers a device's request (channels.list, messages.history) with a
 * delivery to the sender. */
int device_rpc_answer(struct supervisor *s, const char *channel,
		      const char *conversation, const struct inbound_message *m,
		      struct err *e);

#endif
