#ifndef CLI_ARTIFACT_ARTIFACT_ARGS_H
#define CLI_ARTIFACT_ARTIFACT_ARGS_H

#include "cli/cli.h"
#include "schema/agent/artifact.h"

/* How artifact commands name one: by id, or by a key made of options. */
#define ARTIFACT_KEY_OPTIONS                                                 \
	{"run", "ID", "it belongs to this run, by path", OPTION_TEXT},       \
		{"call", "ID", "with --run: the output of this tool call",   \
		 OPTION_TEXT},                                               \
		{"owner", "TEXT", "a named artifact of this owner",          \
		 OPTION_TEXT},                                               \
	{                                                                    \
		"kind", "TEXT", "with --owner: its kind (file)", OPTION_TEXT \
	}

/* The key that --run, --call, --owner, --kind and a name say. */
int artifact_key_of(struct cli *cli, const char *name, struct artifact_key *key,
		    struct err *e);

/* The row of the artifact that the first word names: an id (art_…), or a name
 * together with the options. ERR_NOTFOUND names it. */
int artifact_need(struct cli *cli, struct artifact_row *row, struct err *e);

#endif
