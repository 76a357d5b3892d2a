/* Stops the supervisor of a home. It is found by the lock of the home, not by
 * the control plane, which may be lost or damaged. */
#include "cli/host/daemon.h"

#include "cli/remote.h"
#include "lib/http/client.h"
#include "lib/os/process.h"
#include "schema/watchdog_record.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define GONE_TRIES 1500 /* of POLL_MS */
#define SHOW_TRIES 50   /* likewise: between two checks of its runs */
#define POLL_MS    10

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

/* Reports once what skepd waits for, and counts it down on a terminal. */
static void show_active(struct cli *cli, struct progress *p, bool *named)
{
	struct err ignored;
	cJSON *health = remote_call(cli, "GET", "/v1/health", NULL, &ignored);
	long long n = json_i64(health, "active", 0);

	cJSON_Delete(health);
	if (n > 0 && !*named && !cli->out.json)
		fprintf(stderr,
			"skep: skepd waits for %lld active run%s; 'skep down "
			"--now' stops %s\n",
			n, n == 1 ? "" : "s", n == 1 ? "it" : "them");
	*named = *named || n > 0;
	progress_at(p, n);
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
static void wait_stopped(struct cli *cli, const struct process_identity *m)
{
	struct watchdog_record r;
	struct err ignored;
	struct progress p;
	bool named = false;

	progress_begin(&p, &cli->out, "active runs:", 0);
	for (int i = 1; m->pid ? process_is_alive(m)
			       : home_is_locked(&cli->home, &ignored) == 1;
	     i++) {
		if (i % SHOW_TRIES == 0)
			show_active(cli, &p, &named);
		poll(NULL, 0, POLL_MS);
	}
	progress_end(&p);
	if (watchdog_read(&cli->home, &r))
		wait_gone(&r.watchdog);
	http_client_close(cli->http);
	cli->http = NULL;
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
	wait_stopped(cli, &m);
	return true;
}

int daemon_stop(struct cli *cli, const char *intent, struct err *e)
{
	pid_t holder = home_lock_holder(&cli->home);
	struct process_identity m = mark_holder(holder);
	struct err why;

	if (home_is_locked(&cli->home, &why) != 1)
		return daemon_end_watchdog(cli) ? 0 : daemon_absent(cli, e);
	if (request_stop(cli, intent, holder, e))
		return -1;
	wait_stopped(cli, &m);
	return 0;
}
