#include "cli/artifact/artifact_args.h"

#define GC_CHUNKS 100000

static int rm(struct cli *cli, struct err *e)
{
	struct artifact_row row;

	/* free the space now, since no other command may run for a long time */
	if (artifact_need(cli, &row, e) ||
	    cli_confirm(cli,
			arena_printf(&cli->arena, "artifact %s (%s)", row.aid,
				     row.name ? row.name : row.owner),
			e) ||
	    artifact_delete(cli->agent.db, row.aid, e) < 0 ||
	    artifact_gc(cli->agent.db, 0, GC_CHUNKS, e) < 0)
		return -1;
	cli_done_to(cli, "artifact.rm", row.aid);
	output_note(&cli->out, "removed artifact %s", row.aid);
	return 0;
}

const struct command cmd_artifact_rm = {
	.name = "artifact rm",
	.args = "ARTIFACT...",
	.each = true,
	.help = "delete an artifact",
	.needs = NEEDS_AGENT_FILE,
	.options = OPTIONS(ARTIFACT_KEY_OPTIONS,
			   OPT_YES("do not ask for confirmation")),
	.run = rm,
};
