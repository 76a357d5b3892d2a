#ifndef CLI_STATE_PRUNE_MESSAGES_H
#define CLI_STATE_PRUNE_MESSAGES_H

#include "cli/cli.h"
#include "schema/control/channel/retention.h"

/* The part of `skep state prune` that removes old messages. */
void prune_messages_begin(struct cli *cli, struct retire *r, int64_t before);

/* By the supervisor if one runs, else here; r->sum has what went. */
int prune_messages(struct cli *cli, struct retire *r, struct err *e);

/* In a copy, inside the caller's transaction. */
int prune_messages_copied(struct retire *r, struct sql *copy, struct err *e);

#endif
