#include "cli/cli.h"

#include "schema/agent/diagnostics.h"

#include <stdio.h>
#include <unistd.h>

static int export(struct cli *cli, struct err *e)
{
	int64_t n = diagnostics_export(cli->agent.db, cli_option(cli, "area"),
				       STDOUT_FILENO, e);

	if (n == 0 && !cli->out.json)
		fprintf(stderr, "no diagnostic records; the setting "
				"agent.diagnostics enables them\n");
	return n < 0 ? -1 : 0;
}

const struct command cmd_diagnostic_export = {
	.name = "diagnostic export",
	.help = "print the diagnostic records as JSON lines",
	.needs = NEEDS_AGENT_FILE,
	.options = OPTIONS(OPTION(TEXT, 0, "area", "TEXT",
				  "print only records of this area")),
	.run = export,
};
