#include "bench/suites/tree.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The operations, each in a loop for its time in a round. Data that is read is
 * compared with what was written. */

#define SMALL       1024
#define LARGE       65536
#define BIG_FILE    (16 << 20)
#define LARGE_FILES 100
#define BIG_NAME    "big"

static char data[LARGE];

struct pass { /* one operation on one side in one round */
	struct tree_side *s;
	int files; /* created at the start: "dN/fN" */
	unsigned seed;
	int first; /* of the files that this pass creates */
	int64_t n; /* done so far */
};

static void name_file(char *out, size_t room, const char *kind, int64_t i)
{
	snprintf(out, room, "d%d/%s%lld", (int)(i % TREE_DIRS), kind,
		 (long long)i);
}

/* Files of passes are in separate directories, so that the listed directories
 * have the same entries on every side, however many files a pass creates. */
static void name_made(char *out, size_t room, const char *kind, int64_t i)
{
	snprintf(out, room, "e%d/%s%lld", (int)(i % TREE_DIRS), kind,
		 (long long)i);
}

static int64_t any_file(struct pass *p)
{
	return rand_r(&p->seed) % p->files;
}

static int wrong(const char *what, struct err *e)
{
	return err_set(e, ERR_CORRUPT, "%s gave something else than was put",
		       what);
}

static int do_create(struct pass *p, struct err *e)
{
	char path[64];

	name_made(path, sizeof path, "c", p->s->made++);
	return p->s->kind->put(p->s->tree, path, data, SMALL, e);
}

static int do_read(struct pass *p, struct err *e)
{
	char path[64], got[SMALL];

	name_file(path, sizeof path, "f", any_file(p));
	if (p->s->kind->get(p->s->tree, path, got, SMALL, e))
		return -1;
	return memcmp(got, data, SMALL) ? wrong("read", e) : 0;
}

static int do_stat(struct pass *p, struct err *e)
{
	char path[64];
	int64_t size;

	name_file(path, sizeof path, "f", any_file(p));
	if (p->s->kind->stat(p->s->tree, path, &size, e))
		return -1;
	return size == SMALL ? 0 : wrong("stat", e);
}

static int do_readdir(struct pass *p, struct err *e)
{
	char path[64];
	int n;

	snprintf(path, sizeof path, "d%d", rand_r(&p->seed) % TREE_DIRS);
	if (p->s->kind->list(p->s->tree, path, &n, e))
		return -1;
	return n == p->files / TREE_DIRS + LARGE_FILES / TREE_DIRS
		       ? 0
		       : wrong("readdir", e);
}

static int do_write64k(struct pass *p, struct err *e)
{
	char path[64];

	name_made(path, sizeof path, "w", p->s->made++);
	return p->s->kind->put(p->s->tree, path, data, LARGE, e);
}

static int do_read64k(struct pass *p, struct err *e)
{
	static char got[LARGE];
	char path[64];

	name_file(path, sizeof path, "l", rand_r(&p->seed) % LARGE_FILES);
	if (p->s->kind->get(p->s->tree, path, got, LARGE, e))
		return -1;
	return memcmp(got, data, LARGE) ? wrong("read", e) : 0;
}

static int do_overwrite(struct pass *p, struct err *e)
{
	int64_t at = rand_r(&p->seed) % (BIG_FILE / 4096) * 4096;

	return p->s->kind->patch(p->s->tree, BIG_NAME, at, data, 4096, e);
}

static int do_rename(struct pass *p, struct err *e)
{
	int64_t i = p->n / 2 % p->files;
	char a[64], b[64];

	name_file(a, sizeof a, "f", i);
	name_file(b, sizeof b, "r", i);
	return p->n % 2 ? p->s->kind->move(p->s->tree, b, a, e)
			: p->s->kind->move(p->s->tree, a, b, e);
}

/* There and back, so that every file has its name again. */
static int undo_rename(struct pass *p, struct err *e)
{
	return p->n % 2 ? do_rename(p, e) : 0;
}

static int make_doomed(struct pass *p, struct err *e)
{
	char path[64];

	if (p->s->kind->begin(p->s->tree, e))
		return -1;
	p->first = p->s->made;
	for (int i = 0; i < 1000; i++) {
		name_made(path, sizeof path, "x", p->s->made++);
		if (p->s->kind->put(p->s->tree, path, data, SMALL, e))
			return -1;
	}
	return p->s->kind->end(p->s->tree, e);
}

static int do_delete(struct pass *p, struct err *e)
{
	char path[64];

	name_made(path, sizeof path, "x", p->first + p->n);
	return p->s->kind->remove(p->s->tree, path, e);
}

static const struct {
	const char *metric;
	int (*before)(struct pass *p, struct err *e);
	int (*once)(struct pass *p, struct err *e);
	int (*after)(struct pass *p, struct err *e);
	int64_t max; /* repetitions per pass; 0: as time permits */
} operations[] = {
	{"create_us", NULL, do_create, NULL, 20000},
	{"read_us", NULL, do_read, NULL, 0},
	{"stat_us", NULL, do_stat, NULL, 0},
	{"readdir_us", NULL, do_readdir, NULL, 0},
	{"write64k_us", NULL, do_write64k, NULL, 1000},
	{"read64k_us", NULL, do_read64k, NULL, 0},
	{"overwrite4k_us", NULL, do_overwrite, NULL, 0},
	{"rename_us", NULL, do_rename, undo_rename, 0},
	{"delete_us", make_doomed, do_delete, NULL, 1000},
};
#define OPERATIONS (sizeof operations / sizeof operations[0])

struct arg {
	struct tree_side *s;
	size_t op;
	int files;
	unsigned seed;
};

static int measure_side(struct bench_run *r, void *varg,
			struct bench_sample *out, struct err *e)
{
	struct arg *a = varg;
	struct tree_pass t = {.metric = operations[a->op].metric,
			      .seconds = bench_seconds(r)};
	struct pass p = {.s = a->s, .files = a->files, .seed = a->seed++};
	int64_t max = operations[a->op].max ? operations[a->op].max : INT64_MAX;
	int64_t begin, now, end;

	if (a->s->timed) {
		t.max = max;
		if (a->s->timed(a->s, &t, e))
			return -1;
		out->operations = t.n;
		out->value = t.us;
		return 0;
	}
	if (operations[a->op].before && operations[a->op].before(&p, e))
		return -1;
	begin = now = clock_mono_ns();
	end = begin + (int64_t)(bench_seconds(r) * 1e9);
	while (now < end && p.n < max && !bench_stopped(r)) {
		if (operations[a->op].once(&p, e))
			return -1;
		p.n++;
		now = clock_mono_ns();
	}
	out->operations = p.n;
	out->value = (double)(now - begin) / 1e3 / (double)(p.n ? p.n : 1);
	return operations[a->op].after ? operations[a->op].after(&p, e) : 0;
}

static int fill_tree(struct bench_run *r, struct tree_side *s, int files,
		     struct err *e)
{
	const struct tree_kind *k = s->kind;
	char path[64];

	if (k->open(&s->tree, s->dir, e) || k->begin(s->tree, e))
		return -1;
	for (int i = 0; i < TREE_DIRS; i++) {
		snprintf(path, sizeof path, "d%d", i);
		if (k->mkdir(s->tree, path, e))
			return -1;
		path[0] = 'e';
		if (k->mkdir(s->tree, path, e))
			return -1;
	}
	for (int i = 0; i < files; i++) {
		name_file(path, sizeof path, "f", i);
		if (k->put(s->tree, path, data, SMALL, e))
			return -1;
		bench_progress(r, s->name, i, files);
	}
	for (int i = 0; i < LARGE_FILES; i++) {
		name_file(path, sizeof path, "l", i);
		if (k->put(s->tree, path, data, LARGE, e))
			return -1;
	}
	if (k->put(s->tree, BIG_NAME, data, LARGE, e))
		return -1;
	for (int64_t off = 0; off < BIG_FILE; off += LARGE)
		if (k->patch(s->tree, BIG_NAME, off, data, LARGE, e))
			return -1;
	return k->end(s->tree, e);
}

static void state(struct bench_run *r, const char *prefix, size_t op,
		  const struct bench_result *res, size_t n)
{
	char name[64];

	snprintf(name, sizeof name, "%s%s", prefix, operations[op].metric);
	for (size_t i = 1; i < n; i++)
		if (res[i].values.n && res[0].values.n)
			bench_metric(r, &(struct bench_metric){
						.metric = name,
						.unit = "µs",
						.samples = &res[0].values,
						.less_is_better = true,
						.against = res[i].name,
						.against_value = samples_median(
							&res[i].values)});
	tree_targets(r, name, res, n);
	for (size_t i = 0; i < n; i++)
		if (res[i].values.n)
			bench_table(r, "one operation each",
				    "%s|%s|%.2f µs|±%.2f",
				    operations[op].metric, res[i].name,
				    samples_median(&res[i].values),
				    samples_spread(&res[i].values));
}

#define SIDES_MAX 4

int tree_files(const struct bench_run *r)
{
	return bench_is_quick(r) ? 500 : 10000;
}

int tree_bench(struct bench_run *r, struct tree_side *sides, size_t n,
	       const char *prefix, struct err *e)
{
	int files = tree_files(r), rc = 0;
	unsigned seed = 1;

	for (size_t i = 0; i < sizeof data; i++) /* halves under LZ4 */
		data[i] = (char)(i % 64 < 32 ? rand_r(&seed) : 'a');
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = sides[i].timed ? 0 : fill_tree(r, &sides[i], files, e);
	bench_table(r, "one operation each", "operation|where|time|spread");
	for (size_t op = 0; rc == 0 && op < OPERATIONS; op++) {
		static struct bench_result res[SIDES_MAX];
		struct bench_case cases[SIDES_MAX];
		struct arg args[SIDES_MAX];

		memset(res, 0, sizeof res);
		for (size_t i = 0; i < n; i++) {
			args[i] = (struct arg){&sides[i], op, files, 1};
			cases[i] = (struct bench_case){sides[i].name,
						       measure_side, &args[i]};
		}
		rc = bench_interleave(r, cases, n, res, e);
		if (rc == 0)
			state(r, prefix, op, res, n);
	}
	for (size_t i = 0; i < n; i++)
		if (sides[i].stop)
			sides[i].stop(&sides[i]);
		else if (sides[i].tree)
			sides[i].kind->close(sides[i].tree);
	return rc;
}
