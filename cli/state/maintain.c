#include "cli/state/ops_cli.h"

#include "lib/base/clock.h"
#include "lib/db/checkpoint.h"
#include "lib/json/json.h"
#include "lib/os/file.h"
#include "ops/maintain/batch.h"
#include "ops/maintain/wal_readers.h"
#include "schema/agent/gc.h"
#include "schema/control/registry.h"
#include "vfs/core/vfs.h"
#include "vfs/marker/marker_prune.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#define WAL_BYTES  (1 << 20) /* a longer WAL is truncated */
#define FREE_BYTES (1 << 20) /* more free space than this is returned … */
#define FREE_PART  4         /* … if it is at least a quarter of the file */
#define GC_MAX     2000
#define DEAD_MS    3600000
#define MS         1000000

#define TENDED(F, S)            \
	F(S, i64, files)        \
	F(S, i64, checkpointed) \
	F(S, i64, vacuumed)     \
	F(S, i64, freed)        \
	F(S, i64, longest_ms)   \
	F(S, i64, longest_cpu_ms)
SHAPE_DECLARE(tended, TENDED);
SHAPE_DEFINE(tended, TENDED);

struct job {
	int64_t since; /* files without changes since then are skipped */
	int64_t markers, marker_age;
	struct tended sum;
	struct wal_readers *readers;
};

static bool changed(const char *path, int64_t since)
{
	char wal[PATH_MAX + 8];
	struct stat st;

	snprintf(wal, sizeof wal, "%s-wal", path);
	if (stat(wal, &st) == 0 && st.st_mtim.tv_sec * 1000 >= since)
		return true;
	return stat(path, &st) == 0 && st.st_mtim.tv_sec * 1000 >= since;
}

static int give_back(struct job *j, struct sql *db, struct err *e)
{
	int64_t pages = 0, all = 0, size = 0, n;
	struct batch s = BATCH_BEGIN;

	if (sql_script_i64(db, "PRAGMA freelist_count", &pages, e) ||
	    sql_script_i64(db, "PRAGMA page_count", &all, e) ||
	    sql_script_i64(db, "PRAGMA page_size", &size, e))
		return -1;
	if (pages * size < FREE_BYTES || pages * FREE_PART < all)
		return 0;
	n = batch_vacuum(&s, db, pages, e);
	j->sum.vacuumed += n > 0;
	return n < 0 ? -1 : 0;
}

static int maintain_open(struct job *j, struct agent_file *f, struct err *e)
{
	struct sql_checkpoint_result r;
	char wal[PATH_MAX + 8];
	struct gc_result freed;

	snprintf(wal, sizeof wal, "%s-wal", sql_path(f->db));
	if (vfs_gc(f->db, e) < 0 || vfs_gc_contents(f->db, e) ||
	    marker_prune(f->db, j->markers, j->marker_age, e) < 0 ||
	    agent_gc(f, DEAD_MS, GC_MAX, &freed, e) || give_back(j, f->db, e))
		return -1;
	j->sum.freed += freed.chunks + freed.cached;
	if (file_size(wal) < WAL_BYTES)
		return 0;
	j->sum.checkpointed++;
	return sql_checkpoint(f->db, SQL_CHECKPOINT_TRUNCATE, 0, &r, e);
}

static void note_longest(struct job *j, struct sql_lock_time held)
{
	if (held.ns / MS > j->sum.longest_ms)
		j->sum.longest_ms = held.ns / MS;
	if (held.cpu_ns / MS > j->sum.longest_cpu_ms)
		j->sum.longest_cpu_ms = held.cpu_ns / MS;
}

static int maintain_file(struct cli *cli, const struct agent_database_row *row,
			 void *arg, struct err *e)
{
	struct job *j = arg;
	struct wal_reader *seen;
	struct agent_file f;
	int rc;

	if (!changed(row->path, j->since))
		return 0;
	(void)wal_readers_of(j->readers, row->path, &seen, &cli->arena);
	if (registry_open(row, 0, &f, e))
		return -1;
	j->sum.files++;
	sql_watch(f.db);
	rc = maintain_open(j, &f, e);
	note_longest(j, sql_longest(f.db));
	sql_keep_wal(f.db, WAL_BYTES);
	agent_file_close(&f);
	return rc;
}

static int maintain(struct cli *cli, struct err *e)
{
	struct job j = {.since = clock_now() -
				 cli_number(cli, "since", 3600000),
			.markers = cli->config.agent_markers,
			.marker_age = cli->config.agent_marker_age};
	struct home_path notes = home_path(&cli->home, HOME_READERS);
	struct buf detail = BUF_MAX(4096);
	struct err ignored;
	int rc;

	j.readers = wal_readers_scan(notes.text);
	rc = ops_each_file(cli, "maintaining", maintain_file, &j, e);
	(void)wal_readers_save(j.readers, &ignored);
	wal_readers_free(j.readers);
	output_object(&cli->out, &tended_shape, &j.sum);
	json_add_shape(&detail, &tended_shape, &j.sum);
	if (!rc && (j.sum.checkpointed || j.sum.vacuumed || j.sum.freed))
		rc = ops_audit(cli, "state.maintain", NULL, detail.p, e);
	buf_fini(&detail);
	return rc;
}

const struct command cmd_state_maintain = {
	.name = "state maintain",
	.help = "collect garbage, checkpoint and shrink recently "
		"used databases",
	.about = "skepd runs this command periodically. Unreachable "
		 "data is deleted, long write-ahead logs are "
		 "checkpointed, and free space is returned to the "
		 "file system, all in short transactions that do not "
		 "delay runs.",
	.needs = NEEDS_CONTROL_WRITE,
	.options = OPTIONS(
		OPTION(MILLIS, 0, "since", "TIME",
		       "maintain only databases changed within this time "
		       "(default 1h)"),
		OPT_AGENT("maintain only the database of this agent")),
	.run = maintain,
};
