#include "cli/cli.h"

#include "schema/agent_queries.h"
#include "schema/control_queries.h"

#define VERSION(F, S)       \
	F(S, text, version) \
	F(S, i64, control_schema) F(S, i64, agent_schema)
SHAPE_DECLARE(version_info, VERSION);
SHAPE_DEFINE(version_info, VERSION);

static int version(struct cli *cli, struct err *e)
{
	struct version_info info = {SKEP_VERSION, control_schema.version,
				    agent_schema.version};

	(void)e;
	output_object(&cli->out, &version_info_shape, &info);
	return 0;
}

const struct command cmd_version = {
	.name = "version",
	.help = "print the version of skep and of its schemas",
	.run = version,
};
