#ifndef CLI_CHANNEL_CHANNEL_CLI_H
#define CLI_CHANNEL_CHANNEL_CLI_H

#include "cli/remote.h"
#include "schema/control/channel/channel.h"

/* Shared by the commands on channels, deliveries and messages. */

/* A text as one segment of a path or a value of a query. */
const char *url_text(struct cli *cli, const char *text);

/* Without a supervisor nobody uses it, whatever the last one left in the row. */
void channel_judge_from_outside(const struct cli *cli, struct channel_row *row);

/* Prints the channel as it is stored. */
int channel_print(struct cli *cli, const char *name, struct err *e);

/* Stores a definition, here or by the supervisor. */
int channel_store(struct cli *cli, const char *name, const cJSON *def,
		  struct err *e);

/* POSTs to "/v1/WHAT/ID/VERB" for the command's first word, an id of that
 * kind, and prints what came of it. */
/* NULL: no id */
const char *verb_path(struct cli *cli, enum id_kind kind, const char *what,
		      const char *verb, struct err *e);
int verb_by_id(struct cli *cli, enum id_kind kind, const char *what,
	       const char *verb, struct err *e);

/* POSTs, and prints the messages that come back: how many. */
int print_messages(struct cli *cli, const char *path, struct err *e);

/* The i-th argument, AGENT[/SESSION]; without a session it is NULL. */
struct address {
	const char *agent, *session;
};
int address_arg(struct cli *cli, int i, struct address *a, struct err *e);

/* ERR_INVALID for text that JSON cannot carry unchanged. */
int check_said(const struct buf *text, struct err *e);

/* The --set options into def's "config"; the words from the `first` on into its
 * "command", if there are any. */
int channel_settings(struct cli *cli, cJSON *def, struct err *e);
void channel_command(struct cli *cli, int first, cJSON *def);

#endif
