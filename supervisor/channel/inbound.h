#ifndef SUPERVISOR_CHANNEL_INBOUND_H
#define SUPERVISOR_CHANNEL_INBOUND_H

#include "supervisor/channel/envelope.h"
#include "supervisor/core/commands.h"

/*
 * Accepts an inbound message: writes the message, its conversation and its run
 * in one transaction. `done` is called after the commit; only then may the
 * platform get its acknowledgement. A message with a known id adds nothing and
 * gets the same answer. A message that no agent can answer is stored as a dead
 * letter with the reason, and acknowledged, since sending it again would not
 * help.
 *
 * The result: id of the inbound row, changed false if it was known, and the
 * state of the row as the note.
 */
int inbound_accept(struct supervisor *s, const char *channel,
		   const struct inbound_message *m, struct completion done,
		   struct err *e);

/* Retries a dead letter: it becomes a run or stays a dead letter. */
int inbound_retry(struct supervisor *s, const char *id, const char *by,
		  struct completion done, struct err *e);
int inbound_discard(struct supervisor *s, const char *id, const char *by,
		    struct completion done, struct err *e);

/* device_rpc.c: answers a request of a device (channels.list, messages.history)
 * with a delivery to its conversation. */
int device_rpc_answer(struct supervisor *s, const char *channel,
		      const char *conversation, const struct inbound_message *m,
		      struct err *e);

#endif
