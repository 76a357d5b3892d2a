#include "cli/vfs/vfs_cli.h"

#include "lib/base/text.h"
#include "schema/control/registry.h"

#include <string.h>

static void report_forked(struct cli *cli, struct vfs *v, const char *agent,
			  const char *name)
{
	vfs_report(cli, v, "forked as", name, "forked %s as %s:%s",
		   vfs_full_name(cli, v), agent, name);
}

/* The row of the file of another agent, which is created if it is missing. */
static int find_file(struct cli *cli, const char *agent,
		     struct agent_database_row *out, struct err *e)
{
	int found = registry_find(cli->control, agent, out, &cli->arena, e);
	struct agent_database_row own = cli->file;
	const char *own_name = cli->agent_name;
	int rc;

	if (found)
		return found < 0 ? -1 : 0;
	cli->agent_name = agent;
	rc = cli_make_file(cli, e);
	*out = cli->file;
	cli->agent_name = own_name;
	cli->file = own;
	return rc;
}

static int fork_to_other(struct cli *cli, struct vfs *v, const char *agent,
			 const char *name, struct err *e)
{
	struct vfs_fork_new new = {.name = name};
	struct agent_database_row row;
	struct agent_file file;
	int rc;

	if (text_check_name("agent", agent, e) ||
	    find_file(cli, agent, &row, e) || registry_open(&row, 0, &file, e))
		return -1;
	rc = vfs_fork_across(v, file.db, &new, e);
	agent_file_close(&file);
	if (rc == 0)
		report_forked(cli, v, agent, name);
	return rc;
}

static int fork_in(struct cli *cli, struct vfs *v, struct err *e)
{
	const char *name = cli_arg(cli, 0), *colon = strchr(name, ':');
	const char *agent = colon && colon > name
				    ? arena_textn(&cli->arena, name,
						  (size_t)(colon - name))
				    : cli->agent_name;

	if (colon)
		name = colon + 1;
	if (strcmp(agent, cli->agent_name) != 0)
		return fork_to_other(cli, v, agent, name, e);
	if (vfs_fork(v, name, e))
		return -1;
	report_forked(cli, v, agent, name);
	return 0;
}

static int run_vfs_fork(struct cli *cli, struct err *e)
{
	return vfs_cli(cli, fork_in, e);
}

const struct command cmd_vfs_fork = {
	.name = "vfs fork",
	.args = "NAMESPACE FORK",
	.help = "create a namespace as a fork of another one",
	.about = "A snapshot can be forked too. Content is shared, not copied, "
		 "unless FORK belongs to another agent: then each content is "
		 "copied once, even if several forks use it.",
	.needs = VFS_NEEDS,
	.arguments = ARGUMENTS(
		{"FORK", "NAME or :NAME of the new namespace, or AGENT:NAME "
			 "for a namespace of any agent"}),
	.run = run_vfs_fork,
};
