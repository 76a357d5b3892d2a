#include "cli/run/run_changes_cli.h"

#include "cli/run/run_view.h"
#include "schema/control/registry.h"

static int no_file(const struct run_row *row, struct err *e)
{
	return err_set(e, ERR_NOTFOUND,
		       "run %s has not begun: agent '%s' has "
		       "no data yet",
		       row->id, row->agent);
}

int run_changes_cli(struct cli *cli,
		    int (*inner)(struct cli *, struct run_changes *,
				 struct err *),
		    struct err *e)
{
	struct run_changes c = {0};
	struct agent_database_row file;
	struct agent_file f;
	struct run_row row;
	int rc, found;

	if (run_view_get(cli, cli_arg(cli, 0), &row, e))
		return -1;
	found = registry_find(cli->control, row.agent, &file, &cli->arena, e);
	if (found <= 0)
		return found < 0 ? -1 : no_file(&row, e);
	if (registry_open(&file, 0, &f, e))
		return -1;
	rc = run_changes_open(&c, &f, row.id, cli_number(cli, "turn", 0), e);
	if (rc == 0)
		rc = inner(cli, &c, e);
	run_changes_close(&c);
	agent_file_close(&f);
	return rc;
}

int run_changes_npaths(const struct cli *cli)
{
	return cli->args.nwords - 1;
}

const char *const *run_changes_paths(const struct cli *cli)
{
	return (const char *const *)cli->args.words + 1;
}
