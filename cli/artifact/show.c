#include "cli/artifact/artifact_args.h"

static int artifact_show(struct cli *cli, struct err *e)
{
	struct artifact_row row;

	if (artifact_need(cli, &row, e))
		return -1;
	output_object(&cli->out, &artifact_row_shape, &row);
	return 0;
}

const struct command cmd_artifact_show = {
	.name = "artifact show",
	.args = "ARTIFACT...",
	.each = true,
	.help = "show the metadata of an artifact",
	.needs = NEEDS_AGENT_FILE,
	.options = OPTIONS(ARTIFACT_KEY_OPTIONS),
	.run = artifact_show,
};
