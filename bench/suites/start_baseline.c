#include "bench/suites/start_baseline.h"

#include "lib/base/clock.h"
#include "lib/os/file.h"
#include "schema/agent/transcript/writer.h"

#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GIVE_UP INT64_C(5000000000)

int events_seen(struct sql *db, int64_t *out, struct err *e)
{
	return sql_script_i64(db, "SELECT count(*) FROM event", out, e);
}

int events_await(struct sql *db, int64_t before, struct err *e)
{
	int64_t end = clock_mono_ns() + GIVE_UP, now = before;
	struct timespec pause = {0, 20000};

	while (now == before) {
		if (events_seen(db, &now, e))
			return -1;
		if (clock_mono_ns() > end)
			return err_set(e, ERR_TIMEOUT, "no event came");
		if (now == before)
			nanosleep(&pause, NULL);
	}
	return 0;
}

/* The first steps of a worker, and nothing else. */
static int first_commit(const char *path, int number)
{
	struct id run = id_new(ID_RUN);
	struct writer_run who = {.run_id = run.text, .attempt = 1, .epoch = 1};
	struct event_new ev[2] = {
		{.type = "message", .body = "{}", .parent = WRITER_LEAF},
		{.type = "run_started", .body = "{}", .parent = WRITER_LEAF},
	};
	struct event_ref refs[2];
	struct agent_file f;
	struct writer w;
	char session[32];
	struct err e;

	snprintf(session, sizeof session, "s%d", number);
	return agent_file_open(&f, path, "floor", 0, &e) ||
	       writer_open(&w, &f, session, &who, &e) ||
	       writer_stream(&w, ev, 2, refs, &e);
}

static int start_one(const char *path, struct sql *db, int number,
		     struct histogram *wait, struct err *e)
{
	int64_t before, began;
	int status, rc;
	pid_t pid;

	if (events_seen(db, &before, e))
		return -1;
	began = clock_mono_ns();
	pid = fork();
	if (pid < 0)
		return err_errno_set(e, "fork");
	if (pid == 0)
		_exit(first_commit(path, number));
	rc = events_await(db, before, e);
	if (rc == 0)
		histogram_add(wait, clock_mono_ns() - began);
	if (waitpid(pid, &status, 0) == pid && status && rc == 0)
		rc = err_set(e, ERR_INTERNAL, "the floor's commit failed");
	return rc;
}

static int measure_program(struct bench_run *r, const char *path,
			   struct bench_sample *out, struct err *e)
{
	int64_t until = clock_mono_ns() + (int64_t)(bench_seconds(r) * 1e9);
	struct timespec gap = {0, 5000000};
	struct sql *db;
	int rc = sql_open(&db, path, NULL, SQL_READONLY, e);

	if (rc)
		return -1;
	while (rc == 0 && clock_mono_ns() < until && !bench_stopped(r)) {
		rc = start_one(path, db, (int)out->operations++, &out->wait, e);
		nanosleep(&gap, NULL);
	}
	sql_close(db);
	out->value = (double)histogram_at(&out->wait, 0.5) / 1e6;
	return rc;
}

int baseline_starts(struct bench_run *r, void *arg, struct bench_sample *out,
		    struct err *e)
{
	const char *dir = bench_dir(r, "floor");
	struct agent_file f;
	char path[700];
	int rc;

	(void)arg;
	snprintf(path, sizeof path, "%s/agent.sqlite", dir);
	rc = agent_file_open(&f, path, "floor", SQL_CREATE, e);
	if (rc == 0) {
		agent_file_close(&f);
		rc = measure_program(r, path, out, e);
	}
	bench_dir_remove(r, dir);
	return rc;
}
