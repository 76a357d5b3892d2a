#include "worker/run/run.h"

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/os/process.h"
#include "worker/process/confine.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define NS_PER_MS     1000000
#define LOST_AFTER_MS 2000
#define QUIET_MS      20 /* the first commit does not wait for our hello */
#define ENDING_MS     20 /* less than the supervisor's REPORT_MARGIN_MS */

/* Only an end that takes long is reported: most have ended by then, and the
 * report of the end would wait for the acknowledgement of this one. */
static void report_if_slow(struct run *r)
{
	if (r->link)
		ipc_client_heartbeat_in(r->link, ENDING_MS);
}

/* Called by the main thread, and on_command by the IPC thread. Each writes
 * before it reads what the other one writes, so that one of them sees both. */
void run_set_ending(struct run *r)
{
	if (atomic_exchange(&r->phase, RUN_ENDING) != RUN_ENDING &&
	    run_ending(r))
		report_if_slow(r);
}

static void on_command(void *arg, const struct msg *m)
{
	struct run *r = arg;

	commands_command(&r->commands, m);
	if (run_ending(r) && atomic_load(&r->phase) == RUN_ENDING)
		report_if_slow(r);
}

static void on_refused(void *arg, const char *why)
{
	struct run *r = arg;

	commands_end(&r->commands, REASON_refused, why);
}

static void on_lost(void *arg)
{
	struct run *r = arg;

	if (strcmp(r->start->on_supervisor_loss, "stop") == 0)
		commands_end(&r->commands, REASON_supervisor_lost,
			     "no supervisor for two seconds");
}

static void on_heartbeat(void *arg, struct msg_heartbeat *out)
{
	static const char *const words[] = {
		[RUN_STARTING] = "starting", [RUN_RUNNING] = "running",
		[RUN_WAITING] = "waiting",   [RUN_PAUSED] = "paused",
		[RUN_ENDING] = "ending",     [RUN_IDLE] = "idle",
	};
	struct run *r = arg;

	out->phase = words[atomic_load(&r->phase)];
	out->seq = atomic_load(&r->transcript.seq);
}

static struct msg_hello hello_of(const struct msg_start *s)
{
	return (struct msg_hello){.run = s->run,
				  .attempt = s->attempt,
				  .token = s->token,
				  .pid = getpid(),
				  .started = process_self().start_ticks,
				  .build = SKEP_VERSION};
}

/* Messages that came before the run are in its start message, and handled like
 * those that follow. Returns the number of the last command, or 0. */
static int64_t queue_messages(struct run *r)
{
	const char *text = r->start->messages ? r->start->messages : "[]";
	struct err ignored; /* the supervisor sends them again */
	cJSON *list = json_parse("messages", text, strlen(text), &ignored);
	const cJSON *v;
	int64_t last = 0;

	cJSON_ArrayForEach(v, list)
	{
		struct msg m = {.type = MSG_TYPE_MESSAGE};

		m.u.message.id = last = json_i64(v, "id", 0);
		m.u.message.text = json_text(v, "text", "");
		m.u.message.by = json_text(v, "by", NULL);
		m.u.message.message = json_text(v, "message", NULL);
		commands_command(&r->commands, &m);
	}
	cJSON_Delete(list);
	return last;
}

static int open_link(struct run *r, struct err *e)
{
	const struct msg_start *s = r->start;
	struct ipc_client_config config = {
		.path = s->socket,
		.hello = hello_of(s),
		.heartbeat_ms = s->heartbeat_ms > 0 ? s->heartbeat_ms : 5000,
		.lost_after_ms = LOST_AFTER_MS,
		.last_command = queue_messages(r),
		.quiet_ms = QUIET_MS,
		.calls = {r, on_command, on_refused, on_lost, on_heartbeat,
			  on_command},
	};

	return ipc_client_open(&r->link, &config, e);
}

/* Blocked before the IPC thread starts, so that only the main thread gets
 * them. */
static int catch_signals(struct run *r, struct err *e)
{
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ours, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	r->signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->signals < 0 ? err_errno_set(e, "signalfd") : 0;
}

/* Values that are new with every run of the process. */
static void begin_run(struct run *r, const struct msg_start *start)
{
	r->start = start;
	r->began = clock_mono_ns();
	r->deadline = r->idle_timeout_ms = 0;
	if (start->run_timeout_ms != OPT_NONE)
		r->deadline = r->began + start->run_timeout_ms * NS_PER_MS;
	if (start->idle_timeout_ms != OPT_NONE)
		r->idle_timeout_ms = start->idle_timeout_ms;
	atomic_store(&r->phase, RUN_STARTING);
}

int run_open(struct run *r, const struct msg_start *start, struct err *e)
{
	*r = (struct run){.signals = -1, .child_status = RUN_NO_STATUS};
	begin_run(r, start);
	/* of a run in which skepd was started */
	unsetenv(RUN_SOCKET_ENV);
	unsetenv(RUN_TOKEN_ENV);
	if (commands_init(&r->commands, e))
		return -1;
	if (catch_signals(r, e) || open_link(r, e)) {
		run_close(r);
		return -1;
	}
	return 0;
}

void run_close(struct run *r)
{
	ipc_client_close(r->link);
	run_server_close(r);
	requests_drop(r);
	confine_end(r);
	transcript_close(&r->transcript);
	commands_fini(&r->commands);
	if (r->signals >= 0)
		close(r->signals);
	arena_fini(&r->arena);
	arena_fini(&r->lasting);
}

int run_renew(struct run *r, const char *json, struct err *e)
{
	struct msg_hello hello;
	struct msg m;

	arena_reset(&r->arena);
	if (msg_decode(json, strlen(json), SIDE_SUPERVISOR, &r->arena, &m, e))
		return -1;
	if (m.type != MSG_TYPE_START)
		return err_set(e, ERR_PROTOCOL, "%s is not a start message",
			       msg_name(m.type));
	r->own = m.u.start;
	r->transcript = (struct transcript){0};
	r->disk = NULL;
	r->records = 0;
	r->turn = 0;
	r->in_turn = false;
	r->idle_ms = 0;
	commands_reset(&r->commands);
	requests_drop(r);
	begin_run(r, &r->own);
	hello = hello_of(r->start);
	ipc_client_continue(r->link, &hello, queue_messages(r));
	return 0;
}
