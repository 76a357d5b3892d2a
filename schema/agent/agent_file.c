#include "schema/agent/agent_file.h"

#include "lib/base/text.h"
#include "lib/os/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The agent to which the file belongs, or "" for a new file. */
static int read_owner(struct agent_file *f, char *out, size_t cap,
		      struct err *e)
{
	struct meta_get_row row = {0};
	struct arena a = {0};
	int n = sql_get(f->db, Q_META_GET,
			&(struct meta_get_in){.key = "agent"}, &row, &a, e);

	if (n >= 0)
		snprintf(out, cap, "%s", n ? row.value : "");
	arena_fini(&a);
	return n < 0 ? -1 : 0;
}

static int put_owner(struct agent_file *f, const char *agent, struct err *e)
{
	return sql_exec(f->db, Q_META_PUT_TEXT,
			&(struct meta_put_text_in){"agent", agent}, e) < 0 ||
			       sql_exec(f->db, Q_META_PUT_I64,
					&(struct meta_put_i64_in){"epoch", 1},
					e) < 0
		       ? -1
		       : 0;
}

static int claim_file(struct agent_file *f, const char *agent, unsigned flags,
		      struct err *e)
{
	if (read_owner(f, f->agent, sizeof f->agent, e))
		return -1;
	if (!f->agent[0] && agent && !(flags & SQL_READONLY)) {
		if (text_check_name("agent", agent, e) || sql_enter(f->db, e) ||
		    sql_leave(f->db, put_owner(f, agent, e), e))
			return -1;
		return read_owner(f, f->agent, sizeof f->agent, e);
	}
	if (agent && strcmp(agent, f->agent) != 0)
		return err_set(e, ERR_CONFLICT,
			       "%s belongs to agent '%s', not to '%s'",
			       sql_path(f->db), quoted(f->agent).text,
			       quoted(agent).text);
	return 0;
}

int agent_file_open(struct agent_file *f, const char *path, const char *agent,
		    unsigned flags, struct err *e)
{
	*f = (struct agent_file){0};
	/* SQLite treats an empty file as a new database, but a caller without
	 * SQL_CREATE expects data in it */
	if (!(flags & SQL_CREATE) && file_size(path) == 0)
		return err_set(e, ERR_CORRUPT,
			       "%s is empty; its content was lost, restore "
			       "it from a backup",
			       path);
	if (db_open(&f->db, path, &agent_schema, flags, e))
		return -1;
	if (claim_file(f, agent, flags, e)) {
		agent_file_close(f);
		return -1;
	}
	return 0;
}

void agent_file_close(struct agent_file *f)
{
	sql_close(f->db);
	f->db = NULL;
}

int agent_file_epoch(struct agent_file *f, int64_t *out, struct err *e)
{
	struct meta_get_i64_row row = {0};

	if (sql_get(f->db, Q_META_GET_I64,
		    &(struct meta_get_i64_in){.key = "epoch"}, &row, NULL,
		    e) < 0)
		return -1;
	*out = row.value;
	return 0;
}

static int raise_epoch(struct agent_file *f, int64_t epoch, struct err *e)
{
	int64_t now;

	if (agent_file_epoch(f, &now, e))
		return -1;
	if (epoch <= now)
		return err_set(e, ERR_STALE,
			       "%s: epoch %" PRId64 " is not above %" PRId64,
			       sql_path(f->db), epoch, now);
	return sql_exec(f->db, Q_META_PUT_I64,
			&(struct meta_put_i64_in){"epoch", epoch}, e) < 0
		       ? -1
		       : 0;
}

int agent_file_set_epoch(struct agent_file *f, int64_t epoch, struct err *e)
{
	if (sql_enter(f->db, e))
		return -1;
	return sql_leave(f->db, raise_epoch(f, epoch, e), e);
}

static int change_owner(struct agent_file *f, const char *agent, struct err *e)
{
	int64_t epoch;

	return agent_file_epoch(f, &epoch, e) || raise_epoch(f, epoch + 1, e) ||
			       sql_exec(f->db, Q_META_PUT_TEXT,
					&(struct meta_put_text_in){"agent",
								   agent},
					e) < 0
		       ? -1
		       : 0;
}

int agent_file_set_owner(struct agent_file *f, const char *agent, struct err *e)
{
	if (text_check_name("agent", agent, e) || sql_enter(f->db, e) ||
	    sql_leave(f->db, change_owner(f, agent, e), e))
		return -1;
	text_fit(f->agent, sizeof f->agent, agent);
	return 0;
}
