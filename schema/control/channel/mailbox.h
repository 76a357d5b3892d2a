#ifndef SCHEMA_CONTROL_CHANNEL_MAILBOX_H
#define SCHEMA_CONTROL_CHANNEL_MAILBOX_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/id.h"
#include "lib/db/sql.h"
#include "schema/control_queries.h"

/*
 * Messages between sessions: durable, in the order in which they were sent,
 * read once by each receiver. A message is addressed to one session, or to
 * every member of a room except the sender. All functions run inside the
 * transaction of the caller.
 */
#define MESSAGE_MAX (256u << 10)

struct message_new {
	const char *source_key;      /* if it is known, nothing is added. NULL:
				      * none */
	const char *sender;          /* AGENT/SESSION, or the client */
	const char *agent, *session; /* the receiver; or */
	const char *room;
	const char *body;
};

/* Returns 1 and its id; 0 and the id of the first one if the source is known;
 * or -1: ERR_INVALID, ERR_NOTFOUND (a room without members), ERR_CONFLICT (the
 * source with another text or receiver). */
int message_send(struct sql *db, const struct message_new *m, struct id *id,
		 struct err *e);

/* Reads up to max unread messages and marks them as read. Returns their number,
 * or -1. */
int message_collect(struct sql *db, const char *agent, const char *session,
		    int max, struct message_row **rows, struct arena *a,
		    struct err *e);

/* Reads the oldest unread message, which stays unread until message_ack names
 * it, so a client that dies in between gets it again. Returns 1, 0 if there is
 * none, or -1. Writes nothing. */
int message_receive(struct sql *db, const char *agent, const char *session,
		    struct message_row **row, struct arena *a, struct err *e);

/* The client has handled the message: marks it as read. ERR_NOTFOUND: no such
 * message to this session. */
int message_ack(struct sql *db, const char *agent, const char *session,
		const char *id, struct err *e);

/* Parses "AGENT/SESSION" or "AGENT" (session "main"); texts are in the
 * arena. */
int message_address(const char *text, const char **agent, const char **session,
		    struct arena *a, struct err *e);

#endif
