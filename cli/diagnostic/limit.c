#include "cli/cli.h"

#include "lib/base/text.h"
#include "schema/agent/diagnostics.h"

static int keep(struct cli *cli, struct err *e)
{
	int64_t rows;

	if (text_i64("ROWS", cli_arg(cli, 0), 0, DIAGNOSTICS_ROWS_MAX, &rows,
		     e) ||
	    diagnostics_set(cli->agent.db, rows, e))
		return -1;
	if (rows)
		output_note(&cli->out, "keeping the newest %lld diagnostic %s",
			    (long long)rows,
			    text_plural(rows, "record", "records"));
	else
		output_note(&cli->out, "diagnostic records are off");
	return 0;
}

const struct command cmd_diagnostic_limit = {
	.name = "diagnostic limit",
	.args = "ROWS",
	.help = "set how many diagnostic records an agent keeps",
	.about = "Diagnostic records are off by default. When they are on, "
		 "workers record the programs they started, lines they could "
		 "not parse, truncated output, and how the run ended. This "
		 "setting overrides agent.diagnostics in skep.json. Records "
		 "beyond the limit are deleted at once.",
	.needs = NEEDS_AGENT_MADE,
	.arguments = ARGUMENTS(
		{"ROWS", "number of records to keep; 0 turns them off"}),
	.run = keep,
};
