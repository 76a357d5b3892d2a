#include "cli/list.h"
#include "cli/vfs/vfs_cli.h"

#include "schema/agent_queries.h"

#define NAMESPACE(F, S)  \
	F(S, text, name) \
	F(S, text, lower) F(S, text, parent) F(S, time, created_at)
SHAPE_DECLARE(namespace_view, NAMESPACE);
SHAPE_DEFINE(namespace_view, NAMESPACE);

static const char *name_of(const struct vfs_ns_row *rows, int n, int64_t id)
{
	for (int i = 0; i < n; i++)
		if (rows[i].id == id)
			return rows[i].name;
	return NULL;
}

static int run(struct cli *cli, struct err *e)
{
	struct cli_list l = {
		.cli = cli,
		.shape = &namespace_view_shape,
		.columns = "name lower parent created_at",
		.none = arena_printf(&cli->arena, "no namespaces of agent '%s'",
				     cli->agent_name),
	};
	struct vfs_ns_row *rows;
	int n = 0;

	if (cli->agent.db) /* its first run creates it */
		n = sql_collect(cli->agent.db, Q_VFS_NS_LIST, NULL, 100000,
				&rows, &cli->arena, e);
	if (n < 0)
		return -1;
	for (int i = 0; i < n; i++)
		cli_list_add(&l, &(struct namespace_view){
					 rows[i].name, rows[i].base,
					 name_of(rows, n, rows[i].parent),
					 rows[i].made_at / 1000000});
	cli_list_end(&l);
	return 0;
}

const struct command cmd_namespace_ls = {
	.name = "namespace ls",
	.args = "[AGENT]",
	.help = "list the namespaces of an agent",
	.needs = VFS_NEEDS,
	.arguments = ARGUMENTS(
		{"AGENT", "name of the agent (default: the default agent)"}),
	.options = OPTIONS(OPT_LIST),
	.run = run,
};
