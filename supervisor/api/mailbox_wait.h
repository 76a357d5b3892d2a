#ifndef SUPERVISOR_API_MAILBOX_WAIT_H
#define SUPERVISOR_API_MAILBOX_WAIT_H

#include "supervisor/api/request.h"

/* Whoever waits for a message to his session. Only a message that stays unread
 * until it is acknowledged is waited for: one that comes when the asker is gone
 * is not lost. */
#define MAILBOX_WAIT_MAX 60000 /* ms; then one asks again */

/* Answers with the rows, and frees. */
void mailbox_reply(struct api_request *q, int n,
		   const struct message_row *rows);

/* Gives the oldest unread message to q->id, q->key, now or within q->limit ms. */
void mailbox_receive(struct api_request *q);

void mailbox_wait_open(struct api *w); /* HINT_MAILBOX answers those who wait */
void mailbox_wait_tick(struct api *w);
void mailbox_wait_stop(struct api *w); /* ends all waits */

#endif
