#ifndef CLI_RUN_EVENT_VIEW_H
#define CLI_RUN_EVENT_VIEW_H

#include "cli/cli.h"
#include "schema/agent/transcript/history.h"
#include "schema/agent/transcript/tail.h"

/* Transcripts, for people and as JSON lines. */

/* What is new while a session grows: an event, or more of a part. */
void event_print_new(struct cli *cli, const struct tail_item *item);

/* All events of a history, page by page, from seq `after` on. */
int event_print_all(struct cli *cli, const struct history *h, int64_t after,
		    struct err *e);

#endif
