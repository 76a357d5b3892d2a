#include "cli/cli.h"

#include "schema/media.h"
#include "schema/registry.h"
#include "schema/sweep.h"

#include <limits.h>
#include <string.h>

#define OLDER_MS 3600000

static int sweep_file(struct cli *cli, const struct agent_database_row *row,
		      int64_t age, struct table *t, struct err *e)
{
	struct agent_file file = {.db = NULL};
	struct swept swept;
	int rc;

	if (registry_open(row, 0, &file, e))
		return -1;
	rc = agent_sweep(&file, age, INT_MAX, &swept, e);
	if (!rc) {
		swept.agent = arena_text(&cli->arena, row->agent);
		table_add(t, &swept);
	}
	agent_file_close(&file);
	return rc;
}

static int sweep(struct cli *cli, struct err *e)
{
	struct home_path media = home_path(&cli->home, HOME_MEDIA);
	int64_t age = cli_number(cli, "older", OLDER_MS);
	const char *only = cli_option(cli, "only");
	struct table *t = table_new(&cli->out, &swept_shape,
				    "agent chunks cached");
	struct agent_database_row *rows;
	int rc = 0, files;
	int n = sql_collect(cli->control, Q_AGENT_DATABASE_LIST, NULL, 1 << 20,
			    &rows, &cli->arena, e);

	for (int i = 0; !rc && i < n; i++)
		if (!only || !strcmp(only, rows[i].agent))
			rc = sweep_file(cli, &rows[i], age, t, e);
	table_end(t);
	files = n < 0 || rc ? -1 : media_sweep(media.text, age, e);
	if (files < 0)
		return -1;
	output_note(&cli->out, "%d files of artifacts removed", files);
	return 0;
}

const struct command cmd_state_sweep = {
	.name = "state sweep",
	.help = "free what nobody can see any more",
	.about = "Bytes of artifacts that were replaced or deleted, cached "
		 "values that have expired, files\nthat were made of artifacts "
		 "for a while.",
	.needs = NEEDS_CONTROL_READ,
	.options =
		(const struct option_spec[]){
			{"older", "TIME", "what is older than this (1h)",
			 OPTION_MILLIS},
			{"only", "NAME", "only this agent's file", OPTION_NAME},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = sweep,
};
