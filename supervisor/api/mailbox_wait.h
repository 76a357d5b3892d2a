#ifndef SUPERVISOR_API_MAILBOX_WAIT_H
#define SUPERVISOR_API_MAILBOX_WAIT_H

#include "supervisor/api/request.h"

/* Whoever waits for a message to his session. Only a message that stays unread
 * until it is acknowledged is waited for: one that comes when the asker is gone
 * is not lost. */
#define MAIL_WAIT_MAX 60000 /* ms; then one asks again */

/* Answers with the rows, and frees. */
void mail_give(struct api_request *q, int n, const struct message_row *rows);

/* Gives the oldest unread message to q->id, q->key, now or within q->limit ms. */
void mail_receive(struct api_request *q);

void mail_open(struct api *w); /* HINT_MAILBOX answers those who wait */
void mail_tick(struct api *w);
void mail_stop(struct api *w); /* ends all waits */

#endif
