#include "schema/control/registry.h"

#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "lib/base/text.h"
#include "lib/db/snapshot.h"
#include "lib/os/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int have_alone(const char *path, int64_t *epoch, struct err *e)
{
	struct agent_file f;
	int rc;

	if (!file_exists(path))
		return 0;
	if (agent_file_open(&f, path, NULL, 0, e))
		return -1;
	rc = agent_file_epoch(&f, epoch, e) || db_alone(f.db, e);
	agent_file_close(&f);
	return rc ? -1 : 0;
}

static int raise(const char *path, const char *agent, int64_t *epoch,
		 struct err *e)
{
	struct agent_file f;
	int64_t has;
	int rc;

	if (agent_file_open(&f, path, agent, 0, e))
		return -1;
	rc = agent_file_epoch(&f, &has, e);
	if (!rc) {
		*epoch = 1 + (has > *epoch ? has : *epoch);
		rc = agent_file_set_epoch(&f, *epoch, e) || db_alone(f.db, e);
	}
	agent_file_close(&f);
	return rc ? -1 : 0;
}

int registry_swap(struct sql *control, const char *agent, const char *path,
		  struct agent_database_row *row, struct arena *a,
		  struct err *e)
{
	int found = registry_find(control, agent, row, a, e);
	int64_t epoch = 0;

	if (found == 0)
		return err_set(e, ERR_NOTFOUND,
			       "agent '%s' has no database to replace",
			       quoted(agent).text);
	if (found < 0 || have_alone(row->path, &epoch, e))
		return -1;
	if (epoch < row->epoch)
		epoch = row->epoch;
	if (raise(path, agent, &epoch, e))
		return -1;
	row->epoch = epoch;
	row->schema_version = agent_schema.version;
	row->bytes = file_size(path);
	row->wal_bytes = 0;
	row->last_seen_at = clock_now();
	return sql_exec(control, Q_AGENT_DATABASE_PUT, row, e) < 0 ? -1 : 0;
}

int registry_swap_files(const struct agent_database_row *row, const char *path,
			const char *before, struct err *e)
{
	if (fault_point(FAULT_restore_activate, e))
		return -1;
	if (!file_exists(row->path))
		return rename(path, row->path)
			       ? err_errno_set(e, "%s", row->path)
			       : file_sync_parent(row->path, e);
	if (renameat2(AT_FDCWD, path, AT_FDCWD, row->path, RENAME_EXCHANGE) ||
	    rename(path, before))
		return err_errno_set(e, "%s cannot be replaced", row->path);
	return file_sync_parent(row->path, e);
}

/* DIR/restore-ID.sqlite: DIR/before-ID.sqlite */
const char *registry_before(const char *path, struct arena *a)
{
	const char *name = strrchr(path, '/');
	const char *id = name ? strchr(name, '-') : NULL;

	return arena_printf(a, "%.*s/before%s", name ? (int)(name - path) : 0,
			    path, id ? id : "");
}
