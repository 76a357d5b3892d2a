#ifndef CLI_AGENT_AGENT_TRANSFER_H
#define CLI_AGENT_AGENT_TRANSFER_H

#include "cli/cli.h"
#include "ops/agent/agent_archive.h"

/* Imports the archive that fd reads as the agent `name` (NULL: its own name),
 * through the supervisor if one runs. `archive` names it in errors. */
struct agent_source {
	int fd;
	int64_t size;
	const char *archive, *name;
};
int agent_receive(struct cli *cli, const struct agent_source *from,
		  struct agent_import_sum *out, struct err *e);

/* What the user has to do before the agent can work. */
void agent_print_import(struct cli *cli, const struct agent_import_sum *s,
			const char *verb);

#endif
