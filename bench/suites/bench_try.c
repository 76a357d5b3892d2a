/* Experiments: many forks of a large workspace, and many runs in forks of one
 * agent, compared with runs in workspaces of their own. */
#include "bench/load/run_load.h"
#include "lib/base/clock.h"
#include "lib/db/checkpoint.h"
#include "lib/json/json.h"
#include "schema/agent/agent_file.h"
#include "vfs/core/path.h"
#include "vfs/core/vfs.h"
#include "vfs/snapshot/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define FORKS       100
#define PER_DIR     100
#define FORK_S      1.0
#define FORK_MB     20.0
#define RUNS_RATIO  1.3
#define GIVE_UP_S   300.0
#define SOURCE_NAME "main@start"

/* --- forks ---------------------------------------------------------------- */

struct forks {
	struct agent_file file;
	char path[700];
	int64_t files;
	int made; /* so far */
};

static int add_dir(struct vfs *v, int64_t dir, int64_t files, struct err *e)
{
	char name[64], text[128];

	for (int64_t i = 0; i < files; i++) {
		struct blob data = {text, sizeof text};
		struct vfs_put put = {.parents = true};

		memset(text, 'a' + (int)(i % 26), sizeof text);
		snprintf(name, sizeof name, "d%" PRId64 "/f%" PRId64, dir, i);
		if (vfs_write_file(v, name, data, &put, e))
			return -1;
	}
	return 0;
}

static int fill(struct forks *f, struct err *e)
{
	struct vfs *v;
	int rc;

	if (vfs_create(f->file.db, "main", NULL, e) ||
	    vfs_open(&v, f->file.db, "main", "bench", e))
		return -1;
	rc = vfs_begin(v, e);
	for (int64_t d = 0; rc == 0 && d * PER_DIR < f->files; d++)
		rc = add_dir(v, d, PER_DIR, e);
	if (rc == 0)
		rc = vfs_commit(v, e);
	if (rc == 0)
		rc = vfs_snapshot(v, "start", e);
	vfs_close(v);
	return rc;
}

/* Bytes of the file, without a log. */
static int size_of(struct forks *f, int64_t *out, struct err *e)
{
	struct sql_checkpoint_result ignored;
	struct stat st;

	if (sql_checkpoint(f->file.db, SQL_CHECKPOINT_TRUNCATE, 10000, &ignored,
			   e))
		return -1;
	if (stat(f->path, &st))
		return err_errno_set(e, "%s", f->path);
	*out = st.st_size;
	return 0;
}

/* The fork shows the files of its source. */
static int check_fork(struct forks *f, const char *name, struct err *e)
{
	struct buf text = BUF_MAX(1 << 20);
	struct vfs *v;
	int rc = vfs_open(&v, f->file.db, name, "bench", e);

	if (rc)
		return -1;
	rc = vfs_read_file(v, "d1/f3", &text, NULL, e);
	if (rc == 0 && (text.n != 128 || text.p[0] != 'a' + 3))
		rc = err_set(e, ERR_CORRUPT, "%s differs from its source",
			     name);
	vfs_close(v);
	buf_fini(&text);
	return rc;
}

static int fork_all(struct bench_run *r, void *arg, struct bench_sample *out,
		    struct err *e)
{
	struct forks *f = arg;
	int64_t before, after, began;
	char name[64];
	struct vfs *v;
	int rc = 0;

	(void)r;
	if (size_of(f, &before, e) ||
	    vfs_open(&v, f->file.db, SOURCE_NAME, "bench", e))
		return -1;
	began = clock_mono_ns();
	for (int i = 0; rc == 0 && i < FORKS; i++) {
		snprintf(name, sizeof name, "fork%d", f->made++);
		rc = vfs_fork(v, name, e);
	}
	out->value = (double)(clock_mono_ns() - began) / 1e9;
	vfs_close(v);
	out->operations = FORKS;
	if (rc || size_of(f, &after, e) || check_fork(f, name, e))
		return -1;
	out->more[0] = (double)(after - before) / 1e6;
	return 0;
}

static int measure_forks(struct bench_run *r, struct err *e)
{
	const char *dir = bench_dir(r, "try-forks");
	struct forks f = {.files = bench_option_i64(
				  r, "files", bench_is_quick(r) ? 500 : 10000)};
	struct bench_case one = {"100 forks", fork_all, &f};
	static struct bench_result res;
	int rc;

	snprintf(f.path, sizeof f.path, "%s/agent.sqlite", dir);
	if (agent_file_open(&f.file, f.path, "bench", SQL_CREATE, e))
		return -1;
	rc = fill(&f, e) ? -1 : bench_interleave(r, &one, 1, &res, e);
	agent_file_close(&f.file);
	bench_dir_remove(r, dir);
	if (rc || res.values.n == 0)
		return rc;
	bench_print(r,
		    "%d forks of a snapshot of a namespace with %" PRId64
		    " files. Targets: %g s and %g MB.",
		    FORKS, f.files, FORK_S, FORK_MB);
	bench_metric(r, &(struct bench_metric){.metric = "forks_s",
					       .unit = "s",
					       .samples = &res.values,
					       .less_is_better = true,
					       .against = "target",
					       .against_value = FORK_S});
	bench_metric(r, &(struct bench_metric){.metric = "forks_mb",
					       .unit = "MB",
					       .samples = &res.more[0],
					       .less_is_better = true,
					       .against = "target",
					       .against_value = FORK_MB});
	return 0;
}

/* --- runs ----------------------------------------------------------------- */

struct runs {
	struct run_load load;
	int64_t ended; /* before the next round */
	int count, round;
};

static const char definition[] =
	"{\"driver\":\"exec\",\"workspace\":\"vfs-only\",\"config\":{"
	"\"shell\":\"cat d/f1; echo out > out\",\"stdin\":\"none\"}}";

static int submit(struct runs *f, const char *agent, const char *workspace,
		  const char *command, struct err *e)
{
	struct buf body = BUF_MAX(1 << 16);
	int rc;

	json_begin_object(&body);
	json_put_text(&body, "agent", agent);
	json_put_text(&body, "prompt", "x");
	if (workspace) {
		json_put_text(&body, "workspace", workspace);
		json_put_text(&body, "fork_of", SOURCE_NAME);
	}
	if (command) {
		json_put_object(&body, "options");
		json_put_object(&body, "config");
		json_put_text(&body, "shell", command);
		json_end_object(&body);
		json_end_object(&body);
	}
	json_end_object(&body);
	rc = test_daemon_call(&f->load.daemon, "POST", "/v1/runs", body.p, NULL,
			      e);
	buf_fini(&body);
	return rc;
}

static int wait_all(struct runs *f, struct bench_run *r, int count,
		    struct err *e)
{
	int64_t got, want = f->ended + count, bad;

	if (run_load_until(
		    &f->load, r,
		    "SELECT count(*) FROM run WHERE ended_at IS NOT NULL", want,
		    GIVE_UP_S, &got, e) < 0 ||
	    run_load_number(&f->load, &bad, e,
			    "SELECT count(*) FROM run WHERE ended_at IS NOT "
			    "NULL AND state <> 'succeeded'"))
		return -1;
	f->ended = got;
	if (got < want && !bench_stopped(r))
		return err_set(e, ERR_TIMEOUT, "the runs do not end");
	return bad ? err_set(e, ERR_FAILED, "%" PRId64 " runs failed", bad) : 0;
}

/* As 'skep try' does. */
static int take_snapshot(struct runs *f, struct err *e)
{
	struct agent_file file;
	struct vfs *v;
	char path[800];
	int rc;

	snprintf(path, sizeof path, "%s/agents/source/agent.sqlite",
		 f->load.daemon.home);
	if (agent_file_open(&file, path, "source", 0, e))
		return -1;
	rc = vfs_open(&v, file.db, "main", "bench", e);
	if (rc == 0) {
		rc = vfs_snapshot(v, "start", e);
		vfs_close(v);
	}
	agent_file_close(&file);
	return rc;
}

/* Each agent, and the source of the forks, gets a hundred files. */
static int prepare_agents(struct runs *f, struct bench_run *r, struct err *e)
{
	static const char make[] =
		"mkdir -p d; for i in $(seq 100); do echo text > d/f$i; done";
	char name[32], path[64];

	for (int i = 0; i <= f->count; i++) {
		snprintf(name, sizeof name, i ? "own%d" : "source", i);
		snprintf(path, sizeof path, "/v1/agents/%s", name);
		if (test_daemon_call(&f->load.daemon, "PUT", path, definition,
				     NULL, e) ||
		    submit(f, name, NULL, make, e))
			return -1;
	}
	return wait_all(f, r, f->count + 1, e) ? -1 : take_snapshot(f, e);
}

static int run_own(struct bench_run *r, void *arg, struct bench_sample *out,
		   struct err *e)
{
	struct runs *f = arg;
	int64_t began = clock_mono_ns();
	char name[32];

	for (int i = 1; i <= f->count; i++) {
		snprintf(name, sizeof name, "own%d", i);
		if (submit(f, name, NULL, NULL, e))
			return -1;
	}
	if (wait_all(f, r, f->count, e))
		return -1;
	out->operations = f->count;
	out->value = (double)(clock_mono_ns() - began) / 1e9;
	return 0;
}

static int run_forks(struct bench_run *r, void *arg, struct bench_sample *out,
		     struct err *e)
{
	struct runs *f = arg;
	int64_t began = clock_mono_ns();
	char name[64];

	f->round++;
	for (int i = 1; i <= f->count; i++) {
		snprintf(name, sizeof name, "try%d-%d", f->round, i);
		if (submit(f, "source", name, NULL, e))
			return -1;
	}
	if (wait_all(f, r, f->count, e))
		return -1;
	out->operations = f->count;
	out->value = (double)(clock_mono_ns() - began) / 1e9;
	return 0;
}

static int measure_runs(struct bench_run *r, struct err *e)
{
	const char *dir = bench_dir(r, "try-runs");
	struct runs f = {.count = bench_is_quick(r) ? 10 : FORKS};
	struct bench_case cases[] = {{"own agents", run_own, &f},
				     {"forks of one agent", run_forks, &f}};
	static struct bench_result res[2];
	int rc;

	if (run_load_start(&f.load, dir, 0, 16, e))
		return -1;
	rc = prepare_agents(&f, r, e) ? -1
				      : bench_interleave(r, cases, 2, res, e);
	run_load_stop(&f.load);
	bench_dir_remove(r, dir);
	if (rc || res[0].values.n == 0 || res[1].values.n == 0)
		return rc;
	bench_print(r,
		    "%d exec runs, at most 16 at once: each in the workspace "
		    "of its own agent, or each in its own fork of the "
		    "workspace of one agent. Target: at most %g times the "
		    "time.",
		    f.count, RUNS_RATIO);
	bench_metric(r, &(struct bench_metric){.metric = "runs_own_s",
					       .unit = "s",
					       .samples = &res[0].values,
					       .less_is_better = true});
	bench_metric(r,
		     &(struct bench_metric){
			     .metric = "runs_forks_s",
			     .unit = "s",
			     .samples = &res[1].values,
			     .less_is_better = true,
			     .against = "1.3 x own agents",
			     .against_value = RUNS_RATIO *
					      samples_median(&res[0].values)});
	return 0;
}

static int run_try(struct bench_run *r, struct err *e)
{
	return measure_forks(r, e) ? -1 : measure_runs(r, e);
}

const struct bench bench_try = {
	.name = "try",
	.help = "100 forks of a workspace, and 100 runs in forks of one agent",
	.about = "Forks a namespace of 10,000 files 100 times, then starts 100 "
		 "exec runs in forks of one\nagent and 100 in workspaces of "
		 "their own agents. Targets: 1 s, 20 MB, 1.3 times the time.",
	.seconds = 1,
	.rounds = 3,
	.options =
		(const struct bench_option[]){
			{"files", "N", "files of the namespace (10,000)"}, {0}},
	.run = run_try,
};
