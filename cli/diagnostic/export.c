#include "cli/cli.h"

#include "schema/agent/diagnostics.h"

#include <unistd.h>

static int export(struct cli *cli, struct err *e)
{
	return diagnostics_export(cli->agent.db, cli_option(cli, "area"),
				  STDOUT_FILENO, e) < 0
		       ? -1
		       : 0;
}

const struct command cmd_diagnostic_export = {
	.name = "diagnostic export",
	.help = "print debug records, one JSON object a line",
	.needs = NEEDS_AGENT_FILE,
	.options =
		(const struct option_spec[]){
			{"area", "TEXT", "only of this area", OPTION_TEXT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = export,
};
