#include "cli/cli.h"

static int schema(struct cli *cli, struct err *e)
{
	struct buf out = BUF_MAX(1u << 20);
	int rc;

	config_schema(&out);
	rc = output_document(&cli->out, out.p, e);
	buf_fini(&out);
	return rc;
}

const struct command cmd_config_schema = {
	.name = "config schema",
	.help = "print the JSON schema of the configuration file",
	.run = schema,
};
