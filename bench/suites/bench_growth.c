/* How the cost of an operation grows with the amount of data: the exponent of
 * the fit is 0 for a constant cost and 1 for a linear one. */
#include "bench/bench.h"
#include "bench/suites/growth.h"
#include "lib/base/clock.h"
#include "lib/db/checkpoint.h"
#include "lib/db/sql.h"
#include "vfs/core/vfs.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SIZES_MAX      8
#define OPERATIONS_MAX 64
#define REPEATS        5
#define LONG_MS        2000 /* once is enough */
#define NOTHING_MS     0.05 /* smaller costs do not count */
#define NOTHING_STEPS  1000
#define NOTHING_PAGES  100

static const struct growth_part *const parts[] = {&growth_history, &growth_tree,
						  &growth_directory};

struct cost {
	/* CPU time; steps of SQLite's virtual machine; pages that it read and
	 * wrote */
	double ms, steps, pages;
};

struct measured {
	int64_t sizes[SIZES_MAX];
	int n;
	struct cost cost[SIZES_MAX][OPERATIONS_MAX];
};

static void end_world(struct growth_world *w)
{
	vfs_close(w->other);
	vfs_close(w->v);
	if (w->file.db)
		agent_file_close(&w->file);
	sql_close(w->control);
}

/* The log and the page cache that an operation leaves must not affect the next
 * one: a command starts without pages. */
static int begin_alone(struct growth_world *w, struct err *e)
{
	struct sql_checkpoint_result r;

	if (w->control && sql_script(w->control, "PRAGMA shrink_memory", e))
		return -1;
	if (!w->file.db)
		return 0;
	return sql_checkpoint(w->file.db, SQL_CHECKPOINT_TRUNCATE, 1000, &r,
			      e) ||
			       sql_script(w->file.db, "PRAGMA shrink_memory", e)
		       ? -1
		       : 0;
}

static struct cost least(struct cost a, struct cost b)
{
	return (struct cost){fmin(a.ms, b.ms), fmin(a.steps, b.steps),
			     fmin(a.pages, b.pages)};
}

static int64_t steps_of(const struct growth_world *w)
{
	return (w->file.db ? sql_steps(w->file.db) : 0) +
	       (w->control ? sql_steps(w->control) : 0);
}

static int64_t pages_of(const struct growth_world *w)
{
	return (w->file.db ? sql_pages(w->file.db) : 0) +
	       (w->control ? sql_pages(w->control) : 0);
}

/* A command that has written copies its log when it closes the file. Without
 * this, an operation that writes less than a whole log costs nothing for it, and
 * a larger one does. */
static int copy_log(struct growth_world *w, struct err *e)
{
	struct sql_checkpoint_result r;
	char path[4096];
	struct stat st;

	if (!w->file.db)
		return 0;
	snprintf(path, sizeof path, "%s-wal", sql_path(w->file.db));
	if (stat(path, &st) || st.st_size == 0)
		return 0;
	return sql_checkpoint(w->file.db, SQL_CHECKPOINT_TRUNCATE, 1000, &r, e);
}

/* The minimum of several times. */
static int measure_growth(struct growth_world *w,
			  const struct growth_operation *op, struct cost *cost,
			  struct err *e)
{
	if (op->prepare && op->prepare(w, e))
		return err_wrap(e, "before %s", op->name);
	for (int k = 0; k < (op->repeat ? REPEATS : 1); k++) {
		struct cost spent;
		int64_t since;

		if (begin_alone(w, e))
			return -1;
		since = clock_cpu_ns();
		(void)steps_of(w);
		(void)pages_of(w);
		if (op->call(w, e) || copy_log(w, e))
			return err_wrap(e, "%s", op->name);
		spent.ms = (double)(clock_cpu_ns() - since) / 1e6;
		spent.steps = (double)steps_of(w);
		spent.pages = (double)pages_of(w);
		*cost = least(*cost, spent);
		if (spent.ms > LONG_MS)
			break;
	}
	return 0;
}

static int measure_size(struct bench_run *r, const struct growth_part *part,
			int64_t n, struct cost *cost, struct err *e)
{
	struct growth_world w = {.dir = bench_dir(r, "growth"),
				 .n = n,
				 .per_dir = part->per_dir ? part->per_dir : n};
	int rc = part->make(&w, e), count = 0;

	while (part->operations[count].name)
		count++;
	for (int i = 0; i < count && rc == 0 && !bench_stopped(r); i++) {
		char what[128];

		snprintf(what, sizeof what, "%s, %" PRId64 ": %s", part->name,
			 n, part->operations[i].name);
		bench_progress(r, what, i, count);
		rc = measure_growth(&w, &part->operations[i], &cost[i], e);
	}
	end_world(&w);
	bench_dir_remove(r, w.dir);
	return rc;
}

/* --- the report --------------------------------------------------------- */

/* The slope of the line through log n and log cost: of the member at this
 * offset, where less than `nothing` does not count. */
static double exponent(const struct measured *m, int i, size_t member,
		       double nothing)
{
	double sx = 0, sy = 0, sxx = 0, sxy = 0, p;

	for (int k = 0; k < m->n; k++) {
		const char *cost = (const char *)&m->cost[k][i];
		double x = log((double)m->sizes[k]);
		double y = log(fmax(*(const double *)(cost + member), nothing));

		sx += x, sy += y, sxx += x * x, sxy += x * y;
	}
	p = m->n < 2 ? 0 : (m->n * sxy - sx * sy) / (m->n * sxx - sx * sx);
	return fmax(p, 0.01);
}

/* The factor for ten times as many, between the last two sizes. */
static double times(const struct measured *m, int i)
{
	int k = m->n - 1;
	double grown, per_ten;

	if (k < 1)
		return 1;
	grown = fmax(m->cost[k][i].ms, NOTHING_MS) /
		fmax(m->cost[k - 1][i].ms, NOTHING_MS);
	per_ten = log(10) / log((double)m->sizes[k] / (double)m->sizes[k - 1]);
	return pow(grown, per_ten);
}

static void print_exponent(struct bench_run *r, const char *what,
			   const struct growth_part *part,
			   const struct growth_operation *op, double value)
{
	char name[160];

	snprintf(name, sizeof name, "%s: %s: %s", what, part->name, op->name);
	bench_metric(r, &(struct bench_metric){.metric = name,
					       .unit = "",
					       .value = value,
					       .less_is_better = true,
					       .against = "target",
					       .against_value = op->most});
}

static void print_operation(struct bench_run *r, const struct growth_part *part,
			    const struct measured *m, int i)
{
	const struct growth_operation *op = &part->operations[i];
	double ms = exponent(m, i, offsetof(struct cost, ms), NOTHING_MS);
	double steps = exponent(m, i, offsetof(struct cost, steps),
				NOTHING_STEPS);
	double pages = exponent(m, i, offsetof(struct cost, pages),
				NOTHING_PAGES);
	struct buf row = BUF_MAX(4096);

	buf_adds(&row, op->name);
	for (int k = 0; k < m->n; k++)
		buf_addf(&row, "|%.2f", m->cost[k][i].ms);
	bench_table(r, part->about, "%s|%.1f|%.2f|%.2f|%.2f|%.2f", row.p,
		    times(m, i), ms, steps, pages, op->most);
	buf_fini(&row);
	print_exponent(r, "exponent", part, op, ms);
	print_exponent(r, "exponent of steps", part, op, steps);
	print_exponent(r, "exponent of pages", part, op, pages);
}

static void print_part(struct bench_run *r, const struct growth_part *part,
		       const struct measured *m)
{
	struct buf head = BUF_MAX(4096);

	buf_adds(&head, "operation, CPU ms at");
	for (int k = 0; k < m->n; k++)
		buf_addf(&head, "|%" PRId64, m->sizes[k]);
	bench_table(r, part->about,
		    "%s|10 × n|exponent|of steps|of pages|allowed", head.p);
	buf_fini(&head);
	for (int i = 0; part->operations[i].name; i++)
		print_operation(r, part, m, i);
}

static int read_sizes(struct bench_run *r, struct measured *m, struct err *e)
{
	const char *given = bench_option(r, "sizes");
	int n = 0;

	while (given && *given && n < SIZES_MAX) {
		char *end;

		m->sizes[n] = strtoll(given, &end, 10);
		if (m->sizes[n++] < 100 || (*end && *end != ','))
			return err_set(e, ERR_USAGE,
				       "--sizes: numbers of at least 100, "
				       "separated by commas");
		given = *end ? end + 1 : end;
	}
	if (n)
		m->n = n;
	return 0;
}

static int measure_part(struct bench_run *r, const struct growth_part *part,
			struct measured *m, struct err *e)
{
	for (int k = 0; k < m->n; k++)
		for (int i = 0; i < OPERATIONS_MAX; i++)
			m->cost[k][i] = (struct cost){INFINITY, INFINITY,
						      INFINITY};
	for (int round = 0; round < bench_rounds(r); round++)
		for (int k = 0; k < m->n && !bench_stopped(r); k++)
			if (measure_size(r, part, m->sizes[k], m->cost[k], e))
				return -1;
	if (!bench_stopped(r))
		print_part(r, part, m);
	return 0;
}

static int run_growth(struct bench_run *r, struct err *e)
{
	const char *only = bench_option(r, "part");
	static struct measured m;
	bool known = !only;

	m = (struct measured){.sizes = {1000, 10000, 100000}, .n = 3};
	if (bench_is_quick(r))
		m = (struct measured){.sizes = {100, 300}, .n = 2};
	if (read_sizes(r, &m, e))
		return -1;
	bench_print(
		r,
		"CPU time of this thread, the least of the rounds. Exponent "
		"of the fit: 0 is constant, 1 is linear; also of the "
		"steps of SQLite's virtual machine, and of the pages that it "
		"reads and writes. \"10 × n\": factor "
		"for ten times as many, from the last two sizes.");
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		if (only && strcmp(only, parts[i]->name) != 0)
			continue;
		known = true;
		if (measure_part(r, parts[i], &m, e))
			return -1;
	}
	return known ? 0
		     : err_set(e, ERR_USAGE,
			       "--part: history, tree or directory");
}

const struct bench bench_growth = {
	.name = "growth",
	.help = "how costs grow with the amount of data: sizes, operations, "
		"exponent",
	.about = "Measures lists, searches and every operation on files at "
		 "several sizes and fits\nan exponent. --sizes "
		 "10000,100000,1000000 takes half an hour.",
	.options =
		(const struct bench_option[]){
			{"sizes", "N,…", "sizes (1000,10000,100000)"},
			{"part", "history|tree|directory", "only this part"},
			{0}},
	.seconds = 1,
	.rounds = 1,
	.run = run_growth,
};
