#ifndef CLI_RUN_EVENT_VIEW_H
#define CLI_RUN_EVENT_VIEW_H

#include "cli/cli.h"
#include "schema/agent/transcript/history.h"
#include "schema/agent/transcript/tail.h"

/* Prints transcripts, for users or as JSON lines. */

/* Prints a new event or a new piece of a part. */
void event_print_new(struct cli *cli, const struct tail_item *item);

/* Prints all events of a history after the seq `after`. */
int event_print_all(struct cli *cli, const struct history *h, int64_t after,
		    struct err *e);

#endif
