#include "cli/vfs/vfs_main.h"

#include "lib/os/file.h"
#include "lib/sandbox/spec.h"
#include "schema/control/agent.h"
#include "vfs/core/vfs.h"

#include <string.h>

/* The lower directory of the workspace, or NULL. */
static int lower_of(struct cli *cli, const struct agent_row *row,
		    const cJSON *spec, const char **lower, struct err *e)
{
	const char *path = json_text(spec, "path", NULL);
	struct home_path own;

	*lower = NULL;
	if (strcmp(row->workspace, "vfs-scratch") != 0)
		return 0;
	if (!path) { /* as in supervisor/run/start.c */
		own = home_join(
			&cli->home, HOME_AGENTS,
			arena_printf(&cli->arena, "%s/workspace", row->name));
		path = own.text;
		if (file_make_dir(path, 0700, e))
			return -1;
	}
	*lower = arena_text(&cli->arena, path);
	return home_check_lower(cli->home.root, path, e);
}

static int quota_of(struct cli *cli, const struct agent_row *row,
		    const cJSON *spec, int64_t *max, struct err *e)
{
	struct sandbox_spec s;

	*max = 0;
	if (strcmp(row->workspace, "vfs-only") != 0)
		return 0;
	if (sandbox_spec_read(&s, spec, &cli->arena, e))
		return -1;
	if (s.mode != SANDBOX_OFF)
		*max = s.limits.disk;
	return 0;
}

static int set_quota(struct cli *cli, int64_t max, struct err *e)
{
	struct vfs *v;
	int rc;

	if (vfs_open(&v, cli->agent.db, "main", "cli", e))
		return -1;
	rc = vfs_set_quota(v, max, 0, e);
	vfs_close(v);
	return rc;
}

/* Both or none: a namespace that exists keeps its quota. */
static int create_main(struct cli *cli, const char *lower, int64_t max,
		       struct err *e)
{
	struct sql *db = cli->agent.db;
	int rc;

	if (sql_enter(db, e))
		return -1;
	rc = vfs_create(db, "main", lower, e);
	if (rc == 0 && max)
		rc = set_quota(cli, max, e);
	return sql_leave(db, rc, e);
}

int vfs_main_create(struct cli *cli, struct err *e)
{
	struct agent_row row;
	const char *lower;
	cJSON *spec;
	int64_t max;
	int rc;

	if (agents_get(cli->control, cli->agent_name, &row, &cli->arena, e))
		return -1;
	spec = json_parse_object("spec", row.spec, strlen(row.spec), e);
	if (!spec)
		return -1;
	rc = lower_of(cli, &row, spec, &lower, e);
	if (rc == 0)
		rc = quota_of(cli, &row, spec, &max, e);
	cJSON_Delete(spec);
	return rc ? -1 : create_main(cli, lower, max, e);
}

int vfs_main_missing(struct cli *cli, struct err *e)
{
	const char *name = cli->agent_name;
	struct agent_row row;
	struct err ignored;
	bool by_run = agents_get(cli->control, name, &row, &cli->arena,
				 &ignored) == 0 &&
		      strcmp(row.workspace, "disk") != 0;

	return err_set(
		e, ERR_NOTFOUND,
		"agent '%s' has no namespace 'main' yet; %s'skep vfs "
		"put %s', 'skep vfs import %s' or 'skep namespace create "
		"%s:main' creates it",
		name, by_run ? "its first run, " : "", name, name, name);
}
