#include "schema/langgraph/langgraph.h"

#include "lib/base/text.h"

/*
 * The tables are created by LangGraph, so the queries on them are a separate
 * set, with a separate connection: the set of the agent file can be prepared on
 * every file. Returns 1 with *out open, 0 without the tables.
 */
static int open_tables(struct sql *agent_db, unsigned flags, struct sql **out,
		       struct err *e)
{
	int64_t tables;

	if (sql_script_i64(agent_db,
			   "SELECT count(*) FROM sqlite_schema "
			   "WHERE type = 'table' "
			   "AND name IN ('checkpoints', 'writes')",
			   &tables, e))
		return -1;
	if (tables < 2)
		return 0;
	return sql_open(out, sql_path(agent_db), langgraph_schema.queries,
			flags, e)
		       ? -1
		       : 1;
}

int langgraph_stats(struct sql *agent_db, struct langgraph_stats *out,
		    struct err *e)
{
	struct langgraph_sum_row row = {0};
	struct sql *db = NULL;
	int rc = open_tables(agent_db, SQL_READONLY, &db, e);

	if (rc > 0)
		rc = sql_get(db, Q_LANGGRAPH_SUM, NULL, &row, NULL, e);
	sql_close(db);
	*out = (struct langgraph_stats){row.threads, row.checkpoints,
					row.writes, row.bytes};
	return rc < 0 ? -1 : 0;
}

int langgraph_threads(struct sql *agent_db, const char *after, int max,
		      struct langgraph_thread_row **rows, struct arena *a,
		      struct err *e)
{
	struct langgraph_thread_list_in in = {after ? after : "", max};
	struct sql *db = NULL;
	int rc = open_tables(agent_db, SQL_READONLY, &db, e);

	*rows = NULL;
	if (rc > 0)
		rc = sql_collect(db, Q_LANGGRAPH_THREAD_LIST, &in, max, rows, a,
				 e);
	sql_close(db);
	return rc;
}

static int prune(struct sql *db, const char *thread, int keep, struct err *e)
{
	int gone = sql_exec(
		db, Q_LANGGRAPH_PRUNE_CHECKPOINTS,
		&(struct langgraph_prune_checkpoints_in){thread, keep}, e);

	if (gone < 0 ||
	    sql_exec(db, Q_LANGGRAPH_PRUNE_WRITES,
		     &(struct langgraph_prune_writes_in){thread}, e) < 0)
		return -1;
	return gone;
}

int langgraph_prune(struct sql *agent_db, const char *thread, int keep,
		    struct err *e)
{
	struct sql *db = NULL;
	int rc;

	if (keep < 0)
		return err_set(e, ERR_USAGE,
			       "cannot keep %d checkpoints of thread '%s'",
			       keep, quoted(thread).text);
	rc = open_tables(agent_db, 0, &db, e);
	if (rc > 0)
		rc = sql_enter(db, e)
			     ? -1
			     : sql_leave(db, prune(db, thread, keep, e), e);
	sql_close(db);
	return rc;
}
