#ifndef SCHEMA_CONTROL_CHANNEL_MAILBOX_H
#define SCHEMA_CONTROL_CHANNEL_MAILBOX_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/id.h"
#include "lib/db/sql.h"
#include "schema/control_queries.h"

/*
 * Messages between sessions: durable, in the order in which they were sent,
 * read once by each receiver. A message goes to one session, or to every member
 * of a room but the sender. All inside the caller's transaction.
 */
#define MESSAGE_MAX (256u << 10)

struct message_new {
	const char *source_key;      /* known: nothing is added. NULL: none */
	const char *sender;          /* AGENT/SESSION, or who asked */
	const char *agent, *session; /* to whom; or */
	const char *room;
	const char *body;
};

/* 1 and its id; 0 and the id of the first one if the source is known; -1:
 * ERR_INVALID, ERR_NOTFOUND (a room without members), ERR_CONFLICT (the source
 * with another text, or to somebody else). */
int message_send(struct sql *db, const struct message_new *m, struct id *id,
		 struct err *e);

/* Reads up to max unread ones and marks them as read: how many, or -1. */
int message_collect(struct sql *db, const char *agent, const char *session,
		    int max, struct message_row **rows, struct arena *a,
		    struct err *e);

/* The oldest unread one, which stays unread until message_ack names it: whoever
 * dies in between gets it again. 1, 0: none, or -1. Only reads. */
int message_receive(struct sql *db, const char *agent, const char *session,
		    struct message_row **row, struct arena *a, struct err *e);

/* It was dealt with: it is read now. ERR_NOTFOUND: no message to this session. */
int message_ack(struct sql *db, const char *agent, const char *session,
		const char *id, struct err *e);

/* "AGENT/SESSION" or "AGENT" (session "main"): texts in the arena. */
int message_address(const char *text, const char **agent, const char **session,
		    struct arena *a, struct err *e);

#endif
