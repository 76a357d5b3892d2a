#ifndef CLI_CHANNEL_CHANNEL_CLI_H
#define CLI_CHANNEL_CHANNEL_CLI_H

#include "cli/remote.h"
#include "schema/control/channel/channel.h"

/* Shared by the commands on channels, deliveries and messages. */

/* Encodes a text as a path segment or a query value. */
const char *url_text(struct cli *cli, const char *text);

/* Without a supervisor a channel is not in use, whatever its row says. */
void channel_hide_stale_state(const struct cli *cli, struct channel_row *row);

/* Prints the stored channel. */
int channel_print(struct cli *cli, const char *name, struct err *e);
/* The same in one line, which begins with `verb`; all of it with --json. */
int channel_print_stored(struct cli *cli, const char *name, const char *verb,
			 struct err *e);

/* Stores a definition, through the supervisor if one runs. */
int channel_store(struct cli *cli, const char *name, const cJSON *def,
		  struct err *e);

/* "/v1/WHAT/ID/VERB" with the first argument as ID, which must be an id of this
 * kind; NULL with ERR_USAGE. */
const char *verb_path(struct cli *cli, enum id_kind kind, const char *what,
		      const char *verb, struct err *e);

/* POSTs, and prints the messages of the response, or `none` if it is not NULL;
 * returns their number. */
int print_messages(struct cli *cli, const char *path, const char *none,
		   struct err *e);

/* The i-th argument, AGENT[/SESSION]; without a session it is NULL. */
struct address {
	const char *agent, *session;
};
int address_arg(struct cli *cli, int i, struct address *a, struct err *e);

/* ERR_INVALID for text that JSON cannot carry unchanged. */
int check_message_text(const struct buf *text, struct err *e);

/* Sets "config" of def from the --set options, and "command" from the arguments
 * from `first` on, if there are any. */
int channel_settings(struct cli *cli, cJSON *def, struct err *e);
void channel_command(struct cli *cli, int first, cJSON *def);

#endif
