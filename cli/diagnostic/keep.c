#include "cli/cli.h"

#include "lib/base/text.h"
#include "schema/agent/diagnostics.h"

static int diagnostic_keep(struct cli *cli, struct err *e)
{
	int64_t rows;

	if (text_i64("ROWS", cli_arg(cli, 0), 0, DIAGNOSTICS_ROWS_MAX, &rows,
		     e) ||
	    diagnostics_set(cli->agent.db, rows, e))
		return -1;
	output_note(&cli->out,
		    rows ? "the newest %lld diagnostics are kept"
			 : "diagnostics are off",
		    (long long)rows);
	return 0;
}

const struct command cmd_diagnostic_keep = {
	.name = "diagnostic keep",
	.args = "ROWS",
	.help = "keep the newest ROWS debug records; 0 is off",
	.about = "They are off unless somebody looks for a fault. What is over "
		 "ROWS goes at once. What is\nset here goes before "
		 "agent.diagnostics in skep.json, which is for every agent. "
		 "Workers then\nrecord what they started, lines that they "
		 "could not read, what was left out, and how\nthe run ended.",
	.needs = NEEDS_AGENT_MADE,
	.run = diagnostic_keep,
};
