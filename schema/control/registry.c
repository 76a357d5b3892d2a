#include "schema/control/registry.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/db/migrate.h"
#include "lib/json/json.h"
#include "lib/os/file.h"
#include "schema/control/agent_bundle.h"
#include "schema/control/control.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct home_path registry_path(const struct home *home, const char *agent)
{
	struct home real = *home;
	char root[PATH_MAX], below[NAME_MAX + 16];

	if (realpath(home->root, root) && strlen(root) < sizeof real.root)
		memcpy(real.root, root, strlen(root) + 1);
	snprintf(below, sizeof below, "%s/agent.sqlite", agent);
	return home_join(&real, HOME_AGENTS, below);
}

int registry_find(struct sql *control, const char *agent,
		  struct agent_database_row *row, struct arena *a,
		  struct err *e)
{
	return sql_get(control, Q_AGENT_DATABASE_GET,
		       &(struct agent_database_get_in){.agent = agent}, row, a,
		       e);
}

static int open_agent_file(const struct agent_database_row *row, unsigned flags,
			   struct agent_file *out, struct err *e)
{
	int64_t epoch;

	if (agent_file_open(out, row->path, row->agent, flags, e))
		return -1;
	if (agent_file_epoch(out, &epoch, e)) {
		agent_file_close(out);
		return -1;
	}
	if (epoch > row->epoch) {
		agent_file_close(out);
		return err_set(e, ERR_STALE,
			       "%s has epoch %" PRId64 ", we know %" PRId64
			       ": another owner has taken it over",
			       row->path, epoch, row->epoch);
	}
	return 0;
}

int registry_open(const struct agent_database_row *row, unsigned flags,
		  struct agent_file *out, struct err *e)
{
	if (!file_exists(row->path))
		return err_set(e, ERR_NOTFOUND,
			       "the database of agent '%s' is missing at "
			       "%s; if it was moved, use 'skep agent set %s "
			       "--file PATH'",
			       row->agent, row->path, row->agent);
	return open_agent_file(row, flags & ~(unsigned)SQL_CREATE, out, e);
}

static void measure(struct agent_database_row *row)
{
	char wal[PATH_MAX + 8];
	int64_t bytes = file_size(row->path), wal_bytes;

	snprintf(wal, sizeof wal, "%s-wal", row->path);
	wal_bytes = file_size(wal);
	row->bytes = bytes < 0 ? 0 : bytes;
	row->wal_bytes = wal_bytes < 0 ? 0 : wal_bytes;
	row->last_seen_at = clock_now();
}

static void update_sizes(struct agent_database_row *row)
{
	int version = db_peek_version(row->path);

	measure(row);
	/* a version in the WAL is not in the header yet */
	if (version > row->schema_version)
		row->schema_version = version;
}

int registry_measure(struct sql *control, const char *agent, struct err *e)
{
	struct agent_database_row row;
	struct arena a = {0};
	int found = registry_find(control, agent, &row, &a, e);

	if (found > 0) {
		struct agent_database_size_in in = {.agent = agent};

		measure(&row);
		in.bytes = row.bytes;
		in.wal_bytes = row.wal_bytes;
		in.now = row.last_seen_at;
		found = sql_exec(control, Q_AGENT_DATABASE_SIZE, &in, e);
	}
	arena_fini(&a);
	return found < 0 ? -1 : 0;
}

int registry_seen(struct sql *control, struct agent_database_row *row,
		  struct err *e)
{
	update_sizes(row);
	return sql_exec(control, Q_AGENT_DATABASE_PUT, row, e) < 0 ? -1 : 0;
}

static int make_agent_file(const struct home *home,
			   struct agent_database_row *row, struct err *e)
{
	struct home_path dir = home_join(home, HOME_AGENTS, row->agent);
	struct agent_file file;

	if (file_make_dir(dir.text, 0700, e) ||
	    open_agent_file(row, SQL_CREATE, &file, e))
		return -1;
	agent_file_close(&file);
	row->schema_version = agent_schema.version;
	row->created_at = clock_now();
	return 0;
}

int registry_make(struct sql *control, const struct home *home,
		  const char *agent, struct agent_database_row *row,
		  struct arena *a, struct err *e)
{
	int found = registry_find(control, agent, row, a, e);

	if (found)
		return found < 0 ? -1 : 0;
	if (text_check_name("agent", agent, e))
		return -1;
	if (agent_bundle_is_left(home, agent))
		return err_set(e, ERR_CONFLICT,
			       "%s was left by an import that was killed; "
			       "import the agent again, or delete the "
			       "directory",
			       home_join(home, HOME_AGENTS, agent).text);
	*row = (struct agent_database_row){
		.agent = arena_text(a, agent),
		.path = arena_text(a, registry_path(home, agent).text),
		.epoch = 1,
	};
	if (make_agent_file(home, row, e) || control_enter_alone(control, e))
		return -1;
	return sql_leave(control, registry_seen(control, row, e), e);
}

/* The future row of the agent: its file has been opened, so it is valid. */
static int moved_row(struct sql *control, const char *agent, const char *path,
		     struct agent_database_row *row, struct arena *a,
		     struct err *e)
{
	int found = registry_find(control, agent, row, a, e);
	struct agent_file file;

	if (found < 0)
		return -1;
	if (!found)
		*row = (struct agent_database_row){
			.agent = agent, .epoch = 1, .created_at = clock_now()};
	row->path = path;
	row->schema_version = agent_schema.version;
	if (registry_open(row, 0, &file, e)) {
		if (e->code != ERR_CONFLICT)
			e->code = ERR_INVALID;
		return err_wrap(e, "not the file of agent '%s'", agent);
	}
	agent_file_close(&file);
	return 0;
}

static int move_row(struct sql *control, struct agent_database_row *row,
		    struct err *e)
{
	struct buf detail = BUF_MAX(2 * PATH_MAX);
	int rc;

	json_begin_object(&detail);
	json_put_text(&detail, "path", row->path);
	json_end_object(&detail);
	rc = registry_seen(control, row, e) ||
	     control_audit(control, NULL, "agent.file", row->agent, detail.p,
			   e);
	buf_fini(&detail);
	return rc ? -1 : 0;
}

/* Checks the file first: a failure must not roll back the transaction of the
 * caller. */
int registry_move(struct sql *control, const char *agent, const char *path,
		  struct err *e)
{
	char full[PATH_MAX];
	struct agent_database_row row;
	struct arena a = {0};
	int rc;

	if (!realpath(path, full))
		return err_errno_set(e, "%s", quoted(path).text);
	rc = moved_row(control, agent, full, &row, &a, e);
	if (rc == 0)
		rc = control_enter_alone(control, e)
			     ? -1
			     : sql_leave(control, move_row(control, &row, e),
					 e);
	arena_fini(&a);
	return rc;
}

int registry_forget(struct sql *control, const char *agent, struct err *e)
{
	struct agent_database_delete_in in = {.agent = agent};

	return sql_exec(control, Q_AGENT_DATABASE_DELETE, &in, e) < 0 ? -1 : 0;
}
