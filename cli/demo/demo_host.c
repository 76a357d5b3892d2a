#include "cli/demo/demo.h"

#include "lib/base/clock.h"
#include "lib/http/client.h"
#include "lib/json/json.h"
#include "lib/os/file.h"
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

#define READY_WAIT_MS 10000

int64_t demo_ms(const struct demo *d)
{
	return (clock_mono_ns() - d->began_ns) / 1000000;
}

static void nap(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&t, NULL);
}

static int spawn_skepd(struct demo *d, struct err *e)
{
	struct program_path skepd = program_path("skepd");
	char log[PATH_MAX];
	char *argv[] = {skepd.text, NULL, NULL, NULL, NULL, NULL};
	static char home_flag[] = "--home", log_flag[] = "--log";
	int rc;

	snprintf(log, sizeof log, "%s",
		 home_join(&d->home, HOME_LOGS, "skepd.log").text);
	argv[1] = home_flag;
	argv[2] = d->home.root;
	argv[3] = log_flag;
	argv[4] = log;
	rc = posix_spawn(&d->skepd, skepd.text, NULL, NULL, argv, environ);
	errno = rc;
	return rc ? err_errno_set(e, "cannot start %s", skepd.text) : 0;
}

/* The supervisor's own figures, once it answers. */
static int wait_ready(struct demo *d, struct err *e)
{
	int64_t end = clock_mono_ns() + READY_WAIT_MS * INT64_C(1000000);

	for (;;) {
		struct err ignored;

		if (demo_call(d, "GET", "/v1/health", NULL, NULL, &ignored) > 0)
			return 0;
		if (waitpid(d->skepd, NULL, WNOHANG) == d->skepd) {
			d->skepd = 0;
			return err_set(
				e, ERR_INTERNAL, "skepd ended at once; see %s",
				home_join(&d->home, HOME_LOGS, "skepd.log")
					.text);
		}
		if (clock_mono_ns() > end)
			return err_set(e, ERR_TIMEOUT,
				       "skepd was not ready after %d s",
				       READY_WAIT_MS / 1000);
		nap(1);
	}
}

int demo_start(struct demo *d, struct err *e)
{
	struct home_path socket = home_path(&d->home, HOME_HTTP_SOCKET);
	int64_t start = clock_mono_ns();

	if (!d->http &&
	    http_client_open(&d->http,
			     &(struct http_target){.unix_path = socket.text,
						   .base_url = "http://skep"},
			     e))
		return -1;
	if (spawn_skepd(d, e) || wait_ready(d, e))
		return -1;
	if (d->ready_ms == 0) /* of the first one */
		d->ready_ms = (clock_mono_ns() - start) / 1000000;
	return 0;
}

int demo_kill_supervisor(struct demo *d, struct err *e)
{
	if (kill(d->skepd, SIGKILL) || waitpid(d->skepd, NULL, 0) < 0)
		return err_errno_set(e, "cannot kill skepd");
	d->skepd = 0;
	return 0;
}

int demo_stop(struct demo *d, struct err *e)
{
	int64_t end = clock_mono_ns() + READY_WAIT_MS * INT64_C(1000000);

	if (d->skepd <= 0)
		return 0;
	if (demo_call(d, "POST", "/v1/stop", "{\"intent\":\"down-now\"}", NULL,
		      e) < 0)
		kill(d->skepd, SIGTERM);
	while (waitpid(d->skepd, NULL, WNOHANG) == 0) {
		if (clock_mono_ns() > end) {
			kill(d->skepd, SIGKILL);
			waitpid(d->skepd, NULL, 0);
			d->skepd = 0;
			return err_set(e, ERR_TIMEOUT, "skepd did not stop");
		}
		nap(2);
	}
	d->skepd = 0;
	return 0;
}

int demo_call(struct demo *d, const char *method, const char *path,
	      const char *body, struct buf *answer, struct err *e)
{
	return http_client_call(d->http, method, path, body, answer, e);
}

int demo_make_agents(struct demo *d, struct err *e)
{
	for (int i = 0; i < DEMO_AGENTS; i++) {
		const struct demo_agent *a = &demo_agents[i];
		struct buf definition = BUF_MAX(4096);
		char path[128];
		int status;

		snprintf(path, sizeof path, "/v1/agents/%s", a->name);
		json_begin_object(&definition);
		json_put_text(&definition, "driver", a->driver);
		json_put_text(&definition, "workspace", demo_workspace(i));
		json_put_raw(&definition, "config", a->config);
		json_end_object(&definition);
		status = demo_call(d, "PUT", path, definition.p, NULL, e);
		buf_fini(&definition);
		if (status < 0)
			return err_wrap(e, "agent %s", a->name);
	}
	return 0;
}

static int submit_one(struct demo *d, struct demo_run *r, struct buf *b,
		      struct err *e)
{
	const struct demo_agent *a = &demo_agents[r->agent];
	struct buf answer = BUF_MAX(1 << 20);
	cJSON *run;
	int rc;

	buf_clear(b);
	json_begin_object(b);
	json_put_text(b, "agent", a->name);
	json_put_text(b, "session", r->session);
	json_put_int(b, "max_attempts", 2);
	json_put_int(b, "backoff_ms", 200);
	json_put_raw(b, "tags", "[\"demo\"]");
	json_put_text(b, "prompt", a->prompt);
	json_end_object(b);
	rc = demo_call(d, "POST", "/v1/runs", b->p, &answer, e);
	run = rc < 0 ? NULL : json_parse_object("run", answer.p, answer.n, e);
	if (run)
		snprintf(r->id, sizeof r->id, "%s", json_text(run, "id", ""));
	cJSON_Delete(run);
	buf_fini(&answer);
	return run ? 0 : -1;
}

int demo_submit(struct demo *d, struct err *e)
{
	struct buf b = BUF_MAX(65536);
	int64_t start = clock_mono_ns();
	int rc = 0;

	for (int i = 0; i < d->nruns && !rc; i++) {
		struct demo_run *r = &d->runs[i];

		r->agent = i % DEMO_AGENTS;
		r->fate = i % 11 == 5 ? FATE_CANCEL : FATE_FINISH;
		snprintf(r->session, sizeof r->session, "demo-%d", i);
		rc = submit_one(d, r, &b, e);
	}
	d->accepted_ms = (clock_mono_ns() - start) / 1000000;
	buf_fini(&b);
	return rc;
}

static struct demo_run *find_run(struct demo *d, const char *id)
{
	for (int i = 0; i < d->nruns; i++)
		if (!strcmp(d->runs[i].id, id))
			return &d->runs[i];
	return NULL;
}

static void note_row(struct demo *d, const cJSON *row)
{
	struct demo_run *r = find_run(d, json_text(row, "id", ""));
	int64_t pid = json_i64(row, "pid", 0);

	if (!r)
		return;
	snprintf(r->state, sizeof r->state, "%s", json_text(row, "state", ""));
	snprintf(r->reason, sizeof r->reason, "%s",
		 json_text(row, "reason", ""));
	snprintf(r->detail, sizeof r->detail, "%s",
		 json_text(row, "detail", ""));
	r->attempt = json_i64(row, "attempt", 0);
	r->last_seq = json_i64(row, "last_seq", r->last_seq);
	if (pid > 0)
		process_identity(pid, &r->worker);
}

/* Counts from hints, newer than those in the row. */
static void note_live(struct demo *d, const cJSON *row)
{
	struct demo_run *r = find_run(d, json_text(row, "id", ""));
	int64_t events = json_i64(row, "events", 0);

	if (r && events > r->last_seq)
		r->last_seq = events;
}

static int for_each_item(struct demo *d, const char *path,
			 void (*note)(struct demo *, const cJSON *),
			 struct err *e)
{
	struct buf answer = BUF_MAX(16u << 20);
	cJSON *v = NULL, *row;
	bool got = false;

	if (demo_call(d, "GET", path, NULL, &answer, e) > 0)
		v = json_parse_object(path, answer.p, answer.n, e);
	got = v != NULL;
	cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(v, "items"))
		note(d, row);
	cJSON_Delete(v);
	buf_fini(&answer);
	return got ? 0 : -1;
}

int demo_poll(struct demo *d, struct err *e)
{
	char path[64];

	snprintf(path, sizeof path, "/v1/runs?limit=%d", d->nruns);
	return for_each_item(d, path, note_row, e) ||
			       for_each_item(d, "/v1/active", note_live, e)
		       ? -1
		       : 0;
}

bool demo_is_over(const struct demo_run *r)
{
	static const char *const over[] = {"succeeded", "failed", "cancelled",
					   "timed_out"};

	for (size_t i = 0; i < sizeof over / sizeof over[0]; i++)
		if (!strcmp(r->state, over[i]))
			return true;
	return false;
}

int demo_over(const struct demo *d)
{
	int n = 0;

	for (int i = 0; i < d->nruns; i++)
		n += demo_is_over(&d->runs[i]);
	return n;
}
