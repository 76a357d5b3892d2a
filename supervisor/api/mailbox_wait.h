#ifndef SUPERVISOR_API_MAILBOX_WAIT_H
#define SUPERVISOR_API_MAILBOX_WAIT_H

#include "supervisor/api/request.h"

/* Requests that wait for a message to a session. The message stays unread until
 * it is acknowledged, so it is not lost if the client has disconnected. */
#define MAILBOX_WAIT_MAX 60000 /* ms; then the client asks again */

/* Answers with the rows and frees q. */
void mailbox_reply(struct api_request *q, int n,
		   const struct message_row *rows);

/* Answers with the oldest unread message of agent q->id, session q->key, within
 * q->limit ms. */
void mailbox_receive(struct api_request *q);

/* answers waiting requests on HINT_MAILBOX */
void mailbox_wait_open(struct api *w);
void mailbox_wait_tick(struct api *w);
void mailbox_wait_stop(struct api *w); /* ends all waits */

#endif
