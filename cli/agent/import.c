#include "cli/agent/agent_transfer.h"

#include "cli/state/ops_cli.h"

#include <unistd.h>

static int agent_import_command(struct cli *cli, struct err *e)
{
	struct agent_source from = {.archive = cli_arg(cli, 0),
				    .name = cli_option(cli, "name")};
	struct agent_import_sum sum;
	int rc;

	from.fd = ops_open_archive(from.archive, &from.size, e);
	if (from.fd < 0)
		return -1;
	rc = agent_receive(cli, &from, &sum, e);
	close(from.fd);
	if (rc == 0)
		agent_print_import(cli, &sum, "imported");
	return rc;
}

const struct command cmd_agent_import = {
	.name = "agent import",
	.args = "FILE",
	.help = "add an agent from an archive of 'skep agent export'",
	.about = "The archive is unpacked and verified first; then the agent "
		 "appears completely or not at all. It is a copy with its own "
		 "identity: its database belongs to this agent. Runs that "
		 "were active in the original fail in the copy, and its "
		 "undelivered messages are held.\n"
		 "\n"
		 "Bindings are held until 'skep agent confirm'. The command "
		 "lists the credential files and variables of the "
		 "environment that the definition refers to.",
	.needs = NEEDS_CONTROL_MADE,
	.arguments = ARGUMENTS(
		{"FILE", "an exported agent; '-' reads standard input"}),
	.options = OPTIONS(OPTION(NAME, 0, "name", "AGENT",
				  "name of the new agent (default: its name in "
				  "the archive)")),
	.run = agent_import_command,
};
