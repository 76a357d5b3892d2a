/* A whole run: from the request to the row with its final state, and the same
 * with `skep run --wait`, with a table of where the time goes. */
#include "bench/load/run_load.h"
#include "bench/suites/marks.h"
#include "bench/suites/turnaround_baseline.h"
#include "lib/base/clock.h"
#include "lib/os/program_path.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TABLE      "where the time goes"
#define GIVE_UP    INT64_C(30000000000)
#define TARGET_MS  8
#define COMMAND_MS 20
#define REST_MS    40

static const char definition[] =
	"{\"driver\":\"exec\",\"config\":{\"command\":[\"/bin/true\"],"
	"\"stdin\":\"none\"}}";

/* Between two runs: preforked workers are started, and the namespaces of the
 * previous run are torn down; otherwise both would be part of the next run. */
static void rest(void)
{
	struct timespec pause = {0, REST_MS * 1000000};

	nanosleep(&pause, NULL);
}

static int run_once(struct run_load *f, struct histogram *wait, char id[64],
		    struct err *e)
{
	struct timespec pause = {0, 100000};
	int64_t began = clock_mono_ns(), over = 0;

	if (test_daemon_run(&f->daemon, "turn", "x", id, e))
		return -1;
	while (!over) {
		if (run_load_number(
			    f, &over, e,
			    "SELECT count(*) FROM run WHERE id = '%s' AND "
			    "ended_at IS NOT NULL",
			    id))
			return -1;
		if (clock_mono_ns() - began > GIVE_UP)
			return err_set(e, ERR_TIMEOUT, "%s does not end", id);
		if (!over)
			nanosleep(&pause, NULL);
	}
	histogram_add(wait, clock_mono_ns() - began);
	return 0;
}

static int by_request(struct bench_run *r, void *arg, struct bench_sample *out,
		      struct err *e)
{
	int64_t until = clock_mono_ns() + (int64_t)(bench_seconds(r) * 1e9);
	char id[64];

	do {
		if (run_once(arg, &out->wait, id, e))
			return -1;
		out->operations++;
		rest();
	} while (!bench_stopped(r) && clock_mono_ns() < until);
	out->value = (double)histogram_at(&out->wait, 0.5) / 1e6;
	return 0;
}

/* The program skep in the directory of skep-bench. It would write a line to
 * stderr for every run that ends without an answer; its exit status shows
 * whether it failed. */
static void become_skep(const char *home, const char *const *words)
{
	struct program_path path = program_path("skep");
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		_exit(127);
	setenv("SKEP_HOME", home, 1);
	dup2(null, 1);
	dup2(null, 2);
	execl(path.text, path.text, words[0], words[1], words[2], words[3],
	      (char *)NULL);
	_exit(127);
}

static int time_command(struct bench_run *r, const struct run_load *f,
			const char *const *words, struct bench_sample *out,
			struct err *e)
{
	int64_t until = clock_mono_ns() + (int64_t)(bench_seconds(r) * 1e9);

	do {
		int64_t began = clock_mono_ns();
		int status = -1;
		pid_t pid = fork();

		if (pid == 0)
			become_skep(f->daemon.home, words);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			return err_set(e, ERR_INTERNAL, "skep %s failed",
				       words[0]);
		histogram_add(&out->wait, clock_mono_ns() - began);
		out->operations++;
		rest();
	} while (!bench_stopped(r) && clock_mono_ns() < until);
	out->value = (double)histogram_at(&out->wait, 0.5) / 1e6;
	return 0;
}

static int by_command(struct bench_run *r, void *arg, struct bench_sample *out,
		      struct err *e)
{
	static const char *const words[] = {"run", "turn", "x", "--wait"};

	return time_command(r, arg, words, out, e);
}

static int command_alone(struct bench_run *r, void *arg,
			 struct bench_sample *out, struct err *e)
{
	static const char *const words[] = {"version", NULL, NULL, NULL};

	return time_command(r, arg, words, out, e);
}

static void print_one(struct bench_run *r, const char *name,
		      const struct bench_result *res, double target)
{
	char p50[64], p99[64];

	snprintf(p50, sizeof p50, "%s_ms_p50", name);
	snprintf(p99, sizeof p99, "%s_ms_p99", name);
	bench_metric(r, &(struct bench_metric){.metric = p50,
					       .unit = "ms",
					       .samples = &res->values,
					       .less_is_better = true,
					       .against = target > 0 ? "target"
								     : NULL,
					       .against_value = target});
	bench_metric(
		r,
		&(struct bench_metric){
			.metric = p99,
			.unit = "ms",
			.value = (double)histogram_at(&res->wait, 0.99) / 1e6,
			.less_is_better = true});
}

static void print_results(struct bench_run *r, const struct bench_result *res)
{
	marks_table(r, TABLE);
	print_one(r, "turnaround", &res[0], TARGET_MS);
	print_one(r, "run_wait", &res[1], COMMAND_MS);
	print_one(r, "skep_version", &res[2], 0);
}

static int measure_all(struct bench_run *r, struct run_load *f, struct err *e)
{
	struct bench_case cases[] = {{"POST /v1/runs", by_request, f},
				     {"skep run --wait", by_command, f},
				     {"skep version", command_alone, f}};
	static struct bench_result res[3];

	if (test_daemon_call(&f->daemon, "PUT", "/v1/agents/turn", definition,
			     NULL, e) ||
	    bench_interleave(r, cases, 3, res, e))
		return -1;
	if (res[0].values.n == 0 || res[2].values.n == 0)
		return 0;
	bench_print(r,
		    "An exec agent /bin/true in the default sandbox, one run "
		    "after the other with 40 ms between them: from the "
		    "request to the terminal row, as another process reads "
		    "it. Targets: p50 of 8 ms, and of 20 ms for 'skep run "
		    "--wait'.");
	print_results(r, res);
	return 0;
}

static int run_turnaround(struct bench_run *r, struct err *e)
{
	const char *dir = bench_dir(r, "turnaround");
	struct run_load f;
	int rc;

	if (marks_begin(dir, e) || run_load_start(&f, dir, 1, 16, e)) {
		marks_end();
		return -1;
	}
	rc = turnaround_baseline(r, dir, e);
	if (rc == 0)
		rc = measure_all(r, &f, e);
	run_load_stop(&f);
	marks_end();
	bench_dir_remove(r, dir);
	return rc;
}

const struct bench bench_turnaround = {
	.name = "turnaround",
	.help = "a whole run of /bin/true, and where its time goes",
	.about = "Runs an exec agent /bin/true again and again, by HTTP and by "
		 "'skep run --wait', and\nshows the median of each step. "
		 "Targets: p50 of 8 ms and 20 ms.",
	.seconds = 3,
	.rounds = 3,
	.run = run_turnaround,
};
