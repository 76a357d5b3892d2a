#include "supervisor/plugin.h"

#include "base/log.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define START_MS    10000 /* to register, and to take its configuration */
#define BACKOFF_MS  500
#define BACKOFF_MAX 60000
#define WELL_MS     60000      /* so long ready: failures are forgotten */
#define OUTBOX_ROOM (1u << 20) /* it does not read: nothing more is claimed */

int64_t plugin_now(const struct plugin *p)
{
	return (int64_t)uv_now(&p->channel->sup->loop);
}

static struct tree tree_of(const struct plugin *p)
{
	return (struct tree){.run = p->channel->id,
			     .worker = p->pid,
			     .start_ticks = p->start_ticks};
}

static const struct tree_place nowhere; /* no spawner is among them */

/* --- life ------------------------------------------------------------- */

static void start(struct plugin *p)
{
	struct err e;

	p->serial++;
	if (plugin_start(p, &e)) {
		plugin_fail(p, "%s", e.text);
		return;
	}
	p->state = PLUGIN_STARTED;
	p->at_ms = plugin_now(p) + START_MS;
	log_info(LT("msg", "plugin started"), LT("channel", p->channel->name),
		 LI("pid", p->pid));
}

/* --- ending ----------------------------------------------------------- */

static void give_back(struct plugin *p, const char *why)
{
	struct outcome o = outcome_of(DELIVERY_EV_LOSE, OPT_NONE, -1, "%s",
				      why);

	while (p->waiting) {
		struct parcel *parcel = p->waiting;

		p->waiting = parcel->next;
		parcel_done(parcel, &o);
	}
}

static bool reaped(struct plugin *p)
{
	if (p->pid && waitpid(p->pid, NULL, WNOHANG) != 0)
		p->pid = 0;
	return p->pid == 0;
}

static void begin_end(struct plugin *p)
{
	struct tree t = tree_of(p);

	plugin_pipe_close(p);
	tree_signal_all(&nowhere, &t, SIGTERM);
	p->state = PLUGIN_ENDING;
	p->at_ms = plugin_now(p) + PLUGIN_GRACE_MS;
}

void plugin_fail(struct plugin *p, const char *fmt, ...)
{
	char why[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	if (p->state == PLUGIN_READY && plugin_now(p) - p->ready_ms > WELL_MS)
		p->failures = 0;
	p->failures++;
	give_back(p, why);
	begin_end(p);
	channel_trouble(p->channel, why);
}

/* Proof before the next start; who does not go is killed. */
static void look_at_end(struct plugin *p)
{
	struct tree t = tree_of(p);

	if (reaped(p) && tree_count(&nowhere, &t, NULL) == 0) {
		p->state = PLUGIN_WAITING;
		p->at_ms = plugin_now(p);
		if (p->failures)
			p->at_ms += delivery_backoff(p->failures, BACKOFF_MS,
						     BACKOFF_MAX,
						     (uint32_t)p->at_ms);
	} else if (plugin_now(p) >= p->at_ms) {
		tree_signal_all(&nowhere, &t, SIGKILL);
	}
}

static void look_at_life(struct plugin *p)
{
	int64_t now = plugin_now(p), limit = p->channel->config.timeout;
	int status = 0;

	if (p->pid && waitpid(p->pid, &status, WNOHANG) == p->pid) {
		p->pid = 0;
		plugin_fail(p,
			    WIFSIGNALED(status) ? "it died by signal %d"
						: "it ended with status %d",
			    WIFSIGNALED(status) ? WTERMSIG(status)
						: WEXITSTATUS(status));
	} else if (p->state != PLUGIN_READY && now >= p->at_ms) {
		plugin_fail(p, "it did not register in time");
	} else if (p->pinged && now - p->heard_ms > 2 * limit) {
		plugin_fail(p, "it does not answer");
	} else if (!p->pinged && now - p->heard_ms > limit &&
		   p->state == PLUGIN_READY) {
		p->pinged = true;
		plugin_ping(p);
	}
}

static void late_parcels(struct plugin *p)
{
	struct outcome o = outcome_of(DELIVERY_EV_LOSE, OPT_NONE, -1,
				      "the plugin did not answer in time");
	struct parcel **at = &p->waiting;

	while (*at) {
		struct parcel *parcel = *at;

		if (parcel->late_ms > plugin_now(p)) {
			at = &parcel->next;
			continue;
		}
		*at = parcel->next;
		parcel_done(parcel, &o);
	}
}

/* --- as a channel ----------------------------------------------------- */

static void tick(struct channel *c)
{
	struct plugin *p = c->own;

	plugin_pipe_tick(p);
	late_parcels(p);
	if (p->state == PLUGIN_ENDING)
		look_at_end(p);
	if (p->state == PLUGIN_WAITING) {
		if (plugin_now(p) >= p->at_ms)
			start(p);
	} else if (p->state != PLUGIN_ENDING) {
		look_at_life(p);
	}
	if (c->sup->ticks % 20 == 0)
		plugin_log_limit(p);
}

static int open_plugin(struct channel *c, struct err *e)
{
	struct plugin *p = calloc(1, sizeof *p);

	(void)e;
	if (!p)
		abort();
	p->channel = c;
	plugin_pipe_init(p);
	p->state = PLUGIN_ENDING; /* whoever is left of a former one */
	p->at_ms = plugin_now(p) + PLUGIN_GRACE_MS;
	c->own = p;
	begin_end(p);
	look_at_end(p);
	if (p->state == PLUGIN_WAITING)
		start(p);
	return 0;
}

static void close_plugin(struct channel *c)
{
	struct plugin *p = c->own;
	struct tree t;

	plugin_stop_word(p);
	plugin_flush(p);
	give_back(p, "the channel was closed");
	begin_end(p);
	t = tree_of(p);
	plugin_leave(c->sup, &t);
	plugin_pipe_fini(p);
	free(p);
}

static bool ready(const struct channel *c)
{
	const struct plugin *p = c->own;

	return p->state == PLUGIN_READY && p->outbox.n < OUTBOX_ROOM;
}

const struct channel_ops channel_plugin = {
	.kind = "plugin",
	.open = open_plugin,
	.close = close_plugin,
	.ready = ready,
	.send = plugin_send,
	.ask = plugin_ask,
	.tick = tick,
};
