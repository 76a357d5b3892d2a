#ifndef SCHEMA_CONTROL_CHANNEL_RETENTION_H
#define SCHEMA_CONTROL_CHANNEL_RETENTION_H

#include "lib/base/err.h"
#include "lib/base/shape.h"
#include "lib/db/sql.h"

#include <stdint.h>

/*
 * Messages that are over and old leave the control plane, with their attempts
 * and the attachments that no other message has. Never one that waits, is on
 * its way or unknown, or that somebody has not read; dead ones only if that is
 * asked for. What came in is kept longer than what goes out, since its row is
 * what tells the same message when it comes again.
 *
 * A walk goes from the oldest row to the first that is too young, a few rows at
 * a time and inside the caller's transaction; where it stands is kept here.
 */
#define RETENTION_OPTIONS(F, S)                                        \
	F(S, i64, deliveries_before) /* their end; 0: all stay; that \
					of messages between sessions too */ \
	F(S, i64, inbound_before)    /* when received; likewise */     \
	F(S, i64, dead_before)       /* dead ones of both; likewise */
SHAPE_DECLARE(retention_options, RETENTION_OPTIONS);

#define RETENTION_RESULT(F, S)                                  \
	F(S, i64, deliveries)                                   \
	F(S, i64, inbound)                                      \
	F(S, i64, messages) /* between sessions, read by all */ \
	F(S, i64, attachments)
SHAPE_DECLARE(retention_result, RETENTION_RESULT);

struct message_retention {
	struct retention_options ask;
	struct retention_result sum;
	int64_t bytes; /* of the attachments that it removed */
	int at;        /* which of its walks it is at */
	int64_t seq;   /* of the delivery up to which it has come */
	char id[64];   /* of the other message, likewise */
};

void message_retention_begin(struct message_retention *r,
			     const struct retention_options *ask);

/* Looks at up to `count` rows, and removes those that may go: how many it has
 * looked at; 0: the walk is over; -1. */
int message_retention_step(struct message_retention *r, struct sql *control,
			   int64_t count, struct err *e);

#endif
