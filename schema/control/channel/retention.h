#ifndef SCHEMA_CONTROL_CHANNEL_RETENTION_H
#define SCHEMA_CONTROL_CHANNEL_RETENTION_H

#include "lib/base/err.h"
#include "lib/base/shape.h"
#include "lib/db/sql.h"

#include <stdint.h>

/*
 * Deletes finished old messages from the control plane, with their attempts and
 * the attachments that no other message uses. Messages that are pending, in
 * flight, unknown or unread are never deleted; dead letters only on request.
 * Inbound messages are kept longer than outgoing ones, since their rows
 * identify repeated messages.
 *
 * A walk goes from the oldest row to the first one that is too young, a few
 * rows at a time and inside the transaction of the caller; this struct holds
 * its position.
 */
/* Messages that ended, arrived or became dead letters before these times are
 * deleted; 0: none. deliveries_before also applies to messages between
 * sessions. */
#define RETENTION_OPTIONS(F, S)      \
	F(S, i64, deliveries_before) \
	F(S, i64, inbound_before)    \
	F(S, i64, dead_before)
SHAPE_DECLARE(retention_options, RETENTION_OPTIONS);

#define RETENTION_RESULT(F, S)                                  \
	F(S, i64, deliveries)                                   \
	F(S, i64, inbound)                                      \
	F(S, i64, messages) /* between sessions, read by all */ \
	F(S, i64, attachments)
SHAPE_DECLARE(retention_result, RETENTION_RESULT);

struct message_retention {
	struct retention_options options;
	struct retention_result sum;
	int64_t bytes; /* size of the deleted attachments */
	int at;        /* the current walk */
	int64_t seq;   /* position among the deliveries */
	char id[64];   /* position among the other messages */
};

void message_retention_begin(struct message_retention *r,
			     const struct retention_options *options);

/* Examines up to `count` rows and deletes those that may be deleted. Returns
 * the number of examined rows, 0 at the end of the walk, or -1. */
int message_retention_step(struct message_retention *r, struct sql *control,
			   int64_t count, struct err *e);

#endif
