#include "cli/vfs/vfs_cli.h"

#include "schema/agent_queries.h"

#define SPACE(F, S) \
	F(S, text, name) F(S, text, base) F(S, text, parent) F(S, time, made_at)
SHAPE_DECLARE(vfs_space_view, SPACE);
SHAPE_DEFINE(vfs_space_view, SPACE);

static const char *name_of(const struct vfs_ns_row *rows, int n, int64_t id)
{
	for (int i = 0; i < n; i++)
		if (rows[i].id == id)
			return rows[i].name;
	return NULL;
}

static int run_vfs_spaces(struct cli *cli, struct err *e)
{
	struct vfs_ns_row *rows;
	struct table *t;
	int n = sql_collect(cli->agent.db, Q_VFS_NS_LIST, NULL, 100000, &rows,
			    &cli->arena, e);

	if (n < 0)
		return -1;
	t = table_new(&cli->out, &vfs_space_view_shape,
		      "name base parent made_at");
	for (int i = 0; i < n; i++)
		table_add(t, &(struct vfs_space_view){
				     rows[i].name, rows[i].base,
				     name_of(rows, n, rows[i].parent),
				     rows[i].made_at / 1000000});
	table_end(t);
	return 0;
}

const struct command cmd_vfs_spaces = {
	.name = "vfs spaces",
	.args = "WHERE",
	.help = "list the namespaces of an agent",
	.needs = VFS_NEEDS,
	.run = run_vfs_spaces,
};
