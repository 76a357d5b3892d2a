#include "cli/artifact/artifact_args.h"

#include "schema/agent/media.h"

#define PATH_VIEW(F, S) F(S, text, aid) F(S, text, path)
SHAPE_DECLARE(path_view, PATH_VIEW);
SHAPE_DEFINE(path_view, PATH_VIEW);

static int path(struct cli *cli, struct err *e)
{
	struct home_path dir = home_path(&cli->home, HOME_MEDIA);
	struct path_view v = {0};
	struct artifact_row row;

	if (artifact_need(cli, &row, e) ||
	    media_materialise(cli->agent.db, row.aid, dir.text, &v.path,
			      &cli->arena, e))
		return -1;
	v.aid = row.aid;
	if (cli->out.json)
		output_object(&cli->out, &path_view_shape, &v);
	output_note(&cli->out, "%s", v.path);
	return 0;
}

const struct command cmd_artifact_path = {
	.name = "artifact path",
	.args = "ARTIFACT",
	.help = "write an artifact to a temporary file and print its "
		"path",
	.about = "Use this command for programs that need a path. 'skep state "
		 "gc' deletes the file when it has not been requested for some "
		 "time.",
	.needs = NEEDS_AGENT_FILE,
	.options = OPTIONS(ARTIFACT_KEY_OPTIONS),
	.run = path,
};
