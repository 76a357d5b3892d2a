#ifndef CLI_STATE_PRUNE_MESSAGES_H
#define CLI_STATE_PRUNE_MESSAGES_H

#include "cli/cli.h"
#include "schema/control/channel/retention.h"

/* The part of `skep state prune` that deletes old messages. */
void prune_messages_begin(struct cli *cli, struct message_retention *r,
			  int64_t before);

/* Deletes them, through the supervisor if one runs; r->sum counts the rows. */
int prune_messages(struct cli *cli, struct message_retention *r, struct err *e);

/* In a copy, inside the caller's transaction. */
int prune_messages_copied(struct message_retention *r, struct sql *copy,
			  struct err *e);

#endif
