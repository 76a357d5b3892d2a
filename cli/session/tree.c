#include "cli/cli.h"

#include "schema/agent/transcript/branch.h"

#include <inttypes.h>

static void print_line(struct cli *cli, const struct session_lineage *row)
{
	const char *name = row->key ? row->key : row->sid;

	if (row->depth == 0)
		output_note(&cli->out, "%s", name);
	else
		output_note(&cli->out, "%*s└ %s  at %" PRId64 "%s",
			    (int)(row->depth - 1) * 2, "", name, row->base_seq,
			    row->key ? "" : "  (deleted)");
}

static int session_tree_cmd(struct cli *cli, struct err *e)
{
	struct session_lineage *rows;
	int n = session_tree(&cli->agent, cli_arg(cli, 0), &rows, &cli->arena,
			     e);

	for (int i = 0; i < n; i++)
		if (cli->out.json)
			output_object(&cli->out, &session_lineage_shape,
				      &rows[i]);
		else
			print_line(cli, &rows[i]);
	return n < 0 ? -1 : 0;
}

const struct command cmd_session_tree = {
	.name = "session tree",
	.args = "SESSION",
	.help = "show the ancestors and forks of a session",
	.needs = NEEDS_AGENT_FILE,
	.run = session_tree_cmd,
};
