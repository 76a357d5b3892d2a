#include "supervisor/channel/plugin/plugin.h"

#include "ipc/plugin_shim.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/os/proc.h"
#include "supervisor/channel/plugin/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define START_MS 10000 /* to register and to accept its configuration */
/* after this time as ready, former failures are ignored */
#define STABLE_TIMEOUTS 4
#define RESET_TICKS     240 /* a minute */
#define NOTES_MAX       30  /* lines in the log of skepd in that time */

int64_t plugin_now(const struct plugin *p)
{
	return (int64_t)uv_now(&p->channel->sup->loop);
}

void plugin_set_state(struct plugin *p, enum plugin_state state)
{
	static const char *const words[] = {
		[PLUGIN_WAITING] = "waiting",
		[PLUGIN_ENDING] = "ending",
		[PLUGIN_STARTED] = "starting",
		[PLUGIN_CONFIGURING] = "starting",
		[PLUGIN_READY] = "ready",
	};

	p->state = state;
	channel_state(p->channel, words[state], p->pid,
		      state == PLUGIN_STARTED);
}

/* --- start and end
 * ---------------------------------------------------------- */

static void start_plugin(struct plugin *p)
{
	struct err e;

	p->serial++;
	p->state = PLUGIN_STARTED;
	if (plugin_start(p, &e)) {
		plugin_fail(p, "%s", e.text);
		return;
	}
	p->at_ms = plugin_now(p) + START_MS;
}

void plugin_started(struct plugin *p, pid_t pid)
{
	struct channel *c = p->channel;

	p->pid = pid;
	plugin_set_state(p, PLUGIN_STARTED);
	plugin_pipe_listen(p);
	plugin_log_note(c->sup, c->name, "process %d started", (int)p->pid);
	log_info(LT("msg", "plugin started"), LT("channel", c->name),
		 LI("pid", p->pid));
}

static void return_unsent(struct plugin *p, const char *why)
{
	struct outcome o = outcome_of(DELIVERY_EV_LOSE, OPT_NONE, -1, "%s",
				      why);

	while (p->waiting) {
		struct inflight *delivery = p->waiting;

		p->waiting = delivery->next;
		inflight_done(delivery, &o);
	}
}

static void begin_end(struct plugin *p)
{
	plugin_shut_down(p->channel->sup, p->channel->name, &p->processes, 0);
	plugin_events_close(p);
	plugin_pipe_close(p);
	plugin_set_state(p, PLUGIN_ENDING);
}

void plugin_fail(struct plugin *p, const char *fmt, ...)
{
	char why[400];
	va_list ap;
	int n;

	if (p->state == PLUGIN_ENDING)
		return;
	va_start(ap, fmt);
	n = vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof why)
		text_mark_cut(why, sizeof why);
	restart_failed(&p->restart, plugin_now(p),
		       STABLE_TIMEOUTS * p->channel->config.timeout);
	return_unsent(p, why);
	begin_end(p);
	plugin_log_note(p->channel->sup, p->channel->name, "%s", why);
	channel_set_error(p->channel, why);
}

void plugin_ended(struct plugin *p, int status)
{
	p->pid = 0;
	if (WIFSIGNALED(status))
		plugin_fail(p, "it died by signal %d (%s)", WTERMSIG(status),
			    strsignal(WTERMSIG(status)));
	else
		plugin_fail(p, "it ended with status %d", WEXITSTATUS(status));
}

/* The plugin usually closes stdout because it dies; the shim then reports
 * how. */
void plugin_hung_up(struct plugin *p)
{
	plugin_pipe_close(p);
	p->at_ms = plugin_now(p) + START_MS;
}

static bool is_alive(const struct plugin *p)
{
	struct proc_stat st;

	return proc_stat(p->pid, &st) == 0 && st.state != 'Z' &&
	       st.state != 'X';
}

/* The next start waits until all processes have exited. */
static void check_end(struct plugin *p)
{
	uint32_t random;

	if (plugin_is_shutting_down(p->channel))
		return;
	p->pid = 0;
	id_random(&random, sizeof random);
	p->at_ms = plugin_now(p) + restart_wait(&p->restart, random);
	plugin_set_state(p, PLUGIN_WAITING);
}

void plugin_is_stuck(struct plugin *p, pid_t pid, const char *why)
{
	p->pid = pid;
	plugin_set_state(p, PLUGIN_ENDING);
	channel_set_error(p->channel, why);
}

static void check_alive(struct plugin *p)
{
	int64_t now = plugin_now(p), limit = p->channel->config.timeout;

	if (p->out < 0) {
		if (is_alive(p) || now >= p->at_ms)
			plugin_fail(p, "it closed its output");
	} else if (p->state == PLUGIN_STARTED && now >= p->at_ms) {
		plugin_fail(p, "it did not register within %d s",
			    START_MS / 1000);
	} else if (p->state == PLUGIN_CONFIGURING && now >= p->at_ms) {
		plugin_fail(p,
			    "it did not answer channel.configure within "
			    "%d s",
			    START_MS / 1000);
	} else if (p->pinged && now - p->last_line_ms > 2 * limit) {
		plugin_fail(p, "it does not answer");
	} else if (!p->pinged && now - p->last_line_ms > limit &&
		   p->state == PLUGIN_READY) {
		p->pinged = true;
		plugin_ping(p);
	}
}

static void expire_inflight(struct plugin *p)
{
	struct outcome o = outcome_of(DELIVERY_EV_LOSE, OPT_NONE, -1,
				      "the plugin did not answer in time");
	struct inflight **at = &p->waiting;

	while (*at) {
		struct inflight *delivery = *at;

		if (delivery->deadline_ms > plugin_now(p)) {
			at = &delivery->next;
			continue;
		}
		*at = delivery->next;
		inflight_done(delivery, &o);
	}
}

/* Once a minute: occasional invalid lines are tolerated. */
static void reset_counts(struct plugin *p)
{
	if (p->notes > NOTES_MAX)
		log_warn(LT("msg", "too many messages of a plugin, some were "
				   "not logged"),
			 LT("channel", p->channel->name),
			 LI("left_out", p->notes - NOTES_MAX));
	p->notes = p->bad_lines = 0;
}

bool plugin_may_note(struct plugin *p)
{
	return ++p->notes <= NOTES_MAX;
}

/* --- as a channel ----------------------------------------------------- */

static void tick(struct channel *c)
{
	struct plugin *p = c->own;

	plugin_pipe_tick(p);
	expire_inflight(p);
	if (c->sup->ticks % RESET_TICKS == 0)
		reset_counts(p);
	if (p->state == PLUGIN_ENDING)
		check_end(p);
	if (p->state == PLUGIN_WAITING) {
		if (plugin_now(p) >= p->at_ms)
			start_plugin(p);
	} else if (p->state != PLUGIN_ENDING) {
		check_alive(p);
	}
}

static int open_plugin(struct channel *c, struct err *e)
{
	struct plugin *p = calloc(1, sizeof *p);

	(void)e;
	if (!p)
		abort();
	p->channel = c;
	plugin_processes_init(&p->processes, c->sup->home.root, c->id);
	plugin_pipe_init(p);
	c->own = p;
	if (plugin_is_shutting_down(c))
		/* its former processes have not exited yet */
		plugin_set_state(p, PLUGIN_ENDING);
	else
		start_plugin(p);
	return 0;
}

static void close_plugin(struct channel *c)
{
	struct plugin *p = c->own;

	p->state = PLUGIN_ENDING; /* a broken pipe is not an error now */
	plugin_send_stop(p);
	(void)plugin_flush(p);
	return_unsent(p, "the channel was closed");
	plugin_shut_down(c->sup, c->name, &p->processes, SHIM_STOP_MS);
	plugin_pipe_fini(p);
	free(p);
}

static bool ready(const struct channel *c)
{
	const struct plugin *p = c->own;

	return p->state == PLUGIN_READY && p->in >= 0 && plugin_has_room(p);
}

static bool wake(struct channel *c)
{
	struct plugin *p = c->own;

	if (p->state != PLUGIN_WAITING)
		return false;
	p->at_ms = 0; /* at the next tick */
	return true;
}

const struct channel_ops channel_plugin = {
	.kind = "plugin",
	.open = open_plugin,
	.close = close_plugin,
	.ready = ready,
	.send = plugin_send,
	.query = plugin_query,
	.wake = wake,
	.tick = tick,
};
