#include "schema/control/channel/run_deliveries.h"

#include "lib/base/text.h"
#include "lib/json/json.h"
#include "schema/agent_queries.h"
#include "schema/control/registry.h"

#include <stdio.h>
#include <string.h>

#define SOURCES_MAX 10000

void delivery_source(char out[static DELIVERY_SOURCE], const char *agent,
		     int64_t outbox_id, int64_t created_at)
{
	snprintf(out, DELIVERY_SOURCE, "%s/%lld/%lld", agent,
		 (long long)outbox_id, (long long)created_at);
}

static int list_sources(struct agent_file *file, const char *run, int64_t count,
			const char **json, struct arena *a, struct err *e)
{
	struct outbox_of_run_in in = {
		.reply = arena_printf(a, OUTBOX_KEY_REPLY, run),
		.first = arena_printf(a, OUTBOX_KEY_EXEC, run, ""),
		.count = count,
	};
	char *end = arena_text(a, in.first);
	struct outbox_of_run_row row;
	struct buf list = BUF_MAX(SOURCES_MAX * (DELIVERY_SOURCE + 4));
	struct sql_rows it;
	int rc;

	end[strlen(end) - 1]++; /* after all that begin with it */
	in.end = end;
	it = sql_rows(file->db, Q_OUTBOX_OF_RUN, &in);
	json_begin_array(&list);
	while (sql_next(&it, &row)) {
		char source[DELIVERY_SOURCE];

		delivery_source(source, file->agent, row.id, row.created_at);
		json_add_text(&list, source);
	}
	json_end_array(&list);
	rc = sql_end(&it, e) || buf_ok(&list, "the sources", e) ? -1 : 0;
	if (rc == 0)
		*json = arena_text(a, list.p);
	buf_fini(&list);
	return rc;
}

int run_deliveries(struct sql *control, struct agent_file *file,
		   const char *run, const char **json, struct arena *a,
		   struct err *e)
{
	struct delivery_briefs_in in;
	struct delivery_briefs_row row;

	if (list_sources(file, run, RUN_DELIVERIES, &in.sources, a, e) ||
	    sql_get(control, Q_DELIVERY_BRIEFS, &in, &row, a, e) < 0)
		return -1;
	*json = row.items;
	return 0;
}

/* Returns 1, 0 if the agent has no file, or -1. */
static int open_agent_file(struct sql *control, const char *agent,
			   struct agent_file *file, struct arena *a,
			   struct err *e)
{
	struct agent_database_row row;
	int found = registry_find(control, agent, &row, a, e);

	if (found == 1)
		found = registry_open(&row, SQL_READONLY, file, e) ? -1 : 1;
	return found;
}

int run_deliveries_of(struct sql *control, const struct run_row *run,
		      const char **json, struct arena *a, struct err *e)
{
	struct agent_file file;
	int rc = open_agent_file(control, run->agent, &file, a, e);

	*json = "[]";
	if (rc != 1)
		return rc;
	rc = run_deliveries(control, &file, run->id, json, a, e);
	agent_file_close(&file);
	return rc;
}

const char *run_deliveries_note(const struct err *why, struct arena *a)
{
	return arena_printf(a, "its deliveries cannot be read: %s", why->text);
}

int run_sources(struct sql *control, const char *run, const char **json,
		struct arena *a, struct err *e)
{
	struct run_row row;
	struct agent_file file;
	int rc = sql_get(control, Q_RUN_GET, &(struct run_get_in){run}, &row, a,
			 e);

	if (rc == 0)
		return err_set(e, ERR_NOTFOUND, "there is no run %s",
			       quoted(run).text);
	*json = "[]";
	if (rc == 1)
		rc = open_agent_file(control, row.agent, &file, a, e);
	if (rc != 1)
		return rc;
	rc = list_sources(&file, run, SOURCES_MAX, json, a, e);
	agent_file_close(&file);
	return rc;
}
