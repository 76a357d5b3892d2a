#include "cli/remote.h"
#include "cli/try/try_view.h"
#include "cli/vfs/vfs_merge_cli.h"
#include "lib/base/text.h"

#include <string.h>

static void print_conflicts(struct cli *cli, const struct experiment_row *row)
{
	struct err ignored;
	cJSON *list = json_parse("conflicts", row->conflicts,
				 strlen(row->conflicts), &ignored);
	const cJSON *path;

	cJSON_ArrayForEach(path, list)
	{
		struct buf safe = BUF_MAX(1 << 20);
		const char *text = cJSON_GetStringValue(path);

		output_safe(&safe, text, strlen(text), false);
		output_note(&cli->out, "%s  (conflict)", safe.p);
		buf_fini(&safe);
	}
	cJSON_Delete(list);
}

static int report(struct cli *cli, const struct experiment_row *row,
		  const struct trial_row *t, struct err *e)
{
	print_conflicts(cli, row);
	if (cli->out.json)
		output_object(&cli->out, &experiment_row_shape, row);
	if (row->detail)
		return err_set(e, ERR_CONFLICT, "trial %lld was not merged: %s",
			       (long long)t->number, row->detail);
	output_note(&cli->out, "%lld %s of trial %lld merged into %s:%s",
		    (long long)row->merged,
		    text_plural(row->merged, "change", "changes"),
		    (long long)t->number, row->agent, row->source);
	return 0;
}

static void put_paths(struct cli *cli, const char *option, struct buf *b)
{
	const char *const *paths = merge_paths(cli, option);

	json_put_array(b, option);
	for (; *paths; paths++)
		json_add_text(b, *paths);
	json_end_array(b);
}

static const char *body_of(struct cli *cli, const struct trial_row *t,
			   bool keep)
{
	struct buf b = BUF_MAX(8u << 20);
	const char *text;

	json_begin_object(&b);
	json_put_int(&b, "trial", t->number);
	json_put_text(&b, "strategy", cli_option(cli, "strategy"));
	put_paths(cli, "ours", &b);
	put_paths(cli, "theirs", &b);
	json_put_bool(&b, "keep", keep);
	json_end_object(&b);
	text = arena_text(&cli->arena, b.p);
	buf_fini(&b);
	return text;
}

static int try_pick(struct cli *cli, struct err *e)
{
	struct experiment_row row;
	struct trial_row t;
	const char *body;

	if (try_get(cli, cli_arg(cli, 0), &row, e) ||
	    try_get_trial(cli, row.id, cli_arg(cli, 1), &t, e))
		return -1;
	body = body_of(cli, &t, cli_flag(cli, "keep"));
	if (try_post(cli, row.id, "pick", body, e) ||
	    try_wait(cli, row.id, "picking|dropping", false, &row, e))
		return -1;
	return report(cli, &row, &t, e);
}

const struct command cmd_try_pick = {
	.name = "try pick",
	.args = "EXPERIMENT TRIAL",
	.help = "merge the changes of a trial into the starting point",
	.about = "A path that was changed differently on both sides is a "
		 "conflict. Conflicts are listed, and nothing is merged unless "
		 "all of them are resolved. Afterwards the forks are deleted, "
		 "unless --keep is given here or was given to 'skep try'.",
	.needs = NEEDS_SUPERVISOR,
	.arguments = ARGUMENTS(TRY_EXPERIMENT,
			       {"TRIAL", "number of a trial; 'skep try show' "
					 "prints it"}),
	.options = OPTIONS(OPT_MERGE("the namespace", "the trial"),
			   FLAG(0, "keep", "keep the forks of all trials")),
	.run = try_pick,
};
