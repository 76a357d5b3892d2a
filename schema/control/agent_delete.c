#include "schema/control/agent_delete.h"

#include "schema/control/agent.h"
#include "schema/control/control.h"
#include "schema/control/registry.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

int agent_delete_rows(struct sql *control, const char *agent, const char **path,
		      struct arena *a, struct err *e)
{
	struct agent_database_row row;
	int found;

	if (agents_remove(control, agent, e))
		return -1;
	found = registry_find(control, agent, &row, a, e);
	*path = found > 0 ? row.path : NULL;
	if (found < 0 || registry_forget(control, agent, e))
		return -1;
	return control_audit(control, NULL, "agent.purge", agent, NULL, e);
}

static int unlink_if_there(const char *dir, const char *name, struct err *e)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof path, "%s%s", dir, name);
	if (unlink(path) && errno != ENOENT)
		return err_errno_set(e, "%s", path);
	return 0;
}

/* The WAL is deleted first: a database without its WAL is still a database. */
int agent_delete_files(const struct home *home, const char *agent,
		       const char *path, struct err *e)
{
	static const char *const ends[] = {"-wal", "-shm", ""};
	static const char *const files[] = {"/agent.json", "/prompt.md"};
	struct home_path dir = home_join(home, HOME_AGENTS, agent);

	for (size_t i = 0; path && i < sizeof ends / sizeof ends[0]; i++)
		if (unlink_if_there(path, ends[i], e))
			return -1;
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
		if (unlink_if_there(dir.text, files[i], e))
			return -1;
	rmdir(dir.text);
	return 0;
}
