#include "cli/cli.h"

static int config_values(struct cli *cli, struct err *e)
{
	struct buf out = BUF_MAX(1u << 20);
	int rc;

	config_show(&cli->config, &out);
	rc = output_document(&cli->out, out.p, e);
	buf_fini(&out);
	return rc;
}

const struct command cmd_config_show = {
	.name = "config show",
	.help = "print the effective configuration, including "
		"defaults",
	.needs = NEEDS_CONFIG,
	.run = config_values,
};
