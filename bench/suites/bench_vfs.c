/* The VFS library beside plain SQLite in C, and its forks, snapshots and
 * imports. */
#include "bench/bench.h"
#include "bench/peers/node.h"
#include "bench/suites/tree.h"
#include "lib/base/clock.h"
#include "lib/db/checkpoint.h"
#include "lib/db/sql.h"
#include "lib/os/file.h"
#include "schema/agent_queries.h"
#include "vfs/core/path.h"
#include "vfs/core/vfs.h"
#include "vfs/snapshot/snapshot.h"
#include "vfs/transfer/transfer.h"

#include <stdio.h>
#include <time.h>

#define FILES      10000
#define TREE_FILES 5890

static double ms_since(int64_t begin)
{
	return (double)(clock_mono_ns() - begin) / 1e6;
}

/* Of this process; wall-clock time depends on other load. */
static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int fill_namespace(struct vfs *v, int files, struct err *e)
{
	char path[64];
	static const char text[1024] = "some content";

	if (vfs_begin(v, e))
		return -1;
	for (int i = 0; i < files; i++) {
		struct vfs_put how = {.parents = i < 100};

		snprintf(path, sizeof path, "d%d/f%d", i % 100, i);
		if (vfs_write_file(v, path, (struct blob){text, sizeof text},
				   &how, e))
			return -1;
	}
	return vfs_commit(v, e);
}

static int forks(struct bench_run *r, struct vfs *v, struct sql *db,
		 struct err *e)
{
	struct samples fork = {0}, cpu = {0}, snap = {0};

	for (int i = 0; i < bench_rounds(r) && !bench_stopped(r); i++) {
		int64_t begin = clock_mono_ns();
		double before = cpu_ms();

		if (vfs_fork(v, "fork", e))
			return -1;
		samples_add(&fork, ms_since(begin));
		samples_add(&cpu, cpu_ms() - before);
		if (vfs_destroy(db, "fork", e))
			return -1;
		begin = clock_mono_ns();
		if (vfs_snapshot(v, "s", e))
			return -1;
		samples_add(&snap, ms_since(begin));
		if (vfs_snapshot_drop(v, "s", e))
			return -1;
	}
	tree_limit(r, "fork_ms", "ms", samples_median(&fork), 40);
	tree_limit(r, "fork_cpu_ms", "ms", samples_median(&cpu), 40);
	tree_limit(r, "snapshot_ms", "ms", samples_median(&snap), 1);
	return 0;
}

struct imported {
	struct samples seconds, cpu;
	double mb;
	struct vfs_transfer port;
};

static int import_once(const char *tree, const char *dir, struct imported *out,
		       struct err *e)
{
	struct sql_checkpoint_result done;
	struct sql *db;
	struct vfs *v;
	char path[4096];
	int64_t begin;
	double cpu;
	int rc;

	snprintf(path, sizeof path, "%s/agent.sqlite", dir);
	if (db_open(&db, path, &agent_schema, SQL_CREATE, e) ||
	    vfs_create(db, "main", NULL, e) ||
	    vfs_open(&v, db, "main", "bench", e))
		return -1;
	begin = clock_mono_ns();
	cpu = cpu_ms();
	rc = vfs_import_dir(v, tree, &out->port, e);
	samples_add(&out->seconds, ms_since(begin) / 1e3);
	samples_add(&out->cpu, (cpu_ms() - cpu) / 1e3);
	if (rc == 0)
		rc = sql_checkpoint(db, SQL_CHECKPOINT_TRUNCATE, 0, &done, e);
	out->mb = (double)file_size(path) / 1e6;
	vfs_close(v);
	sql_close(db);
	return rc;
}

/* A source tree: the time of the import, and the size of the file. */
static int import(struct bench_run *r, struct err *e)
{
	const char *tree = bench_option(r, "tree");
	struct imported got = {0};

	if (!tree) {
		tree = bench_dir(r, "tree");
		bench_progress(r, "making a source tree", 0, 1);
		if (tree_make(tree, bench_is_quick(r) ? 300 : TREE_FILES, e))
			return -1;
	}
	for (int i = 0; i < bench_rounds(r) && !bench_stopped(r); i++) {
		const char *dir = bench_dir(r, "import");

		bench_progress(r, "importing a tree", i, bench_rounds(r));
		if (import_once(tree, dir, &got, e))
			return -1;
		bench_dir_remove(r, dir);
	}
	tree_limit(r, "tree_import_s", "s", samples_median(&got.seconds), 0.3);
	tree_limit(r, "tree_import_cpu_s", "s", samples_median(&got.cpu), 0.3);
	tree_limit(r, "tree_mb", "MB", got.mb, 16);
	bench_print(r, "The tree has %lld nodes and %.1f MB of contents.",
		    (long long)got.port.nodes, (double)got.port.bytes / 1e6);
	return 0;
}

/* A short pass downloads nothing. */
static bool add_agentfs(struct bench_run *r, struct tree_side *s)
{
	struct err e = {0};
	int rc = 0;

	bench_progress(r, "starting AgentFS", 0, 1);
	if (!bench_is_quick(r))
		rc = node_fetch("agentfs-sdk", &e);
	if (rc == 0)
		rc = tree_agentfs(s, tree_files(r), &e);
	if (rc)
		bench_print(r, "agentfs was left out: %s.", e.text);
	return rc == 0;
}

static int operations(struct bench_run *r, struct err *e)
{
	struct tree_side sides[] = {
		{.name = "ours", .kind = &tree_ours},
		{.name = "sqlite", .kind = &tree_sqlite},
		{.name = "agentfs"},
	};

	sides[0].dir = bench_dir(r, "ours");
	sides[1].dir = bench_dir(r, "sqlite");
	sides[2].dir = bench_dir(r, "agentfs");
	return tree_bench(r, sides, add_agentfs(r, &sides[2]) ? 3 : 2, "", e);
}

static int run_vfs(struct bench_run *r, struct err *e)
{
	const char *dir = bench_dir(r, "forks");
	struct sql *db;
	struct vfs *v;
	char path[4096];

	if (operations(r, e))
		return -1;
	snprintf(path, sizeof path, "%s/agent.sqlite", dir);
	if (db_open(&db, path, &agent_schema, SQL_CREATE, e) ||
	    vfs_create(db, "main", NULL, e) ||
	    vfs_open(&v, db, "main", "bench", e) ||
	    fill_namespace(v, bench_is_quick(r) ? 500 : FILES, e) ||
	    forks(r, v, db, e))
		return -1;
	vfs_close(v);
	sql_close(db);
	return import(r, e);
}

const struct bench bench_vfs = {
	.name = "vfs",
	.help = "files in the database: the library beside plain SQLite",
	.about = "1 KiB files, 10,000 of them in 100 directories, one commit "
		 "for each operation, beside a plain\nSQLite program with a "
		 "good schema that does nothing else. Both commit without "
		 "waiting for the disk\n(synchronous=NORMAL); AgentFS's SDK "
		 "keeps its default. Then forks and snapshots of 10,000\n"
		 "files, and the import of a tree of the host.",
	.options =
		(const struct bench_option[]){
			{"tree", "DIR",
			 "import this tree instead of a made one"},
			{0}},
	.seconds = 0.3,
	.rounds = 5,
	.run = run_vfs,
};
