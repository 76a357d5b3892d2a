/* Growth with the history: n runs, and n events of one session. */
#include "bench/suites/growth.h"
#include "lib/db/migrate.h"
#include "schema/agent/search/search.h"
#include "schema/agent/transcript/session.h"
#include "schema/agent/transcript/tail.h"
#include "schema/agent_queries.h"
#include "schema/control/lists.h"
#include "schema/control_queries.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- the control plane -------------------------------------------------- */

static int read_list(struct growth_world *w, const struct run_filter *filter,
		     struct err *e)
{
	struct run_row row;
	struct lists it;

	if (lists_open(&it, w->control, LISTS_RUNS, filter, e))
		return -1;
	while (lists_next(&it, &row))
		;
	return lists_close(&it, e);
}

static int runs_by_state(struct growth_world *w, struct err *e)
{
	return read_list(w,
			 &(struct run_filter){.state = "failed",
					      .before = "~",
					      .count = 100},
			 e);
}

static int runs_by_tag(struct growth_world *w, struct err *e)
{
	return read_list(w,
			 &(struct run_filter){.tag = "rare",
					      .state = "failed",
					      .before = "~",
					      .count = 100},
			 e);
}

static int runs_of_session(struct growth_world *w, struct err *e)
{
	return read_list(w,
			 &(struct run_filter){.agent = "a1",
					      .session = "s1",
					      .state = "failed",
					      .before = "~",
					      .count = 100},
			 e);
}

/* --- a transcript -------------------------------------------------------- */

static int ignore(void *arg, const struct tail *t, const struct tail_item *item)
{
	(void)arg, (void)t, (void)item;
	return 0;
}

static int events_of_a_run(struct growth_world *w, struct err *e)
{
	struct tail_options want = {"long", "run_00000000000000000000000001",
				    NULL};
	struct tail *t;
	int rc;

	if (tail_open(&t, &want, e))
		return -1;
	do
		rc = tail_read(t, &w->file, ignore, NULL, e);
	while (rc > 0);
	tail_close(t);
	return rc;
}

static int search_word(struct growth_world *w, const char *word, struct err *e)
{
	struct search s = {.query = word};
	struct search_hit *hits;
	struct arena a = {0};
	int n = search_run(&w->file, &s, &hits, &a, e);

	arena_fini(&a);
	return n < 0 ? -1 : 0;
}

static int search_first(struct growth_world *w, struct err *e)
{
	return search_word(w, "rare", e);
}

static int search_common(struct growth_world *w, struct err *e)
{
	return search_word(w, "common", e);
}

static int search_four(struct growth_world *w, struct err *e)
{
	return search_word(w, "the common word number", e);
}

static int search_rare(struct growth_world *w, struct err *e)
{
	return search_word(w, "rare", e);
}

/* --- the rows ------------------------------------------------------------ */

static int script(struct sql *db, int64_t n, const char *text, struct err *e)
{
	struct buf b = BUF_MAX(8192);
	int rc;

	buf_addf(&b,
		 "BEGIN;CREATE TEMP TABLE n AS WITH RECURSIVE n (i) AS (SELECT "
		 "1 UNION ALL SELECT i + 1 FROM n WHERE i < %" PRId64
		 ") SELECT i FROM n;",
		 n);
	buf_adds(&b, text);
	buf_adds(&b, ";DROP TABLE n;COMMIT");
	rc = sql_script(db, b.p, e);
	buf_fini(&b);
	return rc;
}

static const char runs[] =
	"INSERT INTO reason (code, description) VALUES ('x', 'x');"
	"INSERT INTO run (id, agent, session, state, reason, backoff_ms, "
	"grace_ms, tags, submitted_by, created_at, ended_at) SELECT "
	"printf('run_%026d', i), 'a' || (i % 5), 's' || (i % 3), CASE i WHEN 1 "
	"THEN 'failed' ELSE 'succeeded' END, 'x', 1, 1, CASE i WHEN 1 THEN "
	"'[\"rare\"]' ELSE '[\"often\"]' END, 'b', i, i FROM n";

/* Run 1 wrote the last two events. */
static const char events[] =
	"INSERT INTO session (id, sid, key, created_at, updated_at) VALUES (1, "
	"'ses_00000000000000000000000001', 'long', 1, 1);"
	"INSERT INTO event (pos, type, at, run, body) SELECT (1 << 32) | i, 2, "
	"i, CASE WHEN i > (SELECT max(i) FROM n) - 2 THEN 1 END, "
	"json_object('role', 'user', 'text', 'the common word and number ' || "
	"i || CASE i "
	"WHEN 7 THEN ' rare' ELSE '' END) FROM n;"
	"INSERT INTO run (id, run_id, session, attempt, epoch, status, "
	"started_at, after_seq) SELECT 1, 'run_00000000000000000000000001', 1, "
	"1, 1, 'succeeded', 1, max(i) - 2 FROM n";

static int make_history(struct growth_world *w, struct err *e)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/control.sqlite", w->dir);
	if (db_open(&w->control, path, &control_schema, SQL_CREATE, e) ||
	    script(w->control, w->n, runs, e))
		return -1;
	snprintf(path, sizeof path, "%s/agent.sqlite", w->dir);
	return agent_file_open(&w->file, path, "a", SQL_CREATE, e) ||
			       script(w->file.db, w->n, events, e)
		       ? -1
		       : 0;
}

static const struct growth_operation operations[] = {
	{"runs?state=failed", NULL, runs_by_state, true, GROWTH_FLAT},
	{"runs?tag=rare&state=failed", NULL, runs_by_tag, true, GROWTH_FLAT},
	{"runs?agent&session&state", NULL, runs_of_session, true, GROWTH_FLAT},
	{"events of one run", NULL, events_of_a_run, true, GROWTH_FLAT},
	{"first search: the index", NULL, search_first, false, GROWTH_LINEAR},
	{"search, a common word", NULL, search_common, true, 0.8},
	{"search, four common words", NULL, search_four, true, 0.8},
	{"search, a rare word", NULL, search_rare, true, GROWTH_FLAT},
	{0},
};

const struct growth_part growth_history = {
	.name = "history",
	.about = "n runs in the control plane and n events of one session",
	.make = make_history,
	.operations = operations,
};
