#include "cli/demo/demo.h"

#include "lib/base/clock.h"
#include "lib/http/client.h"
#include "lib/json/json.h"
#include "lib/os/file.h"

#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TIME_LIMIT_MS 120000

static const char writer_steps[] =
	"[{\"event\":{\"type\":\"note\",\"text\":\"thinking\"},\"repeat\":40,"
	"\"every_ms\":60},"
	"{\"text\":\"Here is what I found out, word by word, as a model would "
	"say it.\",\"chunks\":14,\"every_ms\":60},"
	"{\"tool\":{\"name\":\"search\",\"input\":{\"q\":\"bees\"},\"output\":"
	"{\"hits\":3}},\"ms\":400},"
	"{\"usage\":{\"input_tokens\":120,\"output_tokens\":40,\"cost_micros\":"
	"900}},"
	"{\"event\":{\"type\":\"note\",\"text\":\"writing\"},\"repeat\":20,"
	"\"every_ms\":50}]";

/* A command that counts, and writes a file to its workspace. */
static const char exec_config[] =
	"{\"shell\":\"for i in $(seq 1 60); do echo "
	"'{\\\"type\\\":\\\"note\\\",\\\"n\\\":'$i'}'; sleep 0.06; done; "
	"echo $SKEP_RUN_ID > $SKEP_RUN_ID.txt\",\"stdin\":\"none\"}";

/* Commands in a mounted workspace run one at a time, so these use the disk:
 * all runs of the demo must be active at once. */
const struct demo_agent demo_agents[DEMO_AGENTS] = {
	{"ada", "script", "disk", NULL, writer_steps, 60},
	{"bob", "exec", "disk", exec_config, "count", 60},
	{"cleo", "script", "vfs-scratch", NULL, writer_steps, 60},
	{"dan", "exec", "disk", exec_config, "count", 60},
	{"eve", "script", "disk", NULL, writer_steps, 60},
	{"finn", "exec", "disk", exec_config, "count", 60},
	{"gus", "script", "vfs-only", NULL, writer_steps, 60},
	{"hana", "exec", "disk", exec_config, "count", 60},
};

const char *demo_workspace(int agent)
{
	return access("/dev/fuse", R_OK | W_OK) == 0
		       ? demo_agents[agent].workspace
		       : "disk";
}

static int remove_entry(const char *path, const struct stat *st, int kind,
			struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static int make_home(struct demo *d, struct err *e)
{
	char *made = d->home.root;

	snprintf(made, sizeof d->home.root, "/tmp/skep-demo-XXXXXX");
	if (!mkdtemp(made))
		return err_errno_set(e, "%s", made);
	return home_make(&d->home, e);
}

static void sleep_and_poll(struct demo *d, int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
	struct err ignored;

	nanosleep(&t, NULL);
	demo_poll(d, &ignored);
	demo_draw(d);
}

/* Continues to poll until this time after the start. */
static void watch_until(struct demo *d, int64_t ms)
{
	while (demo_ms(d) < ms && demo_over(d) < d->nruns)
		sleep_and_poll(d, 100);
}

static int cancel_some(struct demo *d, struct err *e)
{
	int64_t start = clock_mono_ns();
	int n = 0;

	for (int i = 0; i < d->nruns; i++) {
		char path[80];

		if (d->runs[i].fate != FATE_CANCEL)
			continue;
		snprintf(path, sizeof path, "/v1/runs/%s/cancel",
			 d->runs[i].id);
		if (demo_call(d, "POST", path, "{\"reason\":\"the demo\"}",
			      NULL, e) < 0)
			return -1;
		n++;
	}
	demo_print(d, "cancelling %d runs", n);
	for (int over = 0; over < n && demo_ms(d) < TIME_LIMIT_MS;) {
		sleep_and_poll(d, 5);
		over = 0;
		for (int i = 0; i < d->nruns; i++)
			over += d->runs[i].fate == FATE_CANCEL &&
				demo_is_over(&d->runs[i]);
	}
	d->cancel_ms = (clock_mono_ns() - start) / 1000000;
	demo_print(d, "cancelled after %lld ms, all their processes are gone",
		   (long long)d->cancel_ms);
	return 0;
}

static void kill_worker(struct demo *d)
{
	int64_t start;
	struct demo_run *r = NULL;

	for (int i = 0; i < d->nruns && !r; i++)
		if (d->runs[i].fate == FATE_FINISH &&
		    !strcmp(d->runs[i].state, "running") &&
		    d->runs[i].worker.pid > 0)
			r = &d->runs[i];
	if (!r)
		return;
	start = clock_mono_ns();
	r->fate = FATE_KILL;
	kill((pid_t)r->worker.pid, SIGKILL);
	demo_print(d, "killed a worker (pid %lld) with SIGKILL during its run",
		   (long long)r->worker.pid);
	while (r->attempt < 2 && !demo_is_over(r) && demo_ms(d) < TIME_LIMIT_MS)
		sleep_and_poll(d, 10);
	d->recover_ms = (clock_mono_ns() - start) / 1000000;
	demo_print(d,
		   "its second attempt began after %lld ms, including 200 ms "
		   "of back-off",
		   (long long)d->recover_ms);
}

static int64_t rss_kb(pid_t pid)
{
	char path[64], line[256];
	long kb = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	while (f && kb == 0 && fgets(line, sizeof line, f))
		(void)!sscanf(line, "VmRSS: %ld", &kb);
	if (f)
		(void)fclose(f);
	return kb;
}

static int count_adopted(struct demo *d)
{
	struct buf answer = BUF_MAX(1 << 20);
	struct err ignored;
	cJSON *v = NULL;
	int n = 0;

	if (demo_call(d, "GET", "/v1/health", NULL, &answer, &ignored) > 0)
		v = cJSON_ParseWithLength(answer.p, answer.n);
	n = (int)json_i64(v, "active", 0);
	cJSON_Delete(v);
	buf_fini(&answer);
	return n;
}

static int kill_supervisor(struct demo *d, struct err *e)
{
	int64_t start;

	d->supervisor_kb = rss_kb(d->skepd);
	if (demo_kill_supervisor(d, e))
		return -1;
	demo_print(d,
		   "killed the supervisor with SIGKILL; the workers continue");
	sleep_and_poll(d, 400);
	start = clock_mono_ns();
	if (demo_start(d, e))
		return -1;
	d->back_ms = (clock_mono_ns() - start) / 1000000;
	d->adopted = count_adopted(d);
	demo_print(d,
		   "a new supervisor was ready after %lld ms and adopted %lld "
		   "runs",
		   (long long)d->back_ms, (long long)d->adopted);
	return 0;
}

static int play(struct demo *d, struct err *e)
{
	if (demo_start(d, e))
		return -1;
	demo_print(d, "supervisor ready after %lld ms, home %s",
		   (long long)d->ready_ms, d->home.root);
	if (demo_make_agents(d, e) || demo_submit(d, e))
		return -1;
	demo_print(d, "%d runs of %d agents accepted in %lld ms", d->nruns,
		   DEMO_AGENTS, (long long)d->accepted_ms);
	if (demo_follow_begin(d, &d->runs[0], e))
		return -1;
	watch_until(d, demo_ms(d) + 1200);
	if (cancel_some(d, e))
		return -1;
	kill_worker(d);
	if (kill_supervisor(d, e))
		return -1;
	watch_until(d, TIME_LIMIT_MS);
	if (demo_over(d) < d->nruns)
		return err_set(e, ERR_TIMEOUT, "%d runs did not end",
			       d->nruns - demo_over(d));
	demo_print(d, "all runs have ended");
	return 0;
}

static int demo(struct cli *cli, struct err *e)
{
	struct demo *d = arena_alloc(&cli->arena, sizeof *d);
	int runs = cli_count(cli, "runs", 64);
	struct err later;
	int rc;

	if (runs < DEMO_AGENTS || runs > DEMO_RUNS)
		return err_set(e, ERR_USAGE, "--runs must be between %d and %d",
			       DEMO_AGENTS, DEMO_RUNS);
	d->cli = cli;
	d->nruns = runs;
	d->keep = cli_flag(cli, "keep");
	d->began_ns = clock_mono_ns();
	if (make_home(d, e))
		return -1;
	rc = play(d, e);
	if (demo_stop(d, rc ? &later : e))
		rc = -1;
	demo_follow_end(d);
	if (!rc)
		rc = demo_verify(d, e);
	http_client_close(d->http);
	if (rc || d->keep)
		fprintf(stderr, "the home of the demo is %s\n", d->home.root);
	else
		nftw(d->home.root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	return rc;
}

const struct command cmd_demo = {
	.name = "demo",
	.help = "demonstrate a supervisor under load in a temporary "
		"home",
	.about = "The demo starts eight agents and 64 concurrent "
		 "runs, cancels some, kills a worker and the "
		 "supervisor, and finally verifies that nothing was "
		 "lost, duplicated or left behind. The home is in "
		 "/tmp and is deleted afterwards.",
	.needs = NEEDS_NOTHING,
	.options = OPTIONS(
		OPTION(COUNT, 0, "runs", "N", "number of runs (default 64)"),
		FLAG(0, "keep", "keep the home")),
	.run = demo,
};
