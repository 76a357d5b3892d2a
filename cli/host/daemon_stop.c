/* Stops the supervisor of a home. It is found by the lock of the home, not by
 * the control plane, which may be lost or damaged. */
#include "cli/host/daemon.h"

#include "cli/remote.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/http/client.h"
#include "lib/os/process.h"
#include "schema/watchdog_record.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define GONE_TRIES 1500 /* of POLL_MS */
#define SHOW_TRIES 50   /* likewise: between two checks of its runs */
#define POLL_MS    10
#define RUNS_SHOWN 5

struct daemon_wait {
	bool can_stay;    /* Ctrl-C takes the request back */
	int64_t until_ns; /* then the runs are stopped too; 0: never */
};

static void wait_gone(const struct process_identity *m)
{
	for (int i = 0; i < GONE_TRIES && process_is_alive(m); i++)
		poll(NULL, 0, POLL_MS);
}

bool daemon_end_watchdog(struct cli *cli)
{
	struct watchdog_record r;

	if (!watchdog_read(&cli->home, &r) || !r.alive)
		return false;
	kill((pid_t)r.watchdog.pid, SIGTERM);
	wait_gone(&r.watchdog);
	return true;
}

/* A supervisor that is stopped by a signal does not wait for its runs, and does
 * not stop them. */
static void warn_signalled(const struct err *why)
{
	fprintf(stderr,
		"skep: warning: skepd could not record the request (%s) and "
		"was stopped by a signal; its active runs were not stopped. "
		"'skep doctor' lists processes that are left\n",
		why->text);
}

/* A supervisor that does not answer, or cannot record the request, is stopped
 * by a signal. A restart fails instead: the next supervisor would have the same
 * problem. */
static int request_stop(struct cli *cli, const char *intent, pid_t holder,
			struct err *e)
{
	cJSON *answer = remote_call(cli, "POST", "/v1/stop",
				    remote_text(cli, "intent", intent), e);

	cJSON_Delete(answer);
	if (answer)
		return 0;
	if (strcmp(intent, "restart") == 0 || holder <= 0)
		return -1;
	if (kill(holder, SIGTERM))
		return err_errno_set(e, "cannot stop skepd, process %d",
				     (int)holder);
	warn_signalled(e);
	return 0;
}

/* The runs that skepd waits for, as many as fit into a line. */
static void name_active(struct cli *cli, int64_t n)
{
	struct err ignored;
	cJSON *json = remote_call(cli, "GET", "/v1/active", NULL, &ignored);
	const cJSON *item;
	int shown = 0;

	fprintf(stderr, "skep: waiting for %" PRId64 " active %s:", n,
		text_plural(n, "run", "runs"));
	cJSON_ArrayForEach(item, cJSON_GetObjectItem(json, "items"))
	{
		if (!strcmp(json_text(item, "state", ""), "idle") ||
		    shown++ >= RUNS_SHOWN)
			continue;
		fprintf(stderr, " %s (%s)", json_text(item, "id", "?"),
			json_text(item, "agent", "?"));
	}
	fprintf(stderr,
		"%s\nskep: Ctrl-C lets skepd continue; 'skep down --now' stops "
		"the %s\n",
		n > RUNS_SHOWN ? " …" : "", text_plural(n, "run", "runs"));
	cJSON_Delete(json);
}

/* Reports once what skepd waits for, and counts it down on a terminal. */
static void show_active(struct cli *cli, struct progress *p, bool *named)
{
	struct err ignored;
	cJSON *health = remote_call(cli, "GET", "/v1/health", NULL, &ignored);
	int64_t n = json_i64(health, "active", 0);

	cJSON_Delete(health);
	if (n > 0 && !*named && !cli->out.json)
		name_active(cli, n);
	*named = *named || n > 0;
	progress_at(p, n);
}

/* --- interrupted, or too long -------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void note_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

static int post_intent(struct cli *cli, const char *intent, struct err *e)
{
	cJSON *answer = remote_call(cli, "POST", "/v1/stop",
				    remote_text(cli, "intent", intent), e);

	cJSON_Delete(answer);
	return answer ? 0 : -1;
}

static int take_back(struct cli *cli, struct err *e)
{
	if (post_intent(cli, "stay", e))
		return err_wrap(e, "interrupted");
	return err_set(e, ERR_CANCELED,
		       "interrupted; skepd continues, and nothing was stopped");
}

/* Returns -1 if the wait is over before the supervisor is. */
static int check_wait(struct cli *cli, struct daemon_wait *w, struct err *e)
{
	if (w->can_stay && interrupted)
		return take_back(cli, e);
	if (w->until_ns && clock_mono_ns() > w->until_ns) {
		w->until_ns = 0;
		w->can_stay = false;
		if (!cli->out.json)
			fprintf(stderr, "skep: stopping the active runs\n");
		return post_intent(cli, "down-now", e);
	}
	return 0;
}

static struct process_identity mark_holder(pid_t holder)
{
	struct process_identity m = {.pid = 0};

	if (holder > 0 && !process_identity(holder, &m))
		m.pid = 0;
	return m;
}

/* It releases the lock just before it exits, and the watchdog exits after it.
 * It may wait for its runs as long as they take. */
static int wait_stopped(struct cli *cli, const struct process_identity *m,
			struct daemon_wait *w, struct err *e)
{
	struct watchdog_record r;
	struct err ignored;
	struct progress p;
	bool named = false;
	int rc = 0;

	progress_begin(&p, &cli->out, "active runs:", 0);
	for (int i = 1;
	     rc == 0 && (m->pid ? process_is_alive(m)
				: home_is_locked(&cli->home, &ignored) == 1);
	     i++) {
		if (i % SHOW_TRIES == 0)
			show_active(cli, &p, &named);
		rc = check_wait(cli, w, e);
		poll(NULL, 0, POLL_MS);
	}
	progress_end(&p);
	if (rc == 0 && watchdog_read(&cli->home, &r))
		wait_gone(&r.watchdog);
	http_client_close(cli->http);
	cli->http = NULL;
	return rc;
}

bool daemon_await_stop(struct cli *cli)
{
	struct process_identity m = mark_holder(home_lock_holder(&cli->home));
	struct err ignored;
	cJSON *health = remote_call(cli, "GET", "/v1/health", NULL, &ignored);
	bool stopping = json_bool(health, "stopping", false);

	cJSON_Delete(health);
	if (!stopping)
		return false;
	if (!cli->out.json)
		fprintf(stderr, "skep: skepd is stopping; waiting for it\n");
	(void)wait_stopped(cli, &m, &(struct daemon_wait){.until_ns = 0},
			   &ignored);
	return true;
}

int daemon_stop(struct cli *cli, const char *intent, int64_t timeout_ms,
		struct err *e)
{
	struct sigaction sa = {.sa_handler = note_interrupt}, old;
	pid_t holder = home_lock_holder(&cli->home);
	struct process_identity m = mark_holder(holder);
	struct daemon_wait w = {.can_stay = !strcmp(intent, "down")};
	struct err why;
	int rc;

	if (home_is_locked(&cli->home, &why) != 1)
		return daemon_end_watchdog(cli) ? 0 : daemon_absent(cli, e);
	sigaction(SIGINT, &sa, &old);
	rc = request_stop(cli, intent, holder, e);
	if (timeout_ms > 0)
		w.until_ns = clock_mono_ns() + timeout_ms * 1000000;
	if (rc == 0)
		rc = wait_stopped(cli, &m, &w, e);
	sigaction(SIGINT, &old, NULL);
	return rc;
}
