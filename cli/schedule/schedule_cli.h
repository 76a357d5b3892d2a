#ifndef CLI_SCHEDULE_SCHEDULE_CLI_H
#define CLI_SCHEDULE_SCHEDULE_CLI_H

#include "cli/cli.h"

/* What the commands on schedules share. */

/* "/v1/schedules/NAME[/verb]"; a word that is not a name is ERR_USAGE. */
const char *schedule_path(struct cli *cli, const char *name, const char *verb,
			  struct err *e);

/* How a schedule fires, for people: "0 9 * * 1-5 Europe/Berlin", "every 15m". */
const char *schedule_rule_text(struct cli *cli, const struct schedule_row *row);

#define SCHEDULE_NAME                                                       \
	{                                                                   \
		"SCHEDULE",                                                 \
			"name of a schedule; 'skep schedule ls' lists them" \
	}

#endif
