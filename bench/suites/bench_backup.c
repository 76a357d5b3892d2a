/* The cost of a backup for runs that write meanwhile. */
#include "bench/load/run_load.h"
#include "lib/base/clock.h"
#include "lib/os/program_path.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AGENTS 8

static const char script[] =
	"[{\"event\":{\"type\":\"note\",\"text\":\"a line of a few words, as "
	"agents write them all the time while they work\"},\"repeat\":"
	"1000000000,\"every_ms\":1}]";

static const char written[] =
	"SELECT sum(coalesce((SELECT e.pos & 4294967295 FROM event e WHERE "
	"e.pos BETWEEN s.id << 32 AND s.id << 32 | 4294967295 ORDER BY e.pos "
	"DESC LIMIT 1), 0)) FROM session s";

struct plan {
	int writers;
	bool backups;
};

enum { BACKUPS, SECONDS_EACH }; /* of bench_sample.more */

/* Events in all files, as another process reads them. */
static int count_events(struct run_load *f, int64_t *out, struct err *e)
{
	*out = 0;
	for (int i = 0; i < f->agents; i++) {
		struct sql *db;
		int64_t n = 0;
		int rc;

		if (run_load_agent_open(f, i, &db, e))
			return -1;
		rc = sql_script_i64(db, written, &n, e);
		sql_close(db);
		if (rc)
			return -1;
		*out += n;
	}
	return 0;
}

/* One `skep backup create`, until its end or that of the measurement. */
static int back_up(const struct run_load *f, const char *dir, int64_t until,
		   bool *done, struct err *e)
{
	struct program_path program = program_path("skep");
	char out[1100], home[600];
	char *argv[] = {program.text,
			(char[]){"--home"},
			home,
			(char[]){"backup"},
			(char[]){"create"},
			(char[]){"-o"},
			out,
			NULL};
	struct timespec pause = {0, 2000000};
	posix_spawn_file_actions_t quiet;
	pid_t pid;
	int rc, status = 0;

	snprintf(home, sizeof home, "%s", f->daemon.home);
	snprintf(out, sizeof out, "%s/backup.tar", dir);
	unlink(out);
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null",
					 O_WRONLY, 0);
	rc = posix_spawn(&pid, program.text, &quiet, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&quiet);
	if (rc)
		return err_set(e, ERR_UNSUPPORTED, "%s: %s", program.text,
			       strerror(rc));
	*done = true;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (clock_mono_ns() > until) {
			*done = false;
			kill(pid, SIGTERM); /* our child, not reaped yet */
			waitpid(pid, NULL, 0);
			return 0;
		}
		nanosleep(&pause, NULL);
	}
	return status ? err_set(e, ERR_INTERNAL, "a backup failed") : 0;
}

static int back_up_under_load(struct bench_run *r, struct run_load *f,
			      const struct plan *p, const char *dir,
			      struct bench_sample *out, struct err *e)
{
	int64_t before, after, began, until;
	struct timespec pause = {0, 5000000};
	int rc = 0;

	if (count_events(f, &before, e))
		return -1;
	began = clock_mono_ns();
	until = began + (int64_t)(bench_seconds(r) * 1e9);
	while (rc == 0 && clock_mono_ns() < until && !bench_stopped(r)) {
		int64_t start = clock_mono_ns();
		bool done = false;

		if (p->backups)
			rc = back_up(f, dir, until, &done, e);
		else
			nanosleep(&pause, NULL);
		out->more[BACKUPS] += done;
		if (done)
			out->more[SECONDS_EACH] = (double)(clock_mono_ns() -
							   start) /
						  1e9;
	}
	if (rc || count_events(f, &after, e))
		return -1;
	out->operations = after - before;
	out->value = (double)(after - before) * 1e9 /
		     (double)(clock_mono_ns() - began);
	return 0;
}

static int measure_backup(struct bench_run *r, void *arg,
			  struct bench_sample *out, struct err *e)
{
	const struct plan *p = arg;
	const char *dir = bench_dir(r, "backup");
	struct run_load f;
	int64_t got;
	int rc = run_load_start(&f, dir,
				p->writers < AGENTS ? p->writers : AGENTS,
				p->writers + 16, e);

	if (rc)
		return -1;
	for (int i = 0; i < p->writers && rc == 0; i++)
		rc = run_load_submit(&f, i, script, NULL, e);
	if (rc == 0 && run_load_until(&f, r,
				      "SELECT count(*) FROM run WHERE state = "
				      "'running'",
				      p->writers, 60, &got, e) != 1)
		rc = err_set(e, ERR_TIMEOUT, "not all runs are up");
	if (rc == 0)
		rc = back_up_under_load(r, &f, p, dir, out, e);
	run_load_stop(&f);
	bench_dir_remove(r, dir);
	return rc;
}

static int run_backup(struct bench_run *r, struct err *e)
{
	int n = (int)bench_option_i64(r, "writers", bench_is_quick(r) ? 4 : 32);
	struct plan plans[] = {{n, false}, {n, true}};
	struct bench_case cases[] = {
		{"alone", measure_backup, &plans[0]},
		{"beside backups", measure_backup, &plans[1]}};
	static struct bench_result res[2];

	if (bench_interleave(r, cases, 2, res, e))
		return -1;
	if (res[0].values.n == 0 || res[1].values.n == 0)
		return 0;
	bench_print(
		r,
		"%d runs of %d agents write an event every millisecond or as "
		"fast as they can, beside one backup after the other.",
		n, AGENTS);
	bench_metric(r, &(struct bench_metric){.metric = "writes_beside_backup",
					       .unit = "events/s",
					       .samples = &res[1].values,
					       .against = "alone",
					       .against_value = samples_median(
						       &res[0].values)});
	bench_metric(
		r, &(struct bench_metric){.metric = "backup_seconds",
					  .unit = "s",
					  .samples = &res[1].more[SECONDS_EACH],
					  .less_is_better = true});
	return 0;
}

const struct bench bench_backup = {
	.name = "backup",
	.help = "what backups cost the runs that write meanwhile",
	.about = "Starts skepd and --writers runs that write all the time; "
		 "counts their events for a while, once\nalone and once beside "
		 "'skep backup create', again and again. The aim is at least "
		 "0.9 of the\nevents.",
	.options = (const struct bench_option[]){{"writers", "N",
						  "runs that write; 32"},
						 {0}},
	.seconds = 5,
	.rounds = 3,
	.run = run_backup,
};
