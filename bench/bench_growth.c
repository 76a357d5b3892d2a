/* How the cost of an operation grows with what there is: the exponent of the fit
 * is 0 for a cost that stays, 1 for one that is linear. */
#include "base/clock.h"
#include "bench/bench.h"
#include "db/migrate.h"
#include "schema/agent_file.h"
#include "schema/agent_queries.h"
#include "schema/control_queries.h"
#include "schema/lists.h"
#include "schema/search.h"
#include "schema/session.h"
#include "schema/tail.h"
#include "vfs/path.h"
#include "vfs/snap.h"
#include "vfs/text.h"
#include "vfs/vfs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE     "cost by size"
#define SIZES_MAX 8
#define REPEATS   5

/* What the operations of one size work on. */
struct world {
	const char *dir;
	int64_t n;
	struct sql *control;
	struct agent_file file;
	struct vfs *v;
};

typedef int operation(struct world *w, struct err *e);

/* --- operations on the control plane ---------------------------------- */

static int read_list(struct world *w, const struct run_filter *filter,
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

static int runs_by_state(struct world *w, struct err *e)
{
	return read_list(w,
			 &(struct run_filter){.state = "failed",
					      .before = "~",
					      .count = 100},
			 e);
}

static int runs_by_tag(struct world *w, struct err *e)
{
	return read_list(w,
			 &(struct run_filter){.tag = "rare",
					      .state = "failed",
					      .before = "~",
					      .count = 100},
			 e);
}

static int runs_of_session(struct world *w, struct err *e)
{
	return read_list(w,
			 &(struct run_filter){.agent = "a1",
					      .session = "s1",
					      .state = "failed",
					      .before = "~",
					      .count = 100},
			 e);
}

/* --- on a transcript --------------------------------------------------- */

static int ignore(void *arg, const struct tail *t, const struct tail_item *item)
{
	(void)arg, (void)t, (void)item;
	return 0;
}

static int events_of_a_run(struct world *w, struct err *e)
{
	struct tail_want want = {"long", "run_00000000000000000000000001",
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

static int search(struct world *w, const char *word, struct err *e)
{
	struct search s = {.query = word};
	struct search_hit *hits;
	struct arena a = {0};
	int n = search_run(&w->file, &s, &hits, &a, e);

	arena_fini(&a);
	return n < 0 ? -1 : 0;
}

static int search_first(struct world *w, struct err *e)
{
	return search(w, "rare", e);
}

static int search_common(struct world *w, struct err *e)
{
	return search(w, "common", e);
}

static int search_rare(struct world *w, struct err *e)
{
	return search(w, "rare", e);
}

/* --- on files: one directory has them all ------------------------------ */

static int create_files(struct world *w, struct err *e)
{
	char path[64], text[128];
	int rc = 0;

	for (int64_t i = 0; i < w->n && rc == 0; i++) {
		int n = snprintf(text, sizeof text,
				 "common words of file %" PRId64 " and %" PRId64
				 "\n",
				 i, i * 7919 % w->n);

		snprintf(path, sizeof path, "/d/f%" PRId64, i);
		if (i % 1000 == 0)
			rc = i && vfs_commit(w->v, e) ? -1 : vfs_begin(w->v, e);
		if (rc == 0)
			rc = vfs_write_file(w->v, path,
					    (struct blob){text, (size_t)n},
					    NULL, e);
	}
	return rc ? -1 : vfs_commit(w->v, e);
}

static int look_up_files(struct world *w, struct err *e)
{
	struct buf b = BUF_MAX(1 << 20);
	char path[64];
	int rc = 0;

	for (int64_t i = 0; i < w->n && rc == 0; i++) {
		snprintf(path, sizeof path, "/d/f%" PRId64, i);
		buf_clear(&b);
		rc = vfs_read_file(w->v, path, &b, NULL, e);
	}
	buf_fini(&b);
	return rc;
}

static int index_files(struct world *w, struct err *e)
{
	return vfs_text_update(w->v, NULL, e) < 0 ? -1 : 0;
}

static int search_files(struct world *w, struct err *e)
{
	struct vfs_text t = {.query = "common"};
	struct vfs_text_hit *hits;
	struct arena a = {0};
	int n = vfs_text_search(w->v, &t, &hits, &a, e);

	arena_fini(&a);
	return n < 0 ? -1 : 0;
}

static int take_snapshot(struct world *w, struct err *e)
{
	return vfs_snapshot(w->v, "s", e);
}

static int fork_files(struct world *w, struct err *e)
{
	return vfs_fork(w->v, "fork", e);
}

static const struct {
	const char *name;
	operation *call;
	bool once;   /* it changes what it works on */
	double most; /* exponent that is allowed */
} operations[] = {
	{"runs?state=failed", runs_by_state, false, 0.3},
	{"runs?tag=rare&state=failed", runs_by_tag, false, 0.3},
	{"runs?agent&session&state", runs_of_session, false, 0.3},
	{"events of one run", events_of_a_run, false, 0.3},
	{"first search: the index", search_first, true, 1.05},
	{"search, a common word", search_common, false, 0.8},
	{"search, a rare word", search_rare, false, 0.3},
	{"create files in one directory", create_files, true, 1.05},
	{"read all files by name", look_up_files, false, 1.05},
	{"first search of files: the index", index_files, true, 1.05},
	{"search of files, a common word", search_files, false, 1.05},
	{"snapshot", take_snapshot, true, 1.05},
	{"fork", fork_files, true, 1.05},
};

#define OPERATIONS (sizeof operations / sizeof operations[0])

/* --- a world of one size ------------------------------------------------ */

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
	"INSERT INTO reason (code, word) VALUES ('x', 'x');"
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
	"json_object('role', 'user', 'text', 'the common word ' || i || CASE i "
	"WHEN 7 THEN ' rare' ELSE '' END) FROM n;"
	"INSERT INTO run (id, run_id, session, attempt, epoch, status, "
	"started_at, after_seq) SELECT 1, 'run_00000000000000000000000001', 1, "
	"1, 1, 'succeeded', 1, max(i) - 2 FROM n";

static int make_world(struct world *w, struct err *e)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/control.sqlite", w->dir);
	if (db_open(&w->control, path, &control_schema, SQL_CREATE, e) ||
	    script(w->control, w->n, runs, e))
		return -1;
	snprintf(path, sizeof path, "%s/agent.sqlite", w->dir);
	if (agent_file_open(&w->file, path, "a", SQL_CREATE, e) ||
	    script(w->file.db, w->n, events, e) ||
	    vfs_create(w->file.db, "main", NULL, e) ||
	    vfs_open(&w->v, w->file.db, "main", "bench", e))
		return -1;
	return vfs_mkdir(w->v, "/d", 0755, false, e);
}

static void end_world(struct world *w)
{
	vfs_close(w->v);
	if (w->file.db)
		agent_file_close(&w->file);
	sql_close(w->control);
}

/* CPU time in ms: the least of some. */
static int time_operation(struct world *w, size_t i, double *ms, struct err *e)
{
	*ms = INFINITY;
	for (int k = 0; k < (operations[i].once ? 1 : REPEATS); k++) {
		int64_t since = clock_cpu_ns();
		double spent;

		if (operations[i].call(w, e))
			return err_wrap(e, "%s", operations[i].name);
		spent = (double)(clock_cpu_ns() - since) / 1e6;
		*ms = spent < *ms ? spent : *ms;
	}
	return 0;
}

static int measure_size(struct bench_run *r, int64_t n, double *ms,
			struct err *e)
{
	struct world w = {.dir = bench_dir(r, "growth"), .n = n};
	const size_t count = OPERATIONS;
	int rc = make_world(&w, e);

	for (size_t i = 0; i < count && rc == 0 && !bench_stopped(r); i++) {
		bench_progress(r, operations[i].name, (double)i, (double)count);
		rc = time_operation(&w, i, &ms[i], e);
	}
	end_world(&w);
	bench_dir_remove(r, w.dir);
	return rc;
}

/* --- the report --------------------------------------------------------- */

/* The slope of the straight line through log n and log ms. What takes less than
 * 50 µs is as good as nothing. */
static double exponent(const int64_t *sizes, double (*ms)[OPERATIONS], int n,
		       size_t i)
{
	double sx = 0, sy = 0, sxx = 0, sxy = 0, p;

	for (int k = 0; k < n; k++) {
		double x = log((double)sizes[k]);
		double y = log(ms[k][i] > 0.05 ? ms[k][i] : 0.05);

		sx += x, sy += y, sxx += x * x, sxy += x * y;
	}
	p = n < 2 ? 0 : (n * sxy - sx * sy) / (n * sxx - sx * sx);
	return p > 0.01 ? p : 0.01;
}

static void say(struct bench_run *r, const int64_t *sizes,
		double (*ms)[OPERATIONS], int n)
{
	struct buf row = BUF_MAX(4096);

	buf_adds(&row, "operation, CPU ms at");
	for (int k = 0; k < n; k++)
		buf_addf(&row, "|%" PRId64, sizes[k]);
	bench_table(r, TABLE, "%s|exponent|allowed", row.p);
	for (size_t i = 0; i < OPERATIONS; i++) {
		double p = exponent(sizes, ms, n, i);
		char name[96];

		buf_clear(&row);
		buf_adds(&row, operations[i].name);
		for (int k = 0; k < n; k++)
			buf_addf(&row, "|%.2f", ms[k][i]);
		bench_table(r, TABLE, "%s|%.2f|%.2f", row.p, p,
			    operations[i].most);
		snprintf(name, sizeof name, "exponent: %s", operations[i].name);
		bench_metric(r, &(struct bench_metric){
					.metric = name,
					.unit = "",
					.value = p,
					.less_is_better = true,
					.against = "target",
					.against_value = operations[i].most});
	}
	buf_fini(&row);
}

static int run(struct bench_run *r, struct err *e)
{
	int64_t sizes[SIZES_MAX] = {1000, 10000, 100000};
	const char *given = bench_option(r, "sizes");
	static double ms[SIZES_MAX][OPERATIONS];
	int n = bench_is_quick(r) ? 2 : 3;

	if (bench_is_quick(r))
		sizes[0] = 200, sizes[1] = 1000;
	for (int k = 0; given && *given && k < SIZES_MAX; n = ++k) {
		char *end;

		sizes[k] = strtoll(given, &end, 10);
		if (sizes[k] < 100 || (*end && *end != ','))
			return err_set(e, ERR_USAGE,
				       "--sizes: numbers from 100 on, divided "
				       "by commas");
		given = *end ? end + 1 : end;
	}
	for (int k = 0; k < n && !bench_stopped(r); k++)
		if (measure_size(r, sizes[k], ms[k], e))
			return -1;
	if (bench_stopped(r))
		return 0;
	bench_say(r, "n runs, n events of one session and n files in one "
		     "directory; CPU time of this thread. The exponent of the "
		     "fit: 0 stays, 1 is linear.");
	say(r, sizes, ms, n);
	return 0;
}

const struct bench bench_growth = {
	.name = "growth",
	.help = "how costs grow with the history: sizes, operations, exponent",
	.about = "Measures lists, searches and file operations at several "
		 "sizes and fits an exponent.\n--sizes 10000,100000,1000000 "
		 "takes minutes.",
	.options = (const struct bench_option[]){{"sizes", "N,…",
						  "sizes (1000,10000,100000)"},
						 {0}},
	.seconds = 1,
	.rounds = 1,
	.run = run,
};
