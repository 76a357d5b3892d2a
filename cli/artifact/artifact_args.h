#ifndef CLI_ARTIFACT_ARTIFACT_ARGS_H
#define CLI_ARTIFACT_ARTIFACT_ARGS_H

#include "cli/cli.h"
#include "schema/agent/artifact.h"

/* The options that identify an artifact together with its name. */
#define ARTIFACT_KEY_OPTIONS                                               \
	OPTION(TEXT, 0, "run", "RUN", "the artifact belongs to this run"), \
		OPTION(TEXT, 0, "call", "ID",                              \
		       "with --run: the output of this tool call"),        \
		OPTION(TEXT, 0, "owner", "TEXT",                           \
		       "the named artifact belongs to this owner"),        \
		OPTION(TEXT, 0, "kind", "TEXT",                            \
		       "with --owner: its kind (default file)")

/* The key from --run, --call, --owner, --kind and a name. */
int artifact_key_of(struct cli *cli, const char *name, struct artifact_key *key,
		    struct err *e);

/* The row of the artifact that the first word names: an id (art_…), or a name
 * together with the options. ERR_NOTFOUND names it. */
int artifact_need(struct cli *cli, struct artifact_row *row, struct err *e);

#endif
